//! Callbacks over a connection that ends, or whose other side reads nothing.

use oxorb::poa::RtPolicies;
use oxorb::rt::Threadpool;

use super::*;
use crate::common::worker::poa;

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
        // The server reads this request together with the reply that it waits for.
        let late = ping_async(object, 1);
        worker.open();
        assert_eq!(calling.join().unwrap(), Ok(0));
        ending.join().unwrap();
        let late = late.wait().unwrap_err();
        assert_eq!(late.completed, CompletionStatus::No, "{late}");
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
