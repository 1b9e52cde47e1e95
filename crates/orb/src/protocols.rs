//! Protocols of an ORB.

use std::sync::Arc;

use oxorb_core::protocol::{Placed, Protocol, Protocols};
use oxorb_lite::{GIOP_LITE, GIOP_LITE_RT, Messaging};
use oxorb_object::profile_tag;
use oxorb_transport::tcp::{self, Tcp};

/// Protocols that every ORB speaks besides IIOP. Of those that IIOP's profiles tell of, for clients on the same host, the
/// first is preferred.
#[rustfmt::skip] // a row for each
const TABLE: &[fn() -> Protocol] = &[
    oxorb_shm::protocol,
    oxorb_uiop::protocol,
    || over_tcp("giop-lite-rt+tcp", GIOP_LITE_RT, profile_tag::OXORB_LITE_RT_TCP),
    || over_unix("giop-lite-rt+unix", GIOP_LITE_RT, profile_tag::OXORB_LITE_RT_UNIX),
    || over_memory("giop-lite-rt+shm", GIOP_LITE_RT, profile_tag::OXORB_LITE_RT_SHM),
    || over_tcp("giop-lite+tcp", GIOP_LITE, profile_tag::OXORB_LITE_TCP),
    || over_unix("giop-lite+unix", GIOP_LITE, profile_tag::OXORB_LITE_UNIX),
    || over_memory("giop-lite+shm", GIOP_LITE, profile_tag::OXORB_LITE_SHM),
];

/// Returns a messaging over TCP, whose profiles have a tag of OxORB's own.
fn over_tcp(name: &'static str, messaging: &'static dyn Messaging, tag: u32) -> Protocol {
    let profile = Placed::new(tag, name, tcp::SCHEME);
    let protocol = Protocol::new(name, profile, Some(messaging), Arc::new(Tcp));
    protocol.expect("TCP is a reliable stream")
}

/// Returns a messaging over UNIX sockets, whose profiles have a tag of OxORB's own.
fn over_unix(name: &'static str, messaging: &'static dyn Messaging, tag: u32) -> Protocol {
    let profile = Placed::new(tag, name, oxorb_uiop::SCHEME).with_paths();
    let protocol = Protocol::new(name, profile, Some(messaging), Arc::new(oxorb_uiop::Unix));
    protocol.expect("UNIX sockets are reliable streams")
}

/// Returns a messaging over shared memory, whose profiles have a tag of OxORB's own.
fn over_memory(name: &'static str, messaging: &'static dyn Messaging, tag: u32) -> Protocol {
    let profile = Placed::new(tag, name, oxorb_shm::SCHEME).with_paths();
    let protocol = Protocol::new(name, profile, Some(messaging), Arc::new(oxorb_shm::Shm));
    protocol.expect("shared memory is a reliable stream")
}

/// Returns IIOP and the protocols of the table.
pub(crate) fn table() -> Protocols {
    let mut protocols = Protocols::default();
    for protocol in TABLE {
        let added = protocols.add(protocol());
        added.expect("names and tags in the table differ");
    }
    protocols
}
