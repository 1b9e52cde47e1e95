//! Asynchronous calls when servers die, close, hang or misbehave.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread;

use oxorb::__gen::Op;
use oxorb::policy::Retry;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, SystemException, SystemExceptionKind, minor,
};
use oxorb_cdr::{Encode as _, Encoder};
use oxorb_giop::ReplyStatus;
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::child::Child;
use crate::common::fake::{FakeServer, Received, ior_at, played, reply};
use crate::common::transport::{free_place, url, wire};
use crate::common::*;

fn hang_async(object: &ObjectRef) -> oxorb::client::AsyncReply<(), SystemException> {
    object.reference().invoke_async(&HANG, |_| Ok(()), |_| Ok(()))
}

#[test]
fn an_asynchronous_call_to_a_killed_server_fails_and_the_next_one_works() {
    only_over!(SOCKETS, "other processes do not reach memory");
    let _guard = watchdog(2 * LONG);
    let place = free_place();
    let mut first = Child::start(&place.endpoint, Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let object = first.object(&client);
    assert_eq!(ping_async(&object, 1).wait(), Ok(2));
    let running = hang_async(&object);
    until_hanging(&object);
    first.process.kill();
    assert_raised(
        running.wait().unwrap_err(),
        SystemExceptionKind::CommFailure,
        CompletionStatus::Maybe,
    );
    assert_raised(
        ping_async(&object, 1).wait().unwrap_err(),
        SystemExceptionKind::Transient,
        CompletionStatus::No,
    );
    let _second = Child::start(&place.endpoint, Concurrency::ThreadPerConnection);
    assert_eq!(ping_async(&object, 1).wait(), Ok(2));
    client.shutdown(true).unwrap();
}

#[test]
fn an_asynchronous_call_closed_in_order_is_sent_again() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let answer = played(
        |server| {
            let mut connection = server.accept();
            connection.request();
            connection.close_connection();
            drop(connection);
            let mut fresh = server.accept();
            let id = fresh.request();
            fresh.answer(id, 2);
        },
        |server| ping_async(&server.object(&client), 1).wait(),
    );
    assert_eq!(answer, Ok(2));
    client.shutdown(true).unwrap();
}

#[test]
fn an_asynchronous_call_closed_in_order_each_time_is_transient() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let answer = played(
        |server| {
            for _ in 0..4 {
                let mut connection = server.accept();
                connection.request();
                connection.close_connection();
            }
        },
        |server| ping_async(&server.object(&client), 0).wait(),
    );
    assert_raised(answer.unwrap_err(), SystemExceptionKind::Transient, CompletionStatus::No);
    client.shutdown(true).unwrap();
}

#[test]
fn an_asynchronous_call_times_out_even_while_the_connection_is_busy() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    played(
        |server| {
            let mut connection = server.accept();
            connection.answer_next(1);
            let unanswered = connection.request();
            // Send replies with an unknown request id, without a pause, until the client closes the connection.
            let noise = reply(unanswered + 1, ReplyStatus::NO_EXCEPTION, |_| Ok(()));
            while connection.try_send(&noise).is_ok() {}
        },
        |server| {
            let object = server.object(&client);
            assert_eq!(ping_async(&object, 0).wait(), Ok(1));
            let hurried = object.with_timeout(SHORT);
            let late = timed_out(|| ping_async(&hurried, 0).wait());
            assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
            client.shutdown(true).unwrap();
        },
    );
}

/// The client reads replies while it writes, so that it does not deadlock with a server that reads only after its
/// replies are read.
#[test]
fn the_reader_of_asynchronous_answers_never_waits_for_a_writer() {
    const ANSWERS: i64 = 8;
    static STORE: Op = Op::twoway("store");
    let _guard = watchdog(LONG);
    // The request is larger than all socket buffers, so that its write blocks until the server reads.
    let octets = vec![7u8; 32 << 20];
    // Set no time limit, which would end a deadlock and so hide it.
    let client = common::transport::builder().round_trip_timeout(None).build().unwrap();
    played(
        |server| {
            let mut connection = server.accept();
            let asked: Vec<u32> = (0..ANSWERS).map(|_| connection.request()).collect();
            // Wait until the client has begun to write the large request, which it cannot finish before the server
            // reads it.
            connection.await_beginning();
            for id in asked {
                connection.reply(id, ReplyStatus::NO_EXCEPTION, |e| {
                    e.longlong(1);
                    e.copy_octets(&octets[..8 << 20]);
                    Ok(())
                });
            }
            let id = connection.request();
            connection.reply(id, ReplyStatus::NO_EXCEPTION, |_| Ok(()));
        },
        |server| {
            let object = server.object(&client);
            let asked: Vec<_> = (0..ANSWERS).map(|n| ping_async(&object, n)).collect();
            let stored: oxorb::client::AsyncReply<(), SystemException> =
                object.reference().invoke_async(
                    &STORE,
                    |e| {
                        e.copy_octets(&octets);
                        Ok(())
                    },
                    |_| Ok(()),
                );
            for reply in asked {
                assert_eq!(reply.wait(), Ok(1));
            }
            assert_eq!(stored.wait(), Ok(()));
            client.shutdown(true).unwrap();
        },
    );
}

