//! Callbacks over a connection that ends, or whose other side reads nothing.

use oxorb::poa::RtPolicies;
use oxorb::rt::{RequestBuffering, Threadpool};
use oxorb_giop::{LocateReply, LocateStatus, ReplyStatus};
use oxorb_object::minor;

use super::*;
use crate::common::worker::{WHERE, lane, lane_poa, locate_request, poa};

static WAIT_KEPT_TWICE: Op = Op::twoway("wait_kept_twice");

/// Architectures in which a thread is free while a request runs.
const WITH_FREE_THREADS: [Concurrency; 4] = [
    Concurrency::ThreadPerConnection,
    Concurrency::LeaderFollowers { threads: 3 },
    Concurrency::ThreadPerRequest { threads: 64 },
    Concurrency::WorkerPool { threads: 3, queue: 64 },
];

/// Runs a request of `object`, which makes two callbacks to `here`; `end` is called during the first one, and has to
/// end the connections of the object. The request ends after `end` has begun.
fn end_during_a_callback(
    object: &ObjectRef,
    here: &ObjectRef,
    worker: &Worker,
    end: impl FnOnce() + Send,
) {
    keep(object, here).unwrap();
    // A connection without calls of the server is closed at once.
    let mut idle = Peer::connect(&address(object));
    idle.write_all(&request(object, &PING, 0, |e| e.longlong(1))).unwrap();
    idle.message();
    thread::scope(|scope| {
        let calling = scope.spawn(|| number(object, &WAIT_KEPT_TWICE));
        worker.until_waiting(1);
        let ending = scope.spawn(end);
        assert_eq!(kind(&idle.rest()), MessageType::CLOSE_CONNECTION);
        // The callback may wait for this request, so it is answered before the reply that the server waits for.
        let late = ping(object, 1).unwrap_err();
        assert_raised(late, SystemExceptionKind::Transient, CompletionStatus::No);
        assert_eq!(late.minor, minor::transient::POA_DESTROYED);
        // The server reads this oneway together with the reply.
        object.reference().send(&NOTE, |_| Ok(())).unwrap();
        worker.open();
        assert_eq!(calling.join().unwrap(), Ok(0));
        ending.join().unwrap();
    });
}

#[test]
fn a_shutdown_waits_for_the_answers_to_callbacks_of_running_requests() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    at_once(WITH_FREE_THREADS, |concurrency| {
        let server = accepting(concurrency, "1");
        let client = hidden_client("1");
        let (object, ..) = both(&server, &client);
        let worker = Arc::new(Worker::default());
        let here = client.root_poa().activate_servant(worker.clone()).unwrap();
        end_during_a_callback(&object, &ObjectRef::from_ref(here), &worker, || {
            server.shutdown(true).unwrap();
        });
        assert_eq!(server.connection_statistics().open, 0, "{concurrency}");
    });
}

#[test]
fn the_end_of_a_threadpool_waits_for_the_answers_to_callbacks_of_its_requests() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    let server = accepting(Concurrency::ThreadPerConnection, "1");
    let pool = server.create_threadpool(Threadpool::new(3)).unwrap();
    let realtime = RtPolicies { threadpool: Some(pool), ..RtPolicies::default() };
    let player = Arc::new(Player::default());
    let at_server = poa(&server, "pool", realtime).activate_servant(player).unwrap();
    let client = hidden_client("1");
    let object = elsewhere(&client, &at_server);
    let worker = Arc::new(Worker::default());
    let here = client.root_poa().activate_servant(worker.clone()).unwrap();
    end_during_a_callback(&object, &ObjectRef::from_ref(here), &worker, || {
        server.destroy_threadpool(pool).unwrap();
    });
    assert_eq!(server.connection_statistics().open, 0);
}

