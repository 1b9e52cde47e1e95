//! Failures as callers see them when servers die, close, hang or misbehave: the right exception,
//! the right completion status, and a working next call.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use oxorb::client::Failure;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Outcome, Servant, SystemException, SystemExceptionKind,
    Upcall, minor,
};
use oxorb_cdr::Encode as _;
use oxorb_giop::ReplyStatus;
use oxorb_object::TaggedComponent;
use oxorb_object::components::orb_type;
use oxorb_testkit::hostile::Attack;
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::child::Child;
use crate::common::fake::{FakeServer, Received, ior_at, ior_with, played, reply};
use crate::common::peer::form;
use crate::common::transport::{anywhere, free_place, url, wire};
use crate::common::*;

#[test]
fn a_server_killed_in_mid_call_is_comm_failure_maybe_and_the_next_call_reaches_its_successor() {
    only_over!(SOCKETS, "other processes do not reach memory");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        for sharing in UNSHARED {
            let place = free_place();
            let mut first = Child::start(&place.endpoint, concurrency);
            let client = client(sharing);
            let object = first.object(&client);
            assert_eq!(ping(&object, 1), Ok(2));
            thread::scope(|scope| {
                let running = scope.spawn(|| call(&object, &HANG));
                until_hanging(&object);
                first.process.kill();
                assert_raised(
                    running.join().unwrap().unwrap_err(),
                    SystemExceptionKind::CommFailure,
                    CompletionStatus::Maybe,
                );
            });
            assert_raised(
                ping(&object, 1).unwrap_err(),
                SystemExceptionKind::Transient,
                CompletionStatus::No,
            );
            let _second = Child::start(&place.endpoint, concurrency);
            assert_eq!(ping(&object, 1), Ok(2), "{sharing:?}");
            client.shutdown(true).unwrap();
        }
    }
}

/// Each thread with connections of its own detects the restart.
#[test]
fn a_restart_between_calls_costs_no_exception() {
    only_over!(SOCKETS, "other processes do not reach memory");
    let _guard = watchdog(2 * LONG);
    for sharing in EVERY_SHARING {
        let place = free_place();
        let mut server = Child::start(&place.endpoint, Concurrency::ThreadPerConnection);
        let client = wary_client(sharing);
        let object = server.object(&client);
        for _ in 0..3 {
            assert_eq!(ping(&object, 1), Ok(2), "{sharing:?}");
            assert_eq!(ping_async(&object, 1).wait(), Ok(2), "{sharing:?}");
            server.process.kill();
            server = Child::start(&place.endpoint, Concurrency::ThreadPerConnection);
        }
        assert_eq!(ping(&object, 1), Ok(2));
        client.shutdown(true).unwrap();
    }
}

#[test]
fn a_connection_closed_while_idle_costs_no_exception() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        for in_order in [true, false] {
            let client = wary_client(sharing);
            let closed = Barrier::new(2);
            let answers = played(
                |server| {
                    let mut idle = server.accept();
                    let id = idle.request();
                    idle.answer(id, 1);
                    if in_order {
                        idle.close_connection();
                    }
                    drop(idle);
                    closed.wait();
                    let mut fresh = server.accept();
                    let id = fresh.request();
                    fresh.answer(id, 2);
                },
                |server| {
                    let object = server.object(&client);
                    let first = ping(&object, 0);
                    closed.wait();
                    (first, ping(&object, 0))
                },
            );
            assert_eq!(answers, (Ok(1), Ok(2)), "{sharing:?}, in order: {in_order}");
            client.shutdown(true).unwrap();
        }
    }
}

#[test]
fn a_request_the_server_promises_not_to_have_run_is_sent_again() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let client = client(sharing);
        let answers = played(
            |server| {
                let mut connection = server.accept();
                connection.answer_next(1);
                connection.request();
                connection.close_connection();
                drop(connection);
                let mut fresh = server.accept();
                let id = fresh.request();
                fresh.answer(id, 2);
            },
            |server| {
                let object = server.object(&client);
                (ping(&object, 0), ping(&object, 0))
            },
        );
        assert_eq!(answers, (Ok(1), Ok(2)), "{sharing:?}");
        client.shutdown(true).unwrap();
    }
}