#[test]
fn answers_nobody_waits_for_are_forgotten_and_make_room() {
    let _guard = watchdog(2 * LONG);
    let client = client(ClientConnections::Private);
    played(
        |server| {
            let mut connection = server.accept();
            let (mut requests, mut cancelled) = (0, 0);
            loop {
                match connection.receive() {
                    Received::Request(..) => requests += 1,
                    Received::Cancel(_) => cancelled += 1,
                    _ => break,
                }
            }
            assert_eq!(requests, 3000 + 1024, "all but one were sent");
            assert!(cancelled > 0, "the server is told, if that can be done at once");
        },
        |server| {
            let object = server.object(&client);
            // Drop more calls than a connection may have outstanding, which succeeds only if dropped calls are
            // deregistered.
            for n in 0..3000 {
                drop(ping_async(&object, n));
            }
            let kept: Vec<_> = (0..1024).map(|n| ping_async(&object, n)).collect();
            let refused = ping_async(&object, 0).wait().unwrap_err();
            assert_eq!(refused.minor, minor::transient::TOO_MANY_OUTSTANDING);
            assert_eq!(refused.completed, CompletionStatus::No);
            drop(kept);
            client.shutdown(true).unwrap();
        },
    );
}

#[test]
fn an_async_reply_is_a_future_that_wakes() {
    struct Flag(thread::Thread);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let object = pinger(&server, &client);
    let mut future = pin!(ping_async(&object, 1));
    let waker = Arc::new(Flag(thread::current())).into();
    let answer = loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(answer) => break answer,
            Poll::Pending => thread::park(),
        }
    };
    assert_eq!(answer, Ok(2));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn an_asynchronous_call_goes_on_to_where_it_is_sent() {
    only_over!(GIOP, "other messagings name objects by their keys only");
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let target = FakeServer::start();
    let there = ior_at(&target.address());
    played(
        |server| {
            let mut connection = server.accept();
            let id = connection.request();
            connection.reply(id, ReplyStatus::NEEDS_ADDRESSING_MODE, |e| {
                e.short(2);
                Ok(())
            });
            let Received::Request(id, _, addressing) = connection.receive() else {
                panic!("no request");
            };
            assert_eq!(addressing, 2);
            connection.reply(id, ReplyStatus::LOCATION_FORWARD, |e| there.encode(e));
            let mut forwarded = target.accept();
            let id = forwarded.request();
            forwarded.answer(id, 1);
        },
        |server| {
            let object = server.object(&client);
            assert_eq!(ping_async(&object, 0).wait(), Ok(1));
        },
    );
    client.shutdown(true).unwrap();
}

/// The arguments of a long call are not kept for another attempt, so the caller has to repeat the call.
#[test]
fn a_long_asynchronous_call_that_must_go_elsewhere_is_transient_and_the_next_one_goes_there() {
    static LENGTHY: Op = Op::twoway("lengthy");
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let target = FakeServer::start();
    let there = ior_at(&target.address());
    let long = vec![7; 100_000];
    played(
        |server| {
            let mut connection = server.accept();
            let id = connection.request();
            connection.reply(id, ReplyStatus::LOCATION_FORWARD, |e| there.encode(e));
            let mut forwarded = target.accept();
            let id = forwarded.request();
            forwarded.answer(id, 1);
        },
        |server| {
            let object = server.object(&client);
            let call = || {
                let reference = object.reference();
                let args = |e: &mut Encoder<'_>| {
                    e.copy_octets(&long);
                    Ok(())
                };
                let sent = reference
                    .invoke_async::<i64, SystemException>(&LENGTHY, args, |d| d.longlong());
                sent.wait()
            };
            let raised = call().unwrap_err();
            assert_raised(raised, SystemExceptionKind::Transient, CompletionStatus::No);
            assert_eq!(raised.minor, minor::transient::FORWARDED);
            assert_eq!(call(), Ok(1));
        },
    );
    client.shutdown(true).unwrap();
}

