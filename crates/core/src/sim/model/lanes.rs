//! Servers whose connections share threads: each request is served once, whichever threads pass it on, and no thread
//! stays behind.

use shuttle::thread;

use super::*;
use crate::Concurrency;
use crate::error::raise;

fn options(concurrency: Concurrency) -> Options {
    Options { concurrency, ..Options::default() }
}

/// Makes two calls from each of three callers, on separate connections or over a shared one.
fn every_call_gets_its_answer(concurrency: Concurrency) {
    for shared in [false, true] {
        explore(move || {
            let server = ModelServer::start(options(concurrency));
            let client = super::client();
            let object = server.object(&client);
            let callers: Vec<_> = [10, 20, 30]
                .into_iter()
                .map(|first| {
                    let object = object.clone();
                    thread::spawn(move || {
                        [first, first + 1].map(|n| match shared {
                            true => (n, run_async(&object, n).wait()),
                            false => (n, run(&object, n)),
                        })
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
}

/// Checks that the other threads follow, whether the leading thread stays with its connection, leaves it, or is needed
/// elsewhere.
#[test]
fn threads_of_a_lane_lead_and_follow() {
    every_call_gets_its_answer(Concurrency::LeaderFollowers { threads: 2 });
}

#[test]
fn one_thread_for_all_connections() {
    every_call_gets_its_answer(Concurrency::Reactive);
}

#[test]
fn a_reader_hands_requests_to_workers() {
    every_call_gets_its_answer(Concurrency::WorkerPool { threads: 2, queue: 8 });
}

#[test]
fn a_reader_starts_a_thread_for_each_request() {
    every_call_gets_its_answer(Concurrency::ThreadPerRequest { threads: 8 });
}

/// Checks that requests beyond the queue are refused and not run, and that requests within it are run and not refused.
#[test]
fn a_queue_that_is_full() {
    for concurrency in [
        Concurrency::WorkerPool { threads: 1, queue: 1 },
        Concurrency::ThreadPerRequest { threads: 1 },
    ] {
        let full = match concurrency {
            Concurrency::WorkerPool { .. } => raise::REQUESTS_BUFFERED,
            _ => raise::NO_SERVING_THREAD,
        };
        explore(move || {
            let server = ModelServer::start(options(concurrency));
            let client = super::client();
            let object = server.object(&client);
            let calls: Vec<_> = (1..5).map(|n| (n, run_async(&object, n))).collect();
            for (number, reply) in calls {
                let told = reply.wait();
                assert_certain(told, number, server.ran(number));
                assert!(told.is_ok() || told == Err(full), "{told:?}");
            }
            client.shutdown(true).unwrap();
            server.end();
        });
    }
}

/// Checks that the last thread closes the connection if the server ends while one thread reads requests and others
/// serve them.
#[test]
fn a_server_ends_while_requests_are_handed_on() {
    for concurrency in [
        Concurrency::WorkerPool { threads: 2, queue: 8 },
        Concurrency::ThreadPerRequest { threads: 8 },
        Concurrency::LeaderFollowers { threads: 2 },
    ] {
        explore(move || {
            let server = ModelServer::start(options(concurrency));
            let client = super::client();
            let object = server.object(&client);
            let asynchronous = object.clone();
            let callers = [
                thread::spawn(move || [1, 2].map(|n| (n, run(&object, n)))),
                thread::spawn(move || {
                    let both = [3, 4].map(|n| (n, run_async(&asynchronous, n)));
                    both.map(|(n, reply)| (n, reply.wait()))
                }),
            ];
            server.orb.shutdown(true).unwrap();
            let ran = server.ran_in_all();
            for caller in callers {
                for (number, told) in caller.join().unwrap() {
                    assert_certain(told, number, server.ran(number));
                }
            }
            assert_eq!(server.ran_in_all(), ran, "something ran after the end");
            client.shutdown(true).unwrap();
            server.end();
        });
    }
}

/// Checks that requests in the queue of a lane that ends are served, that no further ones are accepted, and that its
/// threads end.
#[test]
fn a_lane_ends_with_requests_in_its_queue() {
    explore(|| {
        let server = ModelServer::start(options(Concurrency::WorkerPool { threads: 1, queue: 8 }));
        let client = super::client();
        let object = server.object(&client);
        let calls: Vec<_> = (1..4).map(|n| (n, run_async(&object, n))).collect();
        let lane = server.lane.clone().expect("a lane");
        let stopping = thread::spawn(move || lane.stop());
        for (number, reply) in calls {
            let told = reply.wait();
            assert_certain(told, number, server.ran(number));
        }
        stopping.join().unwrap();
        client.shutdown(true).unwrap();
        server.end();
    });
}
