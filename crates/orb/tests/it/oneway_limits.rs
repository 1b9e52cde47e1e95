//! The round-trip limit is not sent with a oneway, on any path, because a oneway has no reply.

use std::io::Read as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::policy::{RelativeRequestTimeout, RelativeRoundtripTimeout, SyncScope};
use oxorb::settings::ClientConnections;
use oxorb::{Interface as _, ObjectRef, Orb};
use oxorb_giop::{Inbox, MessageLimits, Request};
use oxorb_object::context_id::INVOCATION_POLICIES;
use oxorb_testkit::watchdog;

const LONG: Duration = Duration::from_secs(60);

static NOTE: Op = Op::oneway("note");

fn note(object: &ObjectRef) {
    object.reference().send(&NOTE, |_| Ok(())).unwrap();
}

/// A client's connection, to which the test sends no replies.
struct Connection(UnixStream, Inbox);

impl Connection {
    fn of(listener: &UnixListener) -> Self {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        Self(stream, Inbox::new(&MessageLimits::default()))
    }

    /// Reports whether the client's next request carries time limits.
    fn carries(&mut self) -> bool {
        while self.1.poll().unwrap().is_none() {
            let mut octets = [0; 4096];
            let read = self.0.read(&mut octets).unwrap();
            assert_ne!(read, 0, "the client has left");
            self.1.room().0.extend_from_slice(&octets[..read]);
        }
        let request = Request::parse(&self.1.frame()).unwrap();
        assert_eq!(request.operation, "note");
        request.contexts.find(INVOCATION_POLICIES).is_some()
    }
}

#[test]
fn a_oneway_keeps_the_limit_of_the_round_trip_to_itself() {
    let _guard = watchdog(LONG);
    let path =
        oxorb_testkit::net::socket_folder().join(format!("oxorb-oneways-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    for sharing in [
        ClientConnections::Private,
        ClientConnections::Cached,
        ClientConnections::Multiplexed,
        ClientConnections::LeaderFollowers,
    ] {
        // Let the client use a connection without checking it first.
        let client = Orb::builder().client_connections(sharing);
        let client = client.setting("TrustIdle", "600000").build().unwrap();
        let url = format!("corbaloc:uiop:{}|x", path.display());
        let object = client.string_to_object(&url).unwrap();
        let object = object.with(RelativeRoundtripTimeout(LONG));
        note(&object);
        note(&object);
        let mut first = Connection::of(&listener);
        let plain = [first.carries(), first.carries()];
        // Close the connection, so that the next write, or a check before it, fails.
        drop(first);
        note(&object);
        let mut second = Connection::of(&listener);
        let again = second.carries();
        let buffered = object.with(SyncScope::None);
        note(&buffered);
        let buffered = Connection::of(&listener).carries();
        assert_eq!((plain, again, buffered), ([false; 2], false, false), "{sharing:?}");
        // The limit of a request, unlike that of a round trip, is sent with a oneway.
        note(&object.with(RelativeRequestTimeout(LONG)));
        assert!(second.carries(), "{sharing:?}");
        client.shutdown(true).unwrap();
    }
    std::fs::remove_file(&path).unwrap();
}
