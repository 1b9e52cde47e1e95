//! An ORB is shut down while requests arrive.

use std::sync::Arc;

use shuttle::thread;

use super::*;

#[test]
fn calls_while_their_server_ends() {
    explore(|| {
        let server = ModelServer::start(Options::default());
        let client = super::client();
        let object = server.object(&client);
        let asynchronous = object.clone();
        // The second call of each thread uses a connection that was used before, if it is still open.
        let callers = [
            thread::spawn(move || [1, 2].map(|n| (n, run(&object, n)))),
            thread::spawn(move || [3, 4].map(|n| (n, run_async(&asynchronous, n).wait()))),
        ];
        server.orb.shutdown(true).unwrap();
        let ran = server.ran_in_all();
        assert!(server.orb.registry().has_ended());
        for caller in callers {
            for (number, told) in caller.join().unwrap() {
                assert_certain(told, number, server.ran(number));
            }
        }
        assert_eq!(server.ran_in_all(), ran, "something ran after the end");
        client.shutdown(true).unwrap();
    });
}

/// The connection's thread waits for another server while a takeover thread reads the connection. Whichever of the two
/// finishes last closes it.
#[test]
fn nested_calls_while_their_server_ends() {
    explore(|| {
        let behind = ModelServer::start(Options::default());
        let server = ModelServer::start(Options::default());
        *server.worker.asks.lock() = Some(behind.object(&server.orb));
        let client = super::client();
        let object = server.object(&client);
        let caller = thread::spawn(move || [1, 2].map(|n| (n, run(&object, n))));
        server.orb.shutdown(true).unwrap();
        assert!(server.orb.registry().has_ended());
        let ran = server.ran_in_all();
        for (number, told) in caller.join().unwrap() {
            assert_certain(told, number, server.ran(number));
            assert!(behind.ran(number) <= server.ran(number));
        }
        assert_eq!(server.ran_in_all(), ran, "something ran after the end");
        server.worker.asks.lock().take();
        client.shutdown(true).unwrap();
        behind.end();
    });
}

/// Checks that every caller that waits for an answer gets one or an exception, and that none waits
/// without end.
#[test]
fn calls_while_their_own_orb_ends() {
    explore(|| {
        let server = ModelServer::start(Options::default());
        let client = super::client();
        let object = server.object(&client);
        let asynchronous = object.clone();
        let callers = [
            thread::spawn(move || [1, 2].map(|n| (n, run(&object, n)))),
            thread::spawn(move || [3, 4].map(|n| (n, run_async(&asynchronous, n).wait()))),
        ];
        client.shutdown(true).unwrap();
        for caller in callers {
            for (number, told) in caller.join().unwrap() {
                assert_truth_later(told, number, &server);
            }
        }
        server.end();
    });
}

/// A request that was sent may still run, or not: at most once in any case.
#[track_caller]
fn assert_truth_later(told: Result<i64, SystemException>, number: i64, server: &ModelServer) {
    match told {
        Err(exception) if exception.completed == CompletionStatus::Maybe => {
            assert!(server.ran(number) <= 1);
        }
        told => assert_truth(told, number, server.ran(number)),
    }
}

/// Two threads shut the ORB down concurrently.
#[test]
fn an_orb_that_is_ended_twice() {
    explore(|| {
        let server = ModelServer::start(Options::default());
        let client = super::client();
        let object = server.object(&client);
        let caller = thread::spawn(move || run(&object, 1));
        let orb = Arc::new(server.orb.clone());
        let other = thread::spawn(move || orb.shutdown(true).unwrap());
        server.orb.shutdown(true).unwrap();
        assert!(server.orb.registry().has_ended());
        other.join().unwrap();
        assert_certain(caller.join().unwrap(), 1, server.ran(1));
        client.shutdown(true).unwrap();
    });
}
