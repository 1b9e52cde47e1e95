//! A request that arrives while another request of its connection runs is read at once by another thread (R1), and not
//! only at the next check of busy connections.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use oxorb::ObjectRef;
use oxorb::poa::Poa;
use oxorb::settings::ClientConnections;
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::LONG;
use crate::common::worker::*;

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
