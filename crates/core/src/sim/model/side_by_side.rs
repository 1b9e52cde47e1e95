//! Concurrent requests of one connection: whichever thread takes the connection over, and at whatever time, each
//! request is served and answered once.

use std::sync::atomic::Ordering;

use shuttle::thread;

use super::*;
use crate::server::{Look, look};

/// The first request waits until the requests that arrive over its connection while it runs have been served.
#[test]
fn a_connection_is_taken_over_while_its_thread_is_in_a_request() {
    for concurrency in [
        crate::Concurrency::ThreadPerConnection,
        crate::Concurrency::LeaderFollowers { threads: 2 },
    ] {
        explore(move || {
            let server = ModelServer::start(Options { concurrency, ..Options::default() });
            let client = super::client();
            let object = server.object(&client);
            let gate = &server.worker.gate;
            gate.stops.store(1, Ordering::SeqCst);
            let stuck = run_async(&object, 1);
            gate.until_reached();
            let others = [2, 3].map(|number| (number, run_async(&object, number)));
            while server.ran(2) + server.ran(3) < 2 {
                look(&server.orb, None, &mut Look::default());
                thread::yield_now();
            }
            gate.open.store(true, Ordering::SeqCst);
            assert_eq!(stuck.wait(), Ok(2));
            for (number, reply) in others {
                assert_eq!((reply.wait(), server.ran(number)), (Ok(number + 1), 1));
            }
            client.shutdown(true).unwrap();
            server.end();
        });
    }
}

/// The connection may be taken over at any time: while a request begins, is answered, or the server ends.
#[test]
fn whoever_takes_over_and_whoever_answers_never_both_have_the_connection() {
    explore(|| {
        let server = ModelServer::start(Options::default());
        let client = super::client();
        let object = server.object(&client);
        let watching = server.orb.clone();
        let watcher = thread::spawn(move || {
            for _ in 0..6 {
                look(&watching, None, &mut Look::default());
                thread::yield_now();
            }
        });
        let calls = [1, 2, 3, 4].map(|number| (number, run_async(&object, number)));
        let ending = server.orb.clone();
        let ends = thread::spawn(move || ending.shutdown(true));
        for (number, reply) in calls {
            assert_certain(reply.wait(), number, server.ran(number));
        }
        watcher.join().unwrap();
        ends.join().unwrap().unwrap();
        client.shutdown(true).unwrap();
        server.end();
    });
}
