//! A request that arrives while another request of its connection runs is read at once by another thread, and not
//! only at the next check of busy connections.

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use oxorb::poa::Poa;
use oxorb::settings::ClientConnections;
use oxorb::{ObjectRef, Outcome, Servant, Upcall};
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::peer::Peer;
use crate::common::worker::*;
use crate::common::{LONG, elsewhere, until};

/// Time between the first request and the second, after which the first counts as a long request.
const LATER: Duration = Duration::from_millis(20);

/// Number of calls to another object, a millisecond apart, within which the second request has to be answered. A busy
/// machine delays these calls as well. A periodic check would find the second request later.
const SOON: usize = 15;

/// Number of rounds that count, of which [`PROMPT`] must be prompt: other processes may hold the
/// processor for longer than [`SOON`] takes.
const LAST: usize = 10;
const PROMPT: usize = 8;

/// Maximum number of rounds.
const ROUNDS: usize = 60;

/// Reports whether the second request was answered soon. The first request stays blocked until then.
fn is_prompt(poa: &Poa, other: &ObjectRef) -> bool {
    let worker = Arc::new(Worker::default());
    let client = common::transport::builder().client_connections(ClientConnections::Multiplexed);
    let client = client.build().unwrap();
    let object = activate(poa, &client, &worker);
    // Let the connection carry single requests first, and then leave it idle.
    (0..3).for_each(|_| drop(whereabouts(&object)));
    thread::sleep(LATER);
    let first = in_the_background(&object, &WAIT);
    worker.until_waiting(1);
    thread::sleep(LATER);
    let second = in_the_background(&object, &WHERE);
    for _ in 0..SOON {
        thread::sleep(Duration::from_millis(1));
        whereabouts(other);
    }
    let prompt = second.is_finished();
    assert_eq!(second.join().unwrap(), Ok(()));
    assert!(!first.is_finished());
    worker.open();
    assert_eq!(first.join().unwrap(), Ok(()));
    client.shutdown(true).unwrap();
    prompt
}

#[track_caller]
fn assert_prompt(name: &str, poa: &Poa) {
    let (server, client) = (server(), client());
    let other = activate(server.root_poa(), &client, &Arc::default());
    let mut last = VecDeque::new();
    for _ in 0..ROUNDS {
        last.push_back(is_prompt(poa, &other));
        if last.len() > LAST {
            last.pop_front();
        }
        if last.iter().filter(|prompt| **prompt).count() >= PROMPT {
            client.shutdown(true).unwrap();
            return server.shutdown(true).unwrap();
        }
    }
    panic!("{name}: second requests wait although threads are free; the last rounds: {last:?}");
}

#[test]
fn a_connection_is_handed_over_as_soon_as_a_second_request_comes() {
    let _guard = watchdog(LONG);
    for concurrency in ["thread-per-connection", "leader-followers:4"] {
        let server =
            common::transport::listening().setting("Concurrency", concurrency).build().unwrap();
        assert_prompt(concurrency, server.root_poa());
        server.shutdown(true).unwrap();
    }
}

#[test]
fn a_connection_of_a_lane_is_handed_over_as_soon_as_a_second_request_comes() {
    let _guard = watchdog(LONG);
    let server = server();
    let plan = oxorb::rt::Threadpool::with_lanes([lane(10, 3), lane(20, 3)]);
    let pool = server.create_threadpool(plan).unwrap();
    let poa = lane_poa(&server, pool, 20);
    assert_prompt("lanes", &poa);
    server.shutdown(true).unwrap();
}

/// Servant whose `wait` waits at a gate, and then returns a large result.
struct LargeAnswer {
    worker: Worker,
    result: Vec<u8>,
}

/// Size of the result in octets, more than the sockets of a connection buffer.
const LARGE: usize = 48 << 20;

impl Servant for LargeAnswer {
    fn repository_id(&self) -> &str {
        self.worker.repository_id()
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        if upcall.operation() != WAIT.name {
            return self.worker.dispatch(upcall);
        }
        self.worker.wait();
        upcall.reply(|e| {
            e.octets(&self.result);
            Ok(())
        })
    }

    fn identity(&self) -> usize {
        self.worker.identity()
    }
}

/// The client would take messages that follow a part of a reply for the rest of it.
#[test]
fn a_connection_ends_after_a_reply_that_was_cut_off_although_another_thread_reads_it() {
    common::only_over!(IIOP, "how much other transports buffer differs");
    let _guard = watchdog(LONG);
    for concurrency in ["thread-per-connection", "leader-followers:4"] {
        let server = common::transport::listening().setting("Concurrency", concurrency);
        let server = server.setting("StallTimeout", "300").build().unwrap();
        let large = LargeAnswer { worker: Worker::default(), result: vec![7; LARGE] };
        let large = Arc::new(large);
        let local = server.root_poa().activate_servant(large.clone()).unwrap();
        let client = client();
        let object = elsewhere(&client, &local);
        let mut stream = Peer::connect(&common::address(&object));
        let key = common::object_key(&object);
        stream.write_all(&request(1, &WAIT, &key, &[])).unwrap();
        large.worker.until_waiting(1);
        // Another thread reads this request.
        exchange(&mut stream, &key, &[]);
        assert_eq!(large.worker.at_gate.load(Ordering::SeqCst), 1);
        large.worker.open();
        let ended = || server.connection_statistics().open == 0;
        until("the connection ends although the client reads nothing", ended);
        let arrived = stream.rest();
        assert!(arrived.len() < LARGE, "{concurrency}: {}", arrived.len());
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}
