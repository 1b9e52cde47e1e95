//! Asynchronous calls honour the policies that synchronous calls honour: times, retries, LocateRequests, connecting to
//! several endpoints at a time, rebinding.

use std::pin::pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use oxorb::client::{AsyncReply, Failure};
use oxorb::policy::{LocateFirst, PolicyCurrent, RebindMode, ReplyStartTime, Retry};
use oxorb::servant::ResponseHandler;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Outcome, Servant, SystemException, SystemExceptionKind,
    Upcall, minor,
};
use oxorb_cdr::{Encode as _, Encoder};
use oxorb_giop::{LocateStatus, ReplyStatus};
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::fake::{
    FakeConnection, FakeServer, Received, ior_at, ior_of, past_a_hole, played,
};
use crate::common::transport::{Place, free_place, url};
use crate::common::*;

const MS: Duration = Duration::from_millis(1);

fn quickly(times: u32) -> Retry {
    Retry { times, delay: MS, max_delay: 4 * MS }
}

/// Waits for a reply as an executor does, by polling it as a future.
fn awaited<T>(reply: AsyncReply<T, SystemException>) -> Result<T, SystemException> {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut reply = pin!(reply);
    loop {
        match reply.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => thread::park(),
        }
    }
}

/// Waits for a reply that a callback receives.
fn told<T: Send + 'static>(reply: AsyncReply<T, SystemException>) -> Result<T, SystemException> {
    let (sender, receiver) = channel();
    reply.then(move |answer| sender.send(answer).unwrap());
    receiver.recv().unwrap()
}

/// All ways to receive an answer.
const WAYS: [Way; 3] = [AsyncReply::wait, awaited, told];

type Way = fn(AsyncReply<i64, SystemException>) -> Result<i64, SystemException>;

#[test]
fn whoever_waits_gets_no_reply_before_its_start_time() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let object = pinger(&server, &client);
    for way in WAYS {
        let start = SystemTime::now() + 150 * MS;
        let held = ping_async(&object.with(ReplyStartTime(start)), 1);
        // A second call is answered at once, so the reply to the first one arrives long before its start time.
        assert_eq!(ping_async(&object, 1).wait(), Ok(2));
        assert_eq!(way(held), Ok(2));
        assert!(SystemTime::now() >= start);
    }
    let start = SystemTime::now() + 50 * MS;
    let mut asked = ping_async(&object.with(ReplyStartTime(start)), 1);
    while !asked.is_ready() {
        thread::sleep(MS);
    }
    assert!(SystemTime::now() >= start);
    assert_eq!(asked.wait(), Ok(2));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

fn refuse(connection: &mut FakeConnection, completed: CompletionStatus) {
    let id = connection.request();
    let refusal = SystemException::transient(1, completed);
    connection.reply(id, ReplyStatus::SYSTEM_EXCEPTION, |e| refusal.encode(e));
}

#[test]
fn a_call_that_did_not_run_is_repeated_as_often_as_policy_says() {
    let _guard = watchdog(LONG);
    for way in WAYS {
        let client = client(ClientConnections::Private);
        let results = played(
            |server| {
                let mut connection = server.accept();
                refuse(&mut connection, CompletionStatus::No); // the first call: not repeated
                for _ in 0..3 {
                    refuse(&mut connection, CompletionStatus::No);
                }
                connection.answer_next(7);
                for _ in 0..3 {
                    refuse(&mut connection, CompletionStatus::No); // the third: bounded
                }
                refuse(&mut connection, CompletionStatus::Maybe); // the fourth: may have run
                assert_eq!(connection.receive(), Received::End);
            },
            |server| {
                let object = server.object(&client);
                let results = [
                    way(ping_async(&object, 0)),
                    way(ping_async(&object.with(quickly(3)), 0)),
                    way(ping_async(&object.with(quickly(2)), 0)),
                    way(ping_async(&object.with(quickly(2)), 0)),
                ];
                client.shutdown(true).unwrap();
                results
            },
        );
        assert_eq!(results[1], Ok(7));
        for (index, status) in
            [(0, CompletionStatus::No), (2, CompletionStatus::No), (3, CompletionStatus::Maybe)]
        {
            let raised = results[index].unwrap_err();
            assert_raised(raised, SystemExceptionKind::Transient, status);
        }
    }
}