#[test]
fn a_request_that_may_have_run_is_not_sent_again() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let client = client(sharing);
        let lost = played(
            |server| {
                let mut connection = server.accept();
                connection.answer_next(1);
                // Receive the request, and close the connection without a reply.
                connection.request();
            },
            |server| {
                let object = server.object(&client);
                assert_eq!(ping(&object, 0), Ok(1));
                ping(&object, 0).unwrap_err()
            },
        );
        assert_raised(lost, SystemExceptionKind::CommFailure, CompletionStatus::Maybe);
        client.shutdown(true).unwrap();
    }
}

/// A server that closes every new connection is not retried without end.
#[test]
fn a_new_connection_that_is_closed_in_order_is_transient() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let refused = played(
        |server| {
            let mut connection = server.accept();
            connection.request();
            connection.close_connection();
        },
        |server| ping(&server.object(&client), 0).unwrap_err(),
    );
    assert_raised(refused, SystemExceptionKind::Transient, CompletionStatus::No);
    assert_eq!(refused.minor, minor::transient::CONNECTION_CLOSED);
}

/// Makes a call that is answered with 1, and one that times out over the connection which the first
/// call opened.
fn late_over_an_open_connection(object: &ObjectRef) -> SystemException {
    assert_eq!(ping(object, 0), Ok(1));
    let hurried = object.with_timeout(SHORT);
    timed_out(|| ping(&hurried, 0))
}

#[test]
fn a_server_that_never_answers_is_timeout_maybe_and_is_told() {
    let _guard = watchdog(LONG);
    at_once(UNSHARED, |sharing| {
        let client = client(sharing);
        let late = played(
            |server| {
                let mut connection = server.accept();
                connection.answer_next(1);
                let id = connection.request();
                assert_eq!(connection.receive(), Received::Cancel(id));
                assert_eq!(connection.receive(), Received::End);
            },
            |server| late_over_an_open_connection(&server.object(&client)),
        );
        assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
        assert_eq!(late.minor, minor::timeout::AWAITING_REPLY);
        client.shutdown(true).unwrap();
    });
}

#[test]
fn an_answer_that_trickles_in_does_not_stretch_the_time() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let late = played(
        |server| {
            let mut connection = server.accept();
            connection.answer_next(1);
            let id = connection.request();
            let octets = reply(id, ReplyStatus::NO_EXCEPTION, |e| {
                e.copy_octets(&[0; 4000]);
                Ok(())
            });
            for octet in octets {
                if connection.try_send(&[octet]).is_err() {
                    return;
                }
                thread::sleep(Duration::from_millis(5));
            }
            panic!("the client waited for all of it");
        },
        |server| late_over_an_open_connection(&server.object(&client)),
    );
    assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
}

#[test]
fn a_time_limit_of_nothing_is_over_before_the_call() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    played(
        |server| {
            let mut connection = server.accept();
            for number in [1, 2] {
                connection.answer_next(number);
            }
        },
        |server| {
            let object = server.object(&client);
            assert_eq!(ping(&object, 0), Ok(1));
            let late = ping(&object.with_timeout(Duration::ZERO), 0).unwrap_err();
            assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::No);
            assert_eq!(ping(&object, 0), Ok(2), "the connection is as good as before");
        },
    );
}

#[test]
fn a_time_limit_beyond_all_clocks_is_none() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let object = pinger(&server, &client).with_timeout(Duration::MAX);
    assert_eq!(ping(&object, 1), Ok(2));
    assert_eq!(ping_async(&object, 1).wait(), Ok(2));
    server.shutdown(true).unwrap();
}

#[test]
fn a_refused_connection_is_transient_no_and_each_endpoint_is_named() {
    let client = client(ClientConnections::Cached);
    let (one, two) = (free_place().address, free_place().address);
    let url = url(&[&one, &two], "nobody");
    let object = client.string_to_object(&url).unwrap();
    let calls: [&dyn Fn() -> SystemException; 3] = [
        &|| ping(&object, 1).unwrap_err(),
        &|| ping_async(&object, 1).wait().unwrap_err(),
        &|| object.reference().send(&NOTE, |_| Ok(())).unwrap_err(),
    ];
    for call in calls {
        let raised = call();
        assert_raised(raised, SystemExceptionKind::Transient, CompletionStatus::No);
        let failure = Failure::of(&raised).unwrap();
        let tried: Vec<_> =
            failure.attempts.iter().map(|attempt| attempt.endpoint.clone()).collect();
        assert_eq!(tried, [one.for_people(), two.for_people()]);
        assert!(nobody_listens(&failure.to_string()), "{failure}");
    }
}

