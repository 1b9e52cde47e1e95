//! Oneways of a batch are sent in order, with one write per connection, and before any other message of their thread to
//! the same server.

use std::os::unix::net::UnixListener;
use std::thread;

use oxorb::client::OnewayBatch;
use oxorb::settings::ClientConnections;
use oxorb::{CompletionStatus, Interface as _, ObjectRef, Orb};
use oxorb_testkit::watchdog;

use crate::common::fake::{FakeConnection, FakeServer, Received, played};
use crate::common::{self, LONG, NAP, NOTE, ping};

/// Maximum number of oneways that wait for one write.
const MOST: usize = 32;

/// Returns a client that does not check a connection before it uses it.
fn client(sharing: ClientConnections) -> Orb {
    let client = common::transport::builder().client_connections(sharing);
    client.setting("TrustIdle", "600000").build().unwrap()
}

fn note(object: &ObjectRef) {
    object.reference().send(&NOTE, |_| Ok(())).unwrap();
}

/// Sends a oneway with `octets` octets.
fn nap(object: &ObjectRef, octets: usize) {
    let octets = vec![7; octets];
    let sent = object.reference().send(&NAP, |e| {
        e.octets(&octets);
        Ok(())
    });
    sent.unwrap();
}

/// Opens a connection and sends oneways over it: messages over a new connection do not wait.
fn warm(server: &FakeServer, object: &ObjectRef) -> FakeConnection {
    note(object);
    note(object);
    let mut connection = server.accept();
    assert_eq!(received(&mut connection, 2), ["note"; 2]);
    connection
}

/// Returns the operations of the next requests, and checks that their ids are consecutive.
fn received(connection: &mut FakeConnection, count: usize) -> Vec<String> {
    let mut last = None;
    let next = |_| match connection.receive() {
        Received::Request(id, operation, _) => {
            assert_eq!(id, last.map_or(id, |last: u32| last + 2), "out of order");
            last = Some(id);
            operation
        }
        other => panic!("no request: {other:?}"),
    };
    (0..count).map(next).collect()
}

/// Returns the operations of the next requests, read in another thread while `send` runs, because some connections
/// cannot hold all of them.
fn received_meanwhile(
    connection: &mut FakeConnection,
    count: usize,
    send: impl FnOnce(),
) -> Vec<String> {
    thread::scope(|scope| {
        let reading = scope.spawn(|| received(connection, count));
        send();
        reading.join().unwrap()
    })
}

const NOT_SHARED: [ClientConnections; 2] = [ClientConnections::Private, ClientConnections::Cached];

#[test]
fn oneways_of_a_batch_leave_when_it_ends() {
    let _guard = watchdog(LONG);
    for sharing in NOT_SHARED {
        let (server, client) = (FakeServer::start(), client(sharing));
        let object = server.object(&client);
        let mut connection = warm(&server, &object);
        let batch = OnewayBatch::begin();
        (0..5).for_each(|_| note(&object));
        assert!(!connection.peer.has_input(), "{sharing:?}: one left before the others");
        batch.send(|mark, why| panic!("{mark}: {why}"));
        assert_eq!(received(&mut connection, 5), ["note"; 5]);
        // Oneways outside of a batch are sent at once, and those of a dropped batch at its end.
        note(&object);
        assert_eq!(received(&mut connection, 1), ["note"]);
        let batch = OnewayBatch::begin();
        note(&object);
        drop(batch);
        assert_eq!(received(&mut connection, 1), ["note"]);
        client.shutdown(true).unwrap();
    }
}

#[test]
fn as_many_as_fill_a_batch_do_not_wait_for_more() {
    let _guard = watchdog(LONG);
    let (server, client) = (FakeServer::start(), client(ClientConnections::Private));
    let object = server.object(&client);
    let mut connection = warm(&server, &object);
    let batch = OnewayBatch::begin();
    (0..MOST).for_each(|_| note(&object));
    assert_eq!(received(&mut connection, MOST), ["note"; MOST]);
    note(&object);
    assert!(!connection.peer.has_input());
    // A large oneway is sent at once, together with those that wait.
    let came = received_meanwhile(&mut connection, 2, || nap(&object, 100_000));
    assert_eq!(came, ["note", "nap"]);
    // These oneways have more octets than may wait, so they are sent before the batch ends.
    let send = || (0..3).for_each(|_| nap(&object, 6_000));
    assert_eq!(received_meanwhile(&mut connection, 3, send), ["nap"; 3]);
    batch.send(|mark, why| panic!("{mark}: {why}"));
    client.shutdown(true).unwrap();
}

