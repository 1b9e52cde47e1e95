//! Protocols of an ORB.

use oxorb_core::protocol::{Protocol, Protocols};

/// Protocols that every ORB speaks besides IIOP.
#[rustfmt::skip] // a row for each
const TABLE: &[fn() -> Protocol] = &[
    oxorb_uiop::protocol,
];

/// Returns IIOP and the protocols of the table.
pub(crate) fn table() -> Protocols {
    let mut protocols = Protocols::default();
    for protocol in TABLE {
        let added = protocols.add(protocol());
        added.expect("names and tags in the table differ");
    }
    protocols
}