/// Servant whose calls fail with an exception that it received itself.
struct PassesOn(SystemException);

impl Servant for PassesOn {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        upcall.fail(self.0)
    }
}

#[test]
fn an_exception_of_an_object_that_was_reached_has_no_attempts() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Cached);
    let nobody = client.string_to_object(&url(&[&free_place().address], "nobody")).unwrap();
    let unreachable = ping(&nobody, 1).unwrap_err();
    let servant = Arc::new(PassesOn(unreachable));
    let reference = server.root_poa().activate_servant(servant).unwrap();
    let passed_on = ping(&elsewhere(&client, &reference), 1).unwrap_err();
    assert_eq!(passed_on, unreachable);
    assert!(Failure::of(&passed_on).is_none());
    assert!(Failure::of(&unreachable).is_some());
    server.shutdown(true).unwrap();
}

#[test]
fn a_oneway_to_a_server_that_died_is_no_surprise() {
    only_over!(SOCKETS, "other processes do not reach memory");
    let _guard = watchdog(LONG);
    let mut server = Child::start(&anywhere(), Concurrency::ThreadPerConnection);
    let client = wary_client(ClientConnections::Private);
    let object = server.object(&client);
    assert_eq!(ping(&object, 1), Ok(2));
    server.process.kill();
    let raised = object.reference().send(&NOTE, |_| Ok(())).unwrap_err();
    assert_raised(raised, SystemExceptionKind::Transient, CompletionStatus::No);
}

#[test]
fn a_late_answer_to_another_call_is_passed_over() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let client = client(sharing);
        let play = |server: &FakeServer| {
            let mut connection = server.accept();
            let id = connection.request();
            connection.answer(id + 100, 1);
            connection.answer(id, 2);
        };
        let answer = played(play, |server| ping(&server.object(&client), 0));
        assert_eq!(answer, Ok(2), "{sharing:?}");
        let answer = played(play, |server| ping_async(&server.object(&client), 0).wait());
        assert_eq!(answer, Ok(2));
        client.shutdown(true).unwrap();
    }
}

#[test]
fn a_reply_that_is_none_is_a_clear_exception() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let answered = |octets: fn(u32) -> Vec<u8>| {
        let play = move |server: &FakeServer| {
            for _ in 0..2 {
                let mut connection = server.accept();
                let id = connection.request();
                connection.send(&octets(id));
                assert_eq!(connection.receive(), Received::End);
            }
        };
        played(play, |server| {
            let object = server.object(&client);
            let asynchronous = ping_async(&object, 0).wait().unwrap_err();
            let synchronous = ping(&object, 0).unwrap_err();
            assert_eq!(synchronous, asynchronous);
            let address = server.address().for_people().to_owned();
            for text in [synchronous, asynchronous].map(|it| it.to_string()) {
                assert!(text.contains(&address), "{text}");
                assert_eq!(text.contains("limit on this side"), text.contains("IMP_LIMIT"));
            }
            synchronous
        })
    };
    let broken = SystemExceptionKind::CommFailure;
    for octets in [
        (|_| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()) as fn(u32) -> Vec<u8>,
        |_| form().message(1, 2, b"ab"),
        |_| Attack::UnknownVersion.octets_in(form()),
    ] {
        let raised = answered(octets);
        assert_raised(raised, broken, CompletionStatus::Maybe);
        assert_eq!(raised.minor, minor::comm_failure::PROTOCOL_VIOLATION);
    }
    // A message that exceeds only a limit of this side is not a fault of the peer, and raises
    // IMP_LIMIT.
    let raised = answered(|_| form().message(1, 0x7fff_ffff, &[]));
    assert_raised(raised, SystemExceptionKind::ImpLimit, CompletionStatus::Maybe);
    assert_eq!(raised.minor, minor::imp_limit::RECEIVED_TOO_LARGE);
    let raised = answered(|_| wire().error().expect("all have it").to_vec());
    assert_raised(raised, broken, CompletionStatus::Maybe);
    assert_eq!(raised.minor, minor::comm_failure::MESSAGE_ERROR);
}

