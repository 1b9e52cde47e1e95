//! The transport that tests of whole ORBs run over, chosen by the environment.

use std::sync::LazyLock;

use oxorb::protocol::Protocol;
use oxorb::transport::mem::Memory;
use oxorb::{Builder, Orb};

/// `tcp` (the default), `unix`, `mem`, or the text of an endpoint that asks for any free place.
const TRANSPORT: &str = "OXORB_TEST_TRANSPORT";

/// The memory that all ORBs of a test process share.
static MEMORY: LazyLock<Memory> = LazyLock::new(Memory::new);

/// A builder of ORBs that speak every protocol that tests may run over.
pub(crate) fn builder() -> Builder {
    Orb::builder().protocol(Protocol::memory(MEMORY.clone()))
}

/// A builder of servers that listen at any free place, over the transport chosen.
pub(crate) fn listening() -> Builder {
    builder().listen(&anywhere())
}

/// Endpoints at any free place: over the transport chosen, which calls then use, and behind it over
/// TCP, for tests that write octets of their own to a socket.
pub(crate) fn anywhere() -> String {
    const TCP: &str = "iiop://127.0.0.1:0";
    let chosen = match std::env::var(TRANSPORT).as_deref() {
        Err(_) | Ok("tcp") => return TCP.to_owned(),
        Ok("unix") => "uiop://".to_owned(),
        Ok("mem") => "mem://".to_owned(),
        Ok(endpoint) if endpoint.contains("://") => endpoint.to_owned(),
        Ok(other) => panic!("{TRANSPORT}={other}: expected tcp, unix, mem or an endpoint"),
    };
    format!("{chosen};{TCP}")
}

/// Panics unless calls to a server at [`anywhere`] use the transport chosen: its profile comes first.
pub(crate) fn assert_chosen(object: &oxorb::Ref) {
    let chosen = anywhere();
    let name = chosen.split("://").next().expect("an endpoint");
    let first = object.ior().profiles[0].tag;
    let protocols = &object.orb().options().protocols;
    let protocol = protocols.tagged(first).expect("a protocol of ours");
    assert_eq!(protocol.name(), name);
}
