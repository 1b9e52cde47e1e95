//! Protocols of an ORB.

use oxorb_core::protocol::{ProtocolStack, Protocols};

#[cfg(feature = "lite")]
mod lite;

/// Protocols that every ORB speaks in addition to IIOP, depending on the features of this crate. Among those whose
/// addresses are published in IIOP profiles for clients on the same host, the first is preferred.
#[rustfmt::skip] // a row for each
const TABLE: &[fn() -> ProtocolStack] = &[
    #[cfg(feature = "memory")] oxorb_protocols::shm::protocol,
    #[cfg(feature = "unix")] oxorb_protocols::unix::protocol,
    #[cfg(feature = "datagrams")] oxorb_protocols::datagram::protocol,
    #[cfg(feature = "datagrams")] oxorb_protocols::datagram::group::protocol,
    #[cfg(any(feature = "tls", feature = "tls-aws-lc-rs"))] oxorb_protocols::tls::protocol,
    #[cfg(feature = "lite")] lite::rt_over_tcp,
    #[cfg(all(feature = "lite", feature = "unix"))] lite::rt_over_unix,
    #[cfg(all(feature = "lite", feature = "memory"))] lite::rt_over_memory,
    #[cfg(feature = "lite")] lite::over_tcp,
    #[cfg(all(feature = "lite", feature = "unix"))] lite::over_unix,
    #[cfg(all(feature = "lite", feature = "memory"))] lite::over_memory,
];

/// Returns IIOP and the protocols in `TABLE`.
pub(crate) fn table() -> Protocols {
    let mut protocols = Protocols::default();
    for protocol in TABLE {
        let added = protocols.add(protocol());
        added.expect("names and tags in the table differ");
    }
    protocols
}