/// A minor code with the OMG's vendor id does not identify the ORB that raised it; the reference
/// does (P6).
#[test]
fn an_exception_with_a_code_of_the_omg_names_the_orb_that_raised_it() {
    let _guard = watchdog(LONG);
    let told = |made_by: u32, minor: u32| {
        let client = client(ClientConnections::Private);
        let play = move |server: &FakeServer| {
            let raised = SystemException::no_response(minor, CompletionStatus::No);
            let answered = [(); 2].map(|()| {
                let mut connection = server.accept();
                let id = connection.request();
                let octets = reply(id, ReplyStatus::SYSTEM_EXCEPTION, |e| {
                    e.string(raised.repository_id())?;
                    e.ulong(raised.minor);
                    e.ulong(raised.completed as u32);
                    Ok(())
                });
                connection.send(&octets);
                connection
            });
            for mut connection in answered {
                while connection.receive() != Received::End {}
            }
        };
        let texts = played(play, |server| {
            let made_by = vec![TaggedComponent::orb_type(made_by)];
            let ior = ior_with(&server.address(), made_by);
            let object = client.string_to_object(&ior.to_string()).unwrap();
            let texts = [
                ping_async(&object, 0).wait().unwrap_err().to_string(),
                ping(&object, 0).unwrap_err().to_string(),
            ];
            client.shutdown(true).unwrap();
            texts
        });
        assert_eq!(texts[0], texts[1]);
        texts[1].clone()
    };
    assert_eq!(
        told(orb_type::JACORB, minor::OMG | 99),
        "NO_RESPONSE (minor OMG 99: the OMG has not assigned this code to NO_RESPONSE), completed NO; raised by JacORB, \
         which defines its own meaning of the code"
    );
    assert_eq!(
        told(0x1234_5678, minor::OMG | 99),
        "NO_RESPONSE (minor OMG 99: the OMG has not assigned this code to NO_RESPONSE), completed NO"
    );
    assert_eq!(told(orb_type::TAO, minor::OMG), "NO_RESPONSE (minor OMG 0), completed NO");
    assert_eq!(
        told(orb_type::OMNIORB, minor::TAO),
        "NO_RESPONSE (minor TAO 0: no place stated, no error number), completed NO"
    );
}

/// The message is well-formed, so the connection stays open; only the result is not.
#[test]
fn a_result_that_cannot_be_decoded_is_marshal_yes_and_the_connection_lives_on() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    played(
        |server| {
            let mut connection = server.accept();
            for _ in 0..2 {
                let id = connection.request();
                connection.reply(id, ReplyStatus::NO_EXCEPTION, |e| {
                    e.short(1);
                    Ok(())
                });
            }
            connection.answer_next(1);
        },
        |server| {
            let object = server.object(&client);
            for _ in 0..2 {
                let raised = ping(&object, 0).unwrap_err();
                assert_raised(raised, SystemExceptionKind::Marshal, CompletionStatus::Yes);
            }
            assert_eq!(ping(&object, 0), Ok(1));
        },
    );
    client.shutdown(true).unwrap();
}

#[test]
fn a_forward_in_a_circle_ends() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let raised = played(
        |server| {
            let itself = ior_at(&server.address());
            let mut connection = server.accept();
            while let Received::Request(id, ..) = connection.receive() {
                connection.reply(id, ReplyStatus::LOCATION_FORWARD, |e| itself.encode(e));
            }
        },
        |server| {
            let raised = ping(&server.object(&client), 0).unwrap_err();
            client.shutdown(true).unwrap();
            raised
        },
    );
    assert_raised(raised, SystemExceptionKind::Transient, CompletionStatus::No);
    assert_eq!(raised.minor, minor::transient::FORWARD_LOOP);
}

