//! A server closes a connection in order, because it is idle or in favour of another one, while a request is on its
//! way.

use shuttle::thread;

use super::*;

/// A new connection may be closed before its first use, and the caller gets the matching exception; a used one is
/// replaced without notice to the caller.
#[test]
fn an_idle_connection_is_closed_while_it_is_used_again() {
    explore(|| {
        let server = ModelServer::start(Options {
            // A connection counts as idle at the first time-out of a read.
            idle_timeout: Some(Duration::ZERO),
            ..Options::default()
        });
        let client = super::client();
        let object = server.object(&client);
        for number in 1..4 {
            let told = run(&object, number);
            assert_certain(told, number, server.ran(number));
        }
        client.shutdown(true).unwrap();
        server.end();
    });
}

#[test]
fn a_connection_makes_room_while_it_is_used_again() {
    explore(|| {
        let server = ModelServer::start(Options::default());
        let client = super::client();
        let object = server.object(&client);
        assert_eq!(run(&object, 1), Ok(2));
        let orb = server.orb.clone();
        let purge = thread::spawn(move || orb.registry().purge_one_as_of(u64::MAX));
        for number in 2..5 {
            assert_eq!((run(&object, number), server.ran(number)), (Ok(number + 1), 1));
        }
        purge.join().unwrap();
        client.shutdown(true).unwrap();
        server.end();
    });
}

/// Asynchronous calls share the connection that is closed.
#[test]
fn a_shared_connection_is_closed_while_calls_are_outstanding() {
    explore(|| {
        let server = ModelServer::start(Options::default());
        let client = super::client();
        let object = server.object(&client);
        let orb = server.orb.clone();
        let purge = thread::spawn(move || orb.registry().purge_one_as_of(u64::MAX));
        let outstanding: Vec<_> = (1..4).map(|n| (n, run_async(&object, n))).collect();
        for (number, reply) in outstanding {
            assert_eq!((reply.wait(), server.ran(number)), (Ok(number + 1), 1));
        }
        purge.join().unwrap();
        client.shutdown(true).unwrap();
        server.end();
    });
}