#[test]
fn a_call_takes_with_it_what_waits() {
    let _guard = watchdog(LONG);
    let script = |server: &FakeServer| {
        let mut connection = server.accept();
        assert_eq!(received(&mut connection, 4), ["note"; 4]);
        connection.answer_next(7);
        assert_eq!(received(&mut connection, 1), ["note"]);
        assert_eq!(connection.receive(), Received::End);
    };
    played(script, |server| {
        let client = client(ClientConnections::Private);
        let object = server.object(&client);
        (0..2).for_each(|_| note(&object));
        let batch = OnewayBatch::begin();
        (0..2).for_each(|_| note(&object));
        assert_eq!(ping(&object, 6), Ok(7));
        note(&object);
        batch.send(|mark, why| panic!("{mark}: {why}"));
        client.shutdown(true).unwrap();
    });
}

#[test]
fn what_is_called_apart_waits_for_nothing() {
    let _guard = watchdog(LONG);
    let (server, client) = (FakeServer::start(), client(ClientConnections::Private));
    let object = server.object(&client);
    let mut connection = warm(&server, &object);
    let mut batch = OnewayBatch::begin();
    note(&object);
    batch.apart(|| {
        assert_eq!(received(&mut connection, 1), ["note"]);
        nap(&object, 8);
        assert_eq!(received(&mut connection, 1), ["nap"]);
    });
    note(&object);
    assert!(!connection.peer.has_input());
    // The beginning of an inner batch sends the oneways that wait in the outer one.
    let inner = OnewayBatch::begin();
    assert_eq!(received(&mut connection, 1), ["note"]);
    nap(&object, 8);
    assert!(!connection.peer.has_input());
    inner.send(|mark, why| panic!("{mark}: {why}"));
    assert_eq!(received(&mut connection, 1), ["nap"]);
    note(&object);
    assert!(!connection.peer.has_input());
    batch.send(|mark, why| panic!("{mark}: {why}"));
    assert_eq!(received(&mut connection, 1), ["note"]);
    client.shutdown(true).unwrap();
}

/// A write to a closed UNIX socket fails at once.
#[test]
fn what_did_not_leave_is_told_by_its_mark() {
    let _guard = watchdog(LONG);
    let folder = oxorb_testkit::net::socket_folder();
    let places = ["first", "second"]
        .map(|name| folder.join(format!("oxorb-batches-{name}-{}", std::process::id())));
    let listeners = [0, 1].map(|at| UnixListener::bind(&places[at]).unwrap());
    let client = Orb::builder().client_connections(ClientConnections::Private);
    let client = client.setting("TrustIdle", "600000").build().unwrap();
    let objects = [0, 1].map(|at| {
        let url = format!("corbaloc:uiop:{}|x", places[at].display());
        let object: ObjectRef = client.string_to_object(&url).unwrap();
        (0..2).for_each(|_| note(&object));
        object
    });
    let (left, _stays) = (listeners[0].accept().unwrap(), listeners[1].accept().unwrap());
    drop(left);
    let mut batch = OnewayBatch::begin();
    for mark in 0..6 {
        batch.mark(mark);
        note(&objects[mark as usize % 2]);
    }
    let mut failed = Vec::new();
    batch.send(|mark, why| failed.push((mark, why.completed)));
    let no = CompletionStatus::No;
    assert_eq!(failed, [(0, no), (2, no), (4, no)]);
    // The next call opens a connection again.
    note(&objects[0]);
    drop(listeners[0].accept().unwrap());
    client.shutdown(true).unwrap();
    for place in places {
        let _ = std::fs::remove_file(place);
    }
}