#[test]
fn a_forward_to_where_nobody_is_falls_back_to_the_original() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let client = client(sharing);
        let nowhere = ior_at(&free_place().address);
        played(
            |server| {
                let mut connection = server.accept();
                // Forward the first call to an address without listener. It returns to the original
                // address, where it is answered.
                let id = connection.request();
                connection.reply(id, ReplyStatus::LOCATION_FORWARD, |e| nowhere.encode(e));
                connection.answer_next(1);
                // Forward the second call to an address without listener twice. It fails, instead
                // of being repeated without end.
                for _ in 0..2 {
                    let id = connection.request();
                    connection.reply(id, ReplyStatus::LOCATION_FORWARD, |e| nowhere.encode(e));
                }
                // The next call starts at the original address again.
                connection.answer_next(2);
            },
            |server| {
                let object = server.object(&client);
                assert_eq!(ping(&object, 0), Ok(1));
                let raised = ping(&object, 0).unwrap_err();
                assert_raised(raised, SystemExceptionKind::Transient, CompletionStatus::No);
                assert_eq!(raised.minor, minor::transient::CONNECT_FAILED);
                assert_eq!(ping(&object, 0), Ok(2));
            },
        );
        client.shutdown(true).unwrap();
    }
}

#[test]
fn a_forward_target_that_dies_falls_back_to_the_original() {
    let _guard = watchdog(LONG);
    let client = wary_client(ClientConnections::Private);
    let died = Barrier::new(2);
    let target = FakeServer::start();
    let there = ior_at(&target.address());
    played(
        |server| {
            let mut connection = server.accept();
            let id = connection.request();
            connection.reply(id, ReplyStatus::LOCATION_FORWARD, |e| there.encode(e));
            let mut forwarded = target.accept();
            let id = forwarded.request();
            forwarded.answer(id, 1);
            drop((forwarded, target));
            died.wait();
            connection.answer_next(2);
        },
        |server| {
            let object = server.object(&client);
            assert_eq!(ping(&object, 0), Ok(1));
            died.wait();
            assert_eq!(ping(&object, 0), Ok(2));
        },
    );
    client.shutdown(true).unwrap();
}

#[test]
fn the_addressing_a_server_asks_for_is_used_from_then_on() {
    only_over!(GIOP, "other messagings name objects by their keys only");
    let _guard = watchdog(LONG);
    for mode in [1, 2] {
        let client = client(ClientConnections::Private);
        played(
            |server| {
                let mut connection = server.accept();
                let id = connection.request();
                connection.reply(id, ReplyStatus::NEEDS_ADDRESSING_MODE, |e| {
                    e.short(mode);
                    Ok(())
                });
                for answer in [1, 2] {
                    let Received::Request(id, operation, addressing) = connection.receive() else {
                        panic!("no request");
                    };
                    assert_eq!((operation.as_str(), addressing), ("ping", mode as u16));
                    connection.answer(id, answer);
                }
                // Ask for the addressing mode that is already in use. The call fails, because
                // repeating it would never end.
                let id = connection.request();
                connection.reply(id, ReplyStatus::NEEDS_ADDRESSING_MODE, |e| {
                    e.short(mode);
                    Ok(())
                });
            },
            |server| {
                let object = server.object(&client);
                assert_eq!(ping(&object, 0), Ok(1));
                assert_eq!(ping(&object, 0), Ok(2));
                assert_eq!(ping(&object, 0).unwrap_err().kind, SystemExceptionKind::Transient);
            },
        );
        client.shutdown(true).unwrap();
    }
}

#[test]
fn two_orbs_in_one_process_have_nothing_in_common() {
    let _guard = watchdog(LONG);
    let (one, two) = (
        server(Concurrency::ThreadPerConnection),
        server(Concurrency::LeaderFollowers { threads: 2 }),
    );
    let (at_one, at_two) = (pinger(&one, &two), pinger(&two, &one));
    assert_ne!(address(&at_one), address(&at_two));
    assert_eq!(ping(&at_one, 1), Ok(2));
    assert_eq!(ping(&at_two, 1), Ok(2));
    one.shutdown(true).unwrap();
    assert_raised(
        ping(&at_one, 1).unwrap_err(),
        SystemExceptionKind::Transient,
        CompletionStatus::No,
    );
    // A call through a reference of the ORB that was shut down fails. Another ORB can call the same
    // object.
    assert_raised(
        ping(&at_two, 1).unwrap_err(),
        SystemExceptionKind::BadInvOrder,
        CompletionStatus::No,
    );
    let third = client(ClientConnections::Private);
    let object = third.string_to_object(&at_two.reference().to_string()).unwrap();
    assert_eq!(ping(&object, 1), Ok(2));
    two.shutdown(true).unwrap();
}

