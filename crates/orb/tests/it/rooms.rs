//! Rooms of connections that cannot be opened, or that the server closed before anything was sent.

use std::os::unix::net::UnixStream;
use std::sync::Barrier;
use std::time::Duration;

use oxorb::policy::RelativeRoundtripTimeout;
use oxorb::settings::ClientConnections;
use oxorb::{Interface as _, Orb, SystemExceptionKind};
use oxorb_sys::unix;
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::fake::played;
use crate::common::*;

const OCTETS: usize = 100_000;

/// Returns a client that does not check a connection before it uses it.
fn trusting(sharing: ClientConnections) -> Orb {
    let builder = common::transport::builder().client_connections(sharing);
    builder.setting("TrustIdle", "600000").build().unwrap()
}

#[test]
fn a_connection_that_a_room_opened_and_the_server_closed_costs_no_exception() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let client = trusting(sharing);
        let closed = Barrier::new(2);
        let answer = played(
            |server| {
                let mut idle = server.accept();
                closed.wait();
                idle.close_connection();
                drop(idle);
                closed.wait();
                server.accept().answer_next(2);
            },
            |server| {
                let object = server.object(&client);
                assert_eq!(object.reference().room(OCTETS).unwrap().len(), OCTETS);
                closed.wait();
                closed.wait();
                ping(&object, 0)
            },
        );
        assert_eq!(answer, Ok(2), "{sharing:?}");
        client.shutdown(true).unwrap();
    }
}

/// A room fails as a call does if there is no listener, or if the listener accepts no connection.
#[test]
fn a_room_without_a_connection_fails_as_a_call_would() {
    let _guard = watchdog(LONG);
    let name = format!("oxorb-rooms-{}", std::process::id());
    let full = oxorb_testkit::net::socket_folder().join(&name);
    let path = full.to_str().unwrap();
    let socket = unix::bind(unix::Name::Path(&full)).unwrap();
    unix::listen(&socket, 0).unwrap();
    let _waits = UnixStream::connect(&full).unwrap();
    let timeout = SystemExceptionKind::Timeout;
    let short = Duration::from_millis(100);
    let places = [
        (format!("corbaloc:uiop:{path}|x"), short, timeout),
        (format!("corbaloc:shm:{path}|x"), short, timeout),
        (format!("corbaloc:uiop:{path}-nobody|x"), LONG, SystemExceptionKind::Transient),
    ];
    at_once(places, |(place, limit, kind)| {
        at_once(EVERY_SHARING, |sharing| {
            let client = trusting(sharing);
            let object = client.string_to_object(&place).unwrap();
            let object = object.with(RelativeRoundtripTimeout(limit));
            let called = ping(&object, 0).unwrap_err();
            let room = object.reference().room(OCTETS).unwrap_err();
            assert_eq!(called.kind, kind, "{place} {sharing:?}: {called}");
            assert_eq!(room, called, "{place} {sharing:?}");
            client.shutdown(true).unwrap();
        });
    });
    std::fs::remove_file(&full).unwrap();
}
