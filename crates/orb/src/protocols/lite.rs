//! GIOPlite and GIOPlite/RT over streams, in profiles with OxORB's own tags.

use std::sync::Arc;

use oxorb_core::protocol::{Placed, ProtocolStack};
use oxorb_lite::{GIOP_LITE, GIOP_LITE_RT, Messaging};
use oxorb_object::profile_tag;
use oxorb_transport::tcp::{self, Tcp};

pub(super) fn rt_over_tcp() -> ProtocolStack {
    tcp("giop-lite-rt+tcp", GIOP_LITE_RT, profile_tag::OXORB_LITE_RT_TCP)
}

pub(super) fn over_tcp() -> ProtocolStack {
    tcp("giop-lite+tcp", GIOP_LITE, profile_tag::OXORB_LITE_TCP)
}

fn tcp(name: &'static str, messaging: &'static dyn Messaging, tag: u32) -> ProtocolStack {
    let profile = Placed::new(tag, name, tcp::SCHEME);
    let protocol = ProtocolStack::new(name, profile, Some(messaging), Arc::new(Tcp));
    protocol.expect("TCP is a reliable stream")
}

#[cfg(feature = "unix")]
pub(super) fn rt_over_unix() -> ProtocolStack {
    unix("giop-lite-rt+unix", GIOP_LITE_RT, profile_tag::OXORB_LITE_RT_UNIX)
}

#[cfg(feature = "unix")]
pub(super) fn over_unix() -> ProtocolStack {
    unix("giop-lite+unix", GIOP_LITE, profile_tag::OXORB_LITE_UNIX)
}

#[cfg(feature = "unix")]
fn unix(name: &'static str, messaging: &'static dyn Messaging, tag: u32) -> ProtocolStack {
    let profile = Placed::new(tag, name, oxorb_protocols::unix::SCHEME).with_paths();
    let protocol =
        ProtocolStack::new(name, profile, Some(messaging), Arc::new(oxorb_protocols::unix::Unix));
    protocol.expect("UNIX sockets are reliable streams")
}

#[cfg(feature = "memory")]
pub(super) fn rt_over_memory() -> ProtocolStack {
    memory("giop-lite-rt+shm", GIOP_LITE_RT, profile_tag::OXORB_LITE_RT_SHM)
}

#[cfg(feature = "memory")]
pub(super) fn over_memory() -> ProtocolStack {
    memory("giop-lite+shm", GIOP_LITE, profile_tag::OXORB_LITE_SHM)
}

#[cfg(feature = "memory")]
fn memory(name: &'static str, messaging: &'static dyn Messaging, tag: u32) -> ProtocolStack {
    let profile = Placed::new(tag, name, oxorb_protocols::shm::SCHEME).with_paths();
    let protocol =
        ProtocolStack::new(name, profile, Some(messaging), Arc::new(oxorb_protocols::shm::Shm));
    protocol.expect("shared memory is a reliable stream")
}
