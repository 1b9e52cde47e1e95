//! Lanes with shared-memory connections: more than a hundred of them, with buffering and with borrowing among four
//! lanes, and a connection that no lane can wait for.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it tests shared memory alone.

use std::sync::Arc;

use oxorb::incident::Incident;
use oxorb::policy::PrivateConnection;
use oxorb::rt::{RequestBuffering, Threadpool};
use oxorb::{Interface as _, ObjectRef, Orb};
use oxorb_testkit::watchdog;

use crate::common::LONG;
use crate::common::worker::*;

/// Number of shared-memory connections. Linux refuses the 101st, 51st or 11th epoll that watches the same file, if one,
/// two or three further epolls are nested above them.
const CONNECTIONS: usize = 120;

fn shared() -> Orb {
    let server = Orb::builder().listen("shm://|ring=4K&blocks=64K");
    let server = server.setting("MaxConnections", "1000");
    let server = server.setting("MaxConnectionsPerClient", "0");
    server.build().unwrap()
}

/// Returns references to the object that have a connection each.
fn many(object: &ObjectRef) -> Vec<ObjectRef> {
    let each = |_| object.with(PrivateConnection);
    (0..CONNECTIONS).map(each).collect()
}

#[test]
fn lanes_that_buffer_or_borrow_serve_more_than_a_hundred_connections() {
    let _guard = watchdog(LONG);
    let buffering = Threadpool::with_lanes([lane(10, 1)]).buffering(RequestBuffering::default());
    let borrowing = Threadpool::with_lanes([10, 20, 30, 40].map(|value| lane(value, 1)));
    for (plan, highest) in [(buffering, 10), (borrowing.allow_borrowing(), 40)] {
        let (server, client) = (shared(), Orb::builder().build().unwrap());
        let pool = server.create_threadpool(plan).unwrap();
        let worker = Arc::new(Worker::default());
        let object = activate(&lane_poa(&server, pool, highest), &client, &worker);
        let all = many(&object);
        for _ in 0..2 {
            for object in &all {
                assert_eq!(whereabouts(object).priority, highest);
            }
        }
        // While the lane's own thread is busy, another one watches all connections.
        worker.close();
        let stuck = in_the_background(&all[0], &WAIT);
        worker.until_waiting(1);
        let calls: Vec<_> = all[1..].iter().take(20).collect();
        let calls: Vec<_> =
            calls.into_iter().map(|object| in_the_background(object, &WHERE)).collect();
        if highest == 40 {
            // Borrowed threads answer the calls while the lane's own thread is busy.
            calls.into_iter().for_each(|call| assert_eq!(call.join().unwrap(), Ok(())));
            worker.open();
        } else {
            worker.open();
            calls.into_iter().for_each(|call| assert_eq!(call.join().unwrap(), Ok(())));
        }
        assert_eq!(stuck.join().unwrap(), Ok(()));
        let statistics = server.connection_statistics();
        assert_eq!(statistics.count(Incident::NotServed), 0);
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

/// Linux allows five levels of nested epolls. Here they would be six: those of five lanes, and that of a shared-memory
/// connection.
#[test]
fn a_connection_that_no_lane_can_watch_is_turned_away_and_told() {
    let _guard = watchdog(LONG);
    let (server, client) = (shared(), Orb::builder().build().unwrap());
    let five = Threadpool::with_lanes((1..=5).map(|value| lane(value, 1))).allow_borrowing();
    let pool = server.create_threadpool(five).unwrap();
    let object = activate(&lane_poa(&server, pool, 5), &client, &Arc::new(Worker::default()));
    assert!(call(&object, &WHERE).is_err());
    let statistics = server.connection_statistics();
    assert!(statistics.count(Incident::NotServed) > 0);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