/// The lane's only thread waits for the answer to its callback, so that a reader thread buffers further requests.
#[test]
fn the_end_of_a_lane_that_buffers_waits_for_the_answers_to_its_callbacks() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    for _ in 0..10 {
        let server = accepting(Concurrency::ThreadPerConnection, "1");
        let plan = Threadpool::with_lanes([lane(10, 1)]).buffering(RequestBuffering::default());
        let pool = server.create_threadpool(plan).unwrap();
        let player = Arc::new(Player::default());
        let at_server = lane_poa(&server, pool, 10).activate_servant(player).unwrap();
        let client = hidden_client("1");
        let object = elsewhere(&client, &at_server);
        let worker = Arc::new(Worker::default());
        let here = client.root_poa().activate_servant(worker.clone()).unwrap();
        end_during_a_callback(&object, &ObjectRef::from_ref(here), &worker, || {
            server.destroy_threadpool(pool).unwrap();
        });
        assert_eq!(server.connection_statistics().open, 0);
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

/// The lane's only thread is in a request, so that a reader thread buffers the requests of other connections.
#[test]
fn requests_at_a_lane_that_ends_are_answered_while_its_threads_are_busy() {
    only_over!(IIOP, "names an address that a client of TCP could have");
    let _guard = watchdog(2 * LONG);
    let server = accepting(Concurrency::ThreadPerConnection, "1");
    let plan = Threadpool::with_lanes([lane(10, 1)]).buffering(RequestBuffering::default());
    let pool = server.create_threadpool(plan).unwrap();
    let worker = Arc::new(Worker::default());
    let object = activate(&lane_poa(&server, pool, 10), &server, &worker);
    let (mut client, _) = offered(&server, &object);
    let mut idle = Peer::connect(&address(&object));
    idle.write_all(&request(&object, &WHERE, 0, |_| ())).unwrap();
    idle.message();
    let mut busy = Peer::connect(&address(&object));
    busy.write_all(&request(&object, &WAIT, 2, |_| ())).unwrap();
    worker.until_waiting(1);
    thread::scope(|scope| {
        let ending = scope.spawn(|| server.destroy_threadpool(pool).unwrap());
        assert_eq!(kind(&idle.rest()), MessageType::CLOSE_CONNECTION);
        client.write_all(&request(&object, &WHERE, 4, |_| ())).unwrap();
        let refused = client.message();
        let refused = Reply::parse(&frame(&refused)).unwrap();
        assert_eq!((refused.id, refused.status), (4, ReplyStatus::SYSTEM_EXCEPTION));
        worker.open();
        ending.join().unwrap();
    });
    assert_eq!(kind(&client.rest()), MessageType::CLOSE_CONNECTION);
    server.shutdown(true).unwrap();
}

/// Only requests that have begun are served.
#[test]
fn requests_at_a_server_that_ends_are_answered_at_once() {
    only_over!(IIOP, "names an address that a client of TCP could have");
    let _guard = watchdog(2 * LONG);
    let server = accepting(Concurrency::ThreadPerConnection, "1");
    let worker = Arc::new(Worker::default());
    let at_server = server.root_poa().activate_servant(worker.clone()).unwrap();
    let waits = ObjectRef::from_ref(at_server);
    let object = pinger(&server, &server);
    let (mut client, _) = offered(&server, &object);
    client.write_all(&request(&waits, &WAIT, 2, |_| ())).unwrap();
    worker.until_waiting(1);
    server.shutdown(false).unwrap();
    let key = object_key(&object);
    client.write_all(&locate_request(4, &key)).unwrap();
    let located = client.message();
    let located = LocateReply::parse(&frame(&located)).unwrap();
    assert_eq!((located.id, located.status), (4, LocateStatus::LOC_SYSTEM_EXCEPTION));
    client.write_all(&request(&object, &NOTE, 6, |_| ())).unwrap();
    client.write_all(&request(&object, &PING, 8, |e| e.longlong(1))).unwrap();
    let refused = client.message();
    let refused = Reply::parse(&frame(&refused)).unwrap();
    assert_eq!((refused.id, refused.status), (8, ReplyStatus::SYSTEM_EXCEPTION));
    worker.open();
    let answer = client.message();
    let answer = Reply::parse(&frame(&answer)).unwrap();
    assert_eq!((answer.id, answer.status), (2, ReplyStatus::NO_EXCEPTION));
    assert_eq!(kind(&client.rest()), MessageType::CLOSE_CONNECTION);
    server.run();
}

/// A shutdown that nobody waits for ends the connections, too.
#[test]
fn a_shutdown_without_waiting_ends_connections_after_their_callbacks() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = accepting(concurrency, "1");
        let client = hidden_client("1");
        let (object, ..) = both(&server, &client);
        let worker = Arc::new(Worker::default());
        let here = client.root_poa().activate_servant(worker.clone()).unwrap();
        end_during_a_callback(&object, &ObjectRef::from_ref(here), &worker, || {
            server.shutdown(false).unwrap();
        });
        until("the connections end", || server.connection_statistics().open == 0);
        server.run();
    }
}

/// Returns a connection whose other end is the test, and an object that `server` calls back over it.
fn offered(server: &Orb, object: &ObjectRef) -> (Peer, ObjectRef) {
    let point = oxorb_object::IiopEndpoint { host: "client.invalid".to_owned(), port: 1 };
    let data = oxorb_object::listen_points(&[point]);
    let client = stranger(Peer::connect(&address(object)), object, bi_dir(&data));
    let here = server.string_to_object("corbaloc:iiop:1.2@client.invalid:1/x").unwrap();
    (client, ObjectRef::from_ref(here.reference().with_timeout(SHORT)))
}

/// Nothing interrupts the reads of the connection, in whose silences time limits are usually checked.
#[test]
fn a_callback_expires_while_its_client_sends_on_and_on() {
    only_over!(IIOP, "names an address that a client of TCP could have");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = accepting(concurrency, "1");
        let object = pinger(&server, &server);
        let (mut client, here) = offered(&server, &object);
        let mut callback = ping_async(&here, 1);
        let mut id = 2;
        while !callback.is_ready() {
            client.write_all(&request(&object, &PING, id, |e| e.longlong(1))).unwrap();
            client.message();
            id += 2;
        }
        let late = callback.wait().unwrap_err();
        assert_eq!(late.kind, SystemExceptionKind::Timeout, "{late}");
        drop(client);
        server.shutdown(true).unwrap();
    }
}

/// The client asks for a large reply, and reads nothing of it.
#[test]
fn a_callback_waits_no_longer_than_it_may_for_a_reply_that_is_being_written() {
    only_over!(IIOP, "names an address that a client of TCP could have");
    let _guard = watchdog(2 * LONG);
    let server = listening()
        .setting("AcceptBiDirectionalGIOP", "1")
        .setting("StallTimeout", "600000")
        .build()
        .unwrap();
    let object = pinger(&server, &server);
    let (mut client, here) = offered(&server, &object);
    client.write_all(&request(&object, &BIG, 2, |_| ())).unwrap();
    client.await_input();
    let late = call(&here, &SLEEP).unwrap_err();
    assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::No);
    let late = here.reference().send(&NOTE, |_| Ok(())).unwrap_err();
    assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::No);
    drop(client);
    server.shutdown(true).unwrap();
}