/// Even the first call of an object is repeated if nothing was sent. The caller continues meanwhile.
#[test]
fn a_server_that_starts_late_is_reached_by_repeating() {
    let _guard = watchdog(LONG);
    for way in WAYS {
        let client = client(ClientConnections::Private);
        let Place { endpoint, address } = free_place();
        let url = url(&[&address], "x");
        let object = client.string_to_object(&url).unwrap();
        let patient = Retry { times: u32::MAX, delay: MS, max_delay: 20 * MS };
        let mut calling = ping_async(&object.with(patient), 1);
        assert!(!calling.is_ready(), "it is tried again");
        let server = thread::spawn(move || {
            thread::sleep(50 * MS);
            let server = common::transport::builder().listen(&endpoint);
            let server = server.build().unwrap();
            let pinger = server.root_poa().activate_servant(Arc::new(Pinger::default()));
            server.bind("x", &ObjectRef::from_ref(pinger.unwrap()));
            server
        });
        // Repeat the call if the server already listens but has not bound the name yet.
        let mut answer = way(calling);
        while answer.is_err_and(|raised| raised.kind == SystemExceptionKind::ObjectNotExist) {
            answer = way(ping_async(&object.with(patient), 1));
        }
        assert_eq!(answer, Ok(2));
        client.shutdown(true).unwrap();
        server.join().unwrap().shutdown(true).unwrap();
    }
}

#[test]
fn repetitions_end_with_the_time_of_the_call_and_with_the_orb() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let object = client.string_to_object(&nowhere("x")).unwrap();
    let slowly = Retry { times: u32::MAX, delay: 10 * MS, max_delay: 10 * MS };
    let hurried = object.with(slowly).with_timeout(100 * MS);
    // Repeat a call that raises TIMEOUT, because on a loaded machine the time limit may expire before the first
    // attempt.
    let raised = std::iter::repeat_with(|| awaited(ping_async(&hurried, 0)).unwrap_err())
        .find(|raised| raised.kind != SystemExceptionKind::Timeout)
        .unwrap();
    assert_raised(raised, SystemExceptionKind::Transient, CompletionStatus::No);

    let for_ever = Retry { times: u32::MAX, delay: LONG / 2, max_delay: LONG / 2 };
    let (sender, answered) = channel();
    ping_async(&object.with(for_ever).with_timeout(10 * LONG), 0)
        .then(move |answer| sender.send(answer).unwrap());
    client.shutdown(true).unwrap();
    let raised = answered.recv().unwrap().unwrap_err();
    assert_eq!(raised.completed, CompletionStatus::No);
}

/// The policies of the calling thread apply in whichever thread the reply is received.
#[test]
fn the_callers_policies_hold_in_the_thread_that_is_told() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let answer = played(
        |server| {
            let mut connection = server.accept();
            refuse(&mut connection, CompletionStatus::No);
            connection.answer_next(7);
        },
        |server| {
            let object = server.object(&client);
            let calling = {
                let _scope = PolicyCurrent::scope(&client, quickly(1));
                ping_async(&object, 0)
            };
            told(calling)
        },
    );
    assert_eq!(answer, Ok(7));
    client.shutdown(true).unwrap();
}

#[test]
fn where_an_object_is_can_be_asked_before_the_request() {
    let _guard = watchdog(LONG);
    let other = FakeServer::start();
    let elsewhere_ior = ior_at(&other.address());
    let client = client(ClientConnections::Private);
    let answers = played(
        |server| {
            // Requests and LocateRequests have separate connections.
            let (_requests, mut questions) = (server.accept(), server.accept());
            let id = questions.locate();
            questions.locate_reply(id, LocateStatus::LOC_NEEDS_ADDRESSING_MODE, |e| {
                e.short(1);
                Ok(())
            });
            let id = questions.locate();
            questions.locate_reply(id, LocateStatus::OBJECT_FORWARD, |e| elsewhere_ior.encode(e));
            let (mut requests, mut questions) = (other.accept(), other.accept());
            let id = questions.locate();
            questions.locate_reply(id, LocateStatus::OBJECT_HERE, |_| Ok(()));
            for number in [1, 2] {
                let id = requests.request();
                requests.answer(id, number);
            }
        },
        |server| {
            let object = server.object(&client).with(LocateFirst::Always);
            (ping_async(&object, 0).wait(), ping_async(&object, 0).wait())
        },
    );
    assert_eq!(answers, (Ok(1), Ok(2)), "asked once");

    let refused = played(
        |server| {
            let mut requests = server.accept();
            // The first request is short enough to be sent without a LocateRequest.
            let id = requests.request();
            requests.answer(id, 1);
            let mut questions = server.accept();
            let id = questions.locate();
            questions.locate_reply(id, LocateStatus::UNKNOWN_OBJECT, |_| Ok(()));
        },
        |server| {
            let object = server.object(&client).with(LocateFirst::Above(1000));
            assert_eq!(ping_async(&object, 0).wait(), Ok(1));
            let args = |e: &mut Encoder<'_>| {
                e.copy_octets(&[0; 2000]);
                Ok(())
            };
            let big =
                object.reference().invoke_async::<(), SystemException>(&BIG, args, |_| Ok(()));
            big.wait().unwrap_err()
        },
    );
    assert_eq!(refused.kind, SystemExceptionKind::ObjectNotExist);
    client.shutdown(true).unwrap();
}