/// The encoding of arguments depends on their offset in the message, which in GIOPlite follows from the length of the
/// object key.
#[test]
fn arguments_that_are_sent_again_are_those_of_the_caller() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let servant = server.root_poa().activate_servant(Arc::new(Pinger::default()));
    let client = client(ClientConnections::Private);
    let names = ["n", "na", "nam", "name", "names", "namesa", "namesak", "namesake"];
    let at = servant.map(ObjectRef::from_ref).unwrap();
    for name in names {
        server.bind(name, &at);
        let there = url(&[&address(&at)], name);
        let there = client.string_to_object(&there).unwrap();
        let again = there.with(Retry::times(2));
        assert_eq!(ping_async(&again, 7).wait(), Ok(8), "kept for {name}");
        let answer = played(
            |player| {
                let mut connection = player.accept();
                let id = connection.request();
                let there = there.reference().ior();
                connection.reply(id, ReplyStatus::LOCATION_FORWARD, |e| there.encode(e));
            },
            |player| ping_async(&player.object(&client), 7).wait(),
        );
        // If the encodings for the two targets differ, the arguments cannot be sent again, and the caller has to repeat
        // the call.
        match answer {
            Err(raised) => {
                assert_raised(raised, SystemExceptionKind::Transient, CompletionStatus::No)
            }
            Ok(_) => assert_eq!(answer, Ok(8), "forwarded to {name}"),
        }
        assert_eq!(answer.is_ok(), wire().name() != "giop-lite" || name.len() <= 4, "{name}");
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn forwards_of_an_asynchronous_call_that_lead_in_a_circle_end() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    played(
        |server| {
            let here = ior_at(&server.address());
            let mut connection = server.accept();
            while let Received::Request(id, ..) = connection.receive() {
                connection.reply(id, ReplyStatus::LOCATION_FORWARD, |e| here.encode(e));
            }
        },
        |server| {
            let raised = ping_async(&server.object(&client), 0).wait().unwrap_err();
            assert_eq!(raised.minor, minor::transient::FORWARD_LOOP);
            client.shutdown(true).unwrap();
        },
    );
}

#[test]
fn an_orb_is_dropped_without_leaving_a_waiting_call() {
    let _guard = watchdog(LONG);
    let pending = played(
        |server| {
            let mut connection = server.accept();
            let id = connection.request();
            connection.answer(id, 1);
        },
        |server| {
            let client: Orb = client(ClientConnections::Private);
            ping_async(&server.object(&client), 0)
        },
    );
    assert_eq!(pending.wait(), Ok(1));
}

#[test]
fn answers_call_back_in_another_thread_whatever_they_are() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let object = pinger(&server, &client);
    let (answers, answered) = std::sync::mpsc::channel();
    for n in 0..100 {
        let answers = answers.clone();
        let asking = thread::current().id();
        ping_async(&object, n).then(move |answer| {
            assert_ne!(thread::current().id(), asking);
            answers.send(answer).unwrap();
            // A panic of one callback does not prevent the others.
            assert_ne!(n, 50, "as the test wants it");
        });
    }
    let mut seen: Vec<i64> = (0..100).map(|_| answered.recv().unwrap().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (1..=100).collect::<Vec<_>>());

    let running = hang_async(&object);
    let failed = answers.clone();
    running.then(move |answer| failed.send(answer.map(|()| 0)).unwrap());
    until_hanging(&object);
    client.shutdown(true).unwrap();
    assert!(answered.recv().unwrap().is_err(), "nobody waits forever");

    // After the shutdown of the ORB, a call fails at once.
    let late = answers.clone();
    ping_async(&object, 1).then(move |answer| late.send(answer).unwrap());
    assert!(answered.try_recv().unwrap().is_err());
}

#[test]
fn an_answer_is_asked_for_without_waiting() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let object = pinger(&server, &client);
    let mut reply = ping_async(&object, 1);
    while !reply.is_ready() {
        thread::yield_now();
    }
    assert!(reply.is_ready(), "asking takes nothing");
    assert_eq!(reply.wait(), Ok(2));
}