#[test]
fn waiting_for_the_end_from_within_a_request_is_refused() {
    let _guard = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = server(concurrency);
        let client = client(ClientConnections::Private);
        let object = pinger(&server, &client);
        let raised = call(&object, &STOP).unwrap_err();
        assert_raised(raised, SystemExceptionKind::BadInvOrder, CompletionStatus::No);
        assert_eq!(raised.minor, minor::bad_inv_order::WOULD_DEADLOCK);
        assert_eq!(ping(&object, 1), Ok(2), "nothing was shut down");
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

#[test]
fn the_end_of_an_orb_ends_the_calls_that_wait() {
    let _guard = watchdog(LONG);
    // With these strategies, the synchronous and the asynchronous call use two connections.
    for sharing in UNSHARED.into_iter().chain([ClientConnections::LeaderFollowers]) {
        let client = client(sharing);
        played(
            |server| {
                let mut one = server.accept();
                one.request();
                let mut two = server.accept();
                two.request();
                client.shutdown(true).unwrap();
                assert_eq!(one.receive(), Received::End);
                assert_eq!(two.receive(), Received::End);
            },
            |server| {
                let object = server.object(&client);
                thread::scope(|scope| {
                    let waiting = scope.spawn(|| ping(&object, 0));
                    let raised = ping_async(&object, 0).wait().unwrap_err();
                    assert_eq!(raised.kind, SystemExceptionKind::CommFailure);
                    let raised = waiting.join().unwrap().unwrap_err();
                    assert_raised(
                        raised,
                        SystemExceptionKind::CommFailure,
                        CompletionStatus::Maybe,
                    );
                });
            },
        );
    }
}

/// A thread's private connections of shut-down ORBs are dropped when the thread opens its next
/// connection.
#[test]
fn private_connections_of_orbs_that_ended_do_not_pile_up() {
    only_over!(SOCKETS, "sockets of the process are counted");
    let _guard = watchdog(LONG);
    if !alone(private_connections_of_orbs_that_ended_do_not_pile_up) {
        return;
    }
    let server = server(Concurrency::ThreadPerConnection);
    for _ in 0..20 {
        let client = client(ClientConnections::Private);
        assert_eq!(ping(&pinger(&server, &client), 1), Ok(2));
        client.shutdown(true).unwrap();
    }
    // Wait until only the listener and the last connection remain, because the server closes its
    // ends asynchronously.
    while sockets() > 2 {
        thread::sleep(Duration::from_millis(5));
    }
    server.shutdown(true).unwrap();
}

/// An ORB that fails to listen releases its resources.
#[test]
fn an_orb_that_cannot_listen_leaves_nothing_behind() {
    let _guard = watchdog(LONG);
    if !alone(an_orb_that_cannot_listen_leaves_nothing_behind) {
        return;
    }
    let place = free_place();
    let _taken = FakeServer::start_at(&place.endpoint);
    let endpoints = format!("{};{}", anywhere(), place.endpoint);
    let before = sockets();
    for concurrency in EVERY_CONCURRENCY {
        let threads = entries("/proc/self/task");
        let failed = common::transport::builder()
            .listen(&endpoints)
            .concurrency(concurrency)
            .build()
            .unwrap_err();
        let taken = place.address.place();
        assert!(failed.to_string().contains(taken), "{failed}");
        assert_eq!(sockets(), before, "{concurrency:?}");
        assert_eq!(entries("/proc/self/task"), threads, "{concurrency:?}");
    }
}

/// Returns the number of entries of a directory.
fn entries(path: &str) -> usize {
    std::fs::read_dir(path).unwrap().count()
}

/// Returns the number of open sockets of this process.
fn sockets() -> usize {
    std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter(|link| link.to_string_lossy().starts_with("socket:"))
        .count()
}

/// References may be decoded outside of any call, by a decoder without ORB.
#[test]
fn a_reference_without_an_orb_is_an_error_and_no_panic() {
    use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encoder, ErrorKind};
    let ior = ior_at(&free_place().address);
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, Dialect::new(2));
    ior.encode(&mut e).unwrap();
    let octets = e.finish().to_vec();
    let mut d = Decoder::new(&octets, ByteOrder::NATIVE, Dialect::new(2));
    let error = oxorb::__gen::decode_ref::<ObjectRef>(&mut d).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoScope);
}
