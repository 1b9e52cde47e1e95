//! Calls that share a connection: each gets its own answer, or one exception, and none waits without end.

use std::time::Duration;

use shuttle::thread;

use super::*;
use crate::ClientConnections;

#[test]
fn every_call_gets_its_own_answer() {
    explore(|| {
        let server = ModelServer::start(Options::default());
        let client = super::client();
        let object = server.object(&client);
        let callers: Vec<_> = [10, 20, 30]
            .into_iter()
            .map(|first| {
                let object = object.clone();
                thread::spawn(move || {
                    let both = [first, first + 1].map(|n| (n, run_async(&object, n)));
                    both.map(|(n, reply)| (n, reply.wait()))
                })
            })
            .collect();
        for caller in callers {
            for (number, told) in caller.join().unwrap() {
                assert_eq!((told, server.ran(number)), (Ok(number + 1), 1));
            }
        }
        client.shutdown(true).unwrap();
        server.end();
    });
}

/// Checks a call that times out, one that is abandoned, and one that waits: no answer or time-out of one reaches
/// another.
#[test]
fn answers_time_outs_and_calls_given_up() {
    explore(|| {
        let server = ModelServer::start(Options::default());
        let client = super::client();
        let object = server.object(&client);
        let hurried = object.with_timeout(Duration::from_micros(1));
        let late = thread::spawn(move || run_async(&hurried, 1).wait());
        let given_up = object.clone();
        let given_up = thread::spawn(move || drop(run_async(&given_up, 2)));
        assert_eq!(run_async(&object, 3).wait(), Ok(4));
        let told = late.join().unwrap();
        given_up.join().unwrap();
        client.shutdown(true).unwrap();
        let ran = [1, 2].map(|n| server.ran(n));
        server.orb.shutdown(true).unwrap();
        match told {
            Ok(answer) => assert_eq!((answer, ran[0]), (2, 1)),
            Err(exception) => {
                assert_eq!(exception.kind, oxorb_object::SystemExceptionKind::Timeout);
                assert!(exception.completed != CompletionStatus::No || server.ran(1) == 0);
            }
        }
        assert!((1..=2).all(|n| server.ran(n) <= 1));
        assert_eq!(server.ran(3), 1);
        server.end();
    });
}

/// All connections break, at any stage of requests and answers.
#[test]
fn connections_that_break() {
    explore(|| {
        let server = ModelServer::start(Options::default());
        let client = super::client();
        let object = server.object(&client);
        let alone = object.clone();
        let shared = object.clone();
        let callers = [
            thread::spawn(move || [10, 11].map(|n| (n, run(&alone, n)))),
            thread::spawn(move || {
                let both = [20, 21].map(|n| (n, run_async(&shared, n)));
                both.map(|(n, reply)| (n, reply.wait()))
            }),
        ];
        server.orb.registry().cut();
        let told: Vec<_> = callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
        // Calls work again without a restart, at the latest once the client has detected the end of the shared
        // connection.
        let first = run_async(&object, 30).wait();
        if first.is_err() {
            assert_eq!(run_async(&object, 31).wait(), Ok(32));
        }
        client.shutdown(true).unwrap();
        server.orb.shutdown(true).unwrap();
        for (number, told) in told.into_iter().chain([(30, first)]) {
            assert_truth(told, number, server.ran(number));
        }
        server.end();
    });
}

/// Strategies in which all calls share a connection, which is read by a dedicated thread, or by the callers in turn.
const SHARED: [ClientConnections; 2] =
    [ClientConnections::Multiplexed, ClientConnections::LeaderFollowers];

fn sharing(client_connections: ClientConnections) -> Orb {
    super::client_with(Options { client_connections, ..Options::default() })
}

/// Each call gets its own answer. If callers read in turn, one that leaves always finds another one to lead.
fn calls_share_a_connection(client_connections: ClientConnections) {
    explore(move || {
        let server = ModelServer::start(Options::default());
        let client = sharing(client_connections);
        let object = server.object(&client);
        let callers: Vec<_> = [10, 20, 30]
            .into_iter()
            .map(|first| {
                let object = object.clone();
                thread::spawn(move || [first, first + 1].map(|n| (n, run(&object, n))))
            })
            .collect();
        for caller in callers {
            for (number, told) in caller.join().unwrap() {
                assert_eq!((told, server.ran(number)), (Ok(number + 1), 1));
            }
        }
        client.shutdown(true).unwrap();
        server.end();
    });
}

#[test]
fn callers_of_a_shared_connection() {
    calls_share_a_connection(ClientConnections::Multiplexed);
}

#[test]
fn callers_lead_and_follow() {
    calls_share_a_connection(ClientConnections::LeaderFollowers);
}

/// A caller that times out, possibly while it leads or was just made leader, leaves no caller waiting without end.
#[test]
fn a_caller_whose_time_is_over() {
    SHARED.into_iter().for_each(a_caller_gives_up);
}

fn a_caller_gives_up(client_connections: ClientConnections) {
    explore(move || {
        let server = ModelServer::start(Options::default());
        let client = sharing(client_connections);
        let object = server.object(&client);
        let forever = object.with_timeout(None);
        let hurried = object.with_timeout(Duration::from_micros(1));
        let patient: Vec<_> = [10, 20]
            .into_iter()
            .map(|n| {
                let object = forever.clone();
                thread::spawn(move || (n, run(&object, n)))
            })
            .collect();
        let late = run(&hurried, 1);
        for caller in patient {
            let (number, told) = caller.join().unwrap();
            assert_eq!((told, server.ran(number)), (Ok(number + 1), 1));
        }
        client.shutdown(true).unwrap();
        server.orb.shutdown(true).unwrap();
        assert_truth(late, 1, server.ran(1));
        server.end();
    });
}

/// Checks that all followers are notified if the connection breaks while a leader reads it.
#[test]
fn a_shared_connection_that_breaks() {
    SHARED.into_iter().for_each(a_connection_breaks);
}

fn a_connection_breaks(client_connections: ClientConnections) {
    explore(move || {
        let server = ModelServer::start(Options::default());
        let client = sharing(client_connections);
        let object = server.object(&client).with_timeout(None);
        let callers: Vec<_> = [10, 20, 30]
            .into_iter()
            .map(|n| {
                let object = object.clone();
                thread::spawn(move || (n, run(&object, n)))
            })
            .collect();
        server.orb.registry().cut();
        let told: Vec<_> = callers.into_iter().map(|caller| caller.join().unwrap()).collect();
        client.shutdown(true).unwrap();
        server.orb.shutdown(true).unwrap();
        for (number, told) in told {
            assert_truth(told, number, server.ran(number));
        }
        server.end();
    });
}