#[test]
fn an_endpoint_that_swallows_packets_does_not_cost_the_others_their_time() {
    only_over!(SOCKETS, "nobody waits to be queued in memory");
    let answers =
        past_a_hole(|object| (ping_async(object, 0).wait(), awaited(ping_async(object, 0))));
    assert_eq!(answers, (Ok(1), Ok(2)));
}

#[test]
fn a_failure_names_every_endpoint() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let addresses = [free_place(), free_place()].map(|place| place.address);
    let ior = ior_of(&addresses);
    let object = client.string_to_object(&ior.to_string()).unwrap();
    let raised = ping_async(&object, 0).wait().unwrap_err();
    assert_raised(raised, SystemExceptionKind::Transient, CompletionStatus::No);
    let tried = Failure::of(&raised).unwrap();
    let endpoints: Vec<_> = tried.attempts.iter().map(|tried| tried.endpoint.clone()).collect();
    assert_eq!(endpoints, addresses.map(|address| address.for_people().to_owned()));
    client.shutdown(true).unwrap();
}

#[test]
fn no_rebind_refuses_to_follow_once_bound() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let nowhere = ior_at(&free_place().address);
    let (bound, moved) = played(
        |server| {
            let mut connection = server.accept();
            connection.answer_next(1);
            let id = connection.request();
            connection.reply(id, ReplyStatus::LOCATION_FORWARD, |e| nowhere.encode(e));
        },
        |server| {
            let object = server.object(&client).with(RebindMode::NoRebind);
            (ping_async(&object, 0).wait(), told(ping_async(&object, 0)))
        },
    );
    assert_eq!(bound, Ok(1));
    let moved = moved.unwrap_err();
    assert_raised(moved, SystemExceptionKind::Rebind, CompletionStatus::No);
    assert_eq!(moved.minor, minor::rebind::MOVED);
    client.shutdown(true).unwrap();
}

#[test]
fn no_reconnect_notices_a_lost_connection_and_no_rebind_does_not() {
    let _guard = watchdog(LONG);
    for mode in [RebindMode::NoReconnect, RebindMode::NoRebind] {
        let client = client(ClientConnections::Private);
        let closed = Barrier::new(2);
        let second = played(
            |server| {
                let mut connection = server.accept();
                connection.answer_next(1);
                let _never_answered = connection.request();
                drop(connection);
                closed.wait();
                if mode == RebindMode::NoRebind {
                    let mut again = server.accept();
                    let id = again.request();
                    again.answer(id, 2);
                }
            },
            |server| {
                let object = server.object(&client).with(mode);
                assert_eq!(ping_async(&object, 0).wait(), Ok(1));
                let lost = ping_async(&object, 0).wait().unwrap_err();
                assert_eq!(lost.completed, CompletionStatus::Maybe);
                closed.wait();
                ping_async(&object, 0).wait()
            },
        );
        match mode {
            RebindMode::NoReconnect => {
                let lost = second.unwrap_err();
                assert_raised(lost, SystemExceptionKind::Rebind, CompletionStatus::No);
                assert_eq!(lost.minor, minor::rebind::CONNECTION_LOST);
            }
            _ => assert_eq!(second, Ok(2)),
        }
        client.shutdown(true).unwrap();
    }
}

/// Servant that keeps its requests and never answers them.
struct Never(Mutex<Vec<ResponseHandler>>);

impl Servant for Never {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        upcall.later(|later| self.0.lock().unwrap().push(later))
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// A collocated call has no connection whose thread could watch its time limit.
#[test]
fn a_call_within_the_process_that_is_never_answered_times_out_for_tasks_too() {
    let _guard = watchdog(LONG);
    let orb = server(Concurrency::ThreadPerConnection);
    let never = Arc::new(Never(Mutex::default()));
    let object = orb.root_poa().activate_servant(Arc::clone(&never) as _).unwrap();
    let object = ObjectRef::from_ref(object).with_timeout(SHORT / 5);
    for way in WAYS {
        let began = Instant::now();
        let late = timed_out(|| way(ping_async(&object, 1)));
        assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
        assert!(began.elapsed() >= SHORT / 5);
        assert!(never.0.lock().unwrap().pop().unwrap().is_cancelled());
    }
    orb.shutdown(true).unwrap();
}
