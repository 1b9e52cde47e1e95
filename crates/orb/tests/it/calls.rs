//! Calls over sockets and collocated calls, to a hand-written servant: the core's guarantees without compiled IDL.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::client::Failure;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall,
};
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::transport::{Place, free_place, url};
use crate::common::*;

static FAIL: Op = Op::twoway("fail");
static PANIC: Op = Op::twoway("panic");
static MISSING: Op = Op::twoway("missing");
static MOVED: Op = Op::twoway("moved");

/// Servant that forwards its callers to another object, or serves them itself.
struct Moved(Option<ObjectRef>);

impl Servant for Moved {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match &self.0 {
            Some(target) => upcall.forward(target.reference()),
            None => upcall.reply(|e| e.string("here")),
        }
    }
}

fn every_combination(test: impl Fn(&Orb, &Orb) + Sync) {
    at_once(ARCHITECTURES, |concurrency| {
        at_once([ClientConnections::Private, ClientConnections::Cached], |connections| {
            let server = server(concurrency);
            let client = client(connections);
            test(&server, &client);
            client.shutdown(true).unwrap();
            server.shutdown(true).unwrap();
        });
    });
}

#[test]
fn a_call_returns_its_result() {
    every_combination(|server, client| {
        let local = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
        let object = elsewhere(client, &local);
        for n in 0..100 {
            assert_eq!(ping(&object, n), Ok(n + 1));
        }
    });
}

#[test]
fn threads_share_a_reference() {
    every_combination(|server, client| {
        let local = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
        let object = elsewhere(client, &local);
        std::thread::scope(|scope| {
            for start in 0..6 {
                let object = &object;
                scope.spawn(move || {
                    for n in 0..200 {
                        assert_eq!(ping(object, start * 1000 + n), Ok(start * 1000 + n + 1));
                    }
                });
            }
        });
    });
}

#[test]
fn exceptions_carry_kind_minor_and_completion() {
    every_combination(|server, client| {
        let local = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
        let object = elsewhere(client, &local);
        assert_eq!(
            call(&object, &FAIL),
            Err(SystemException::no_permission(7, CompletionStatus::Yes))
        );
        let unknown = call(&object, &MISSING).unwrap_err();
        assert_eq!(unknown.kind, SystemExceptionKind::BadOperation);
        assert_eq!(unknown.completed, CompletionStatus::No);
        assert_eq!(ping(&object, 1), Ok(2));
    });
}

#[test]
fn a_panicking_servant_is_unknown_maybe_and_the_connection_lives_on() {
    every_combination(|server, client| {
        let local = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
        let object = elsewhere(client, &local);
        let panicked = call(&object, &PANIC).unwrap_err();
        assert_eq!(panicked.kind, SystemExceptionKind::Unknown);
        assert_eq!(panicked.completed, CompletionStatus::Maybe);
        assert_eq!(ping(&object, 1), Ok(2));
    });
}

/// Arguments are written by code of the caller, such as that of a custom value type.
#[test]
fn arguments_that_panic_cost_no_other_call() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    for sharing in EVERY_SHARING {
        let client = client(sharing);
        let object = pinger(&server, &client);
        // The first request over a connection announces code sets, and the others do not.
        for n in 0..2 {
            let reference = object.reference();
            let two_way = || -> Result<i64, SystemException> {
                reference.invoke(&PING, |_| panic!("as the test wants it"), |d| d.longlong())
            };
            let later = || -> Result<i64, SystemException> {
                let answer = reference.invoke_async(
                    &PING,
                    |_| panic!("as the test wants it"),
                    |d| d.longlong(),
                );
                answer.wait()
            };
            let oneway = || reference.send(&NOTE, |_| panic!("as the test wants it"));
            assert!(catch_unwind(AssertUnwindSafe(two_way)).is_err());
            assert!(catch_unwind(AssertUnwindSafe(later)).is_err());
            assert!(catch_unwind(AssertUnwindSafe(oneway)).is_err());
            assert_eq!(ping(&object, n), Ok(n + 1), "{sharing:?}");
            assert_eq!(ping_async(&object, n).wait(), Ok(n + 1), "{sharing:?}");
            reference.send(&NOTE, |_| Ok(())).unwrap();
        }
        client.shutdown(true).unwrap();
    }
    server.shutdown(true).unwrap();
}

#[test]
fn calls_go_over_the_transport_that_was_chosen() {
    every_combination(|server, client| {
        let object = pinger(server, client);
        common::transport::assert_chosen(object.reference());
        assert_eq!(ping(&object, 1), Ok(2));
    });
}

#[test]
fn a_oneway_arrives() {
    every_combination(|server, client| {
        let servant = Arc::new(Pinger::default());
        let local = server.root_poa().activate_servant(servant.clone()).unwrap();
        let object = elsewhere(client, &local);
        object.reference().send(&NOTE, |_| Ok(())).unwrap();
        assert_eq!(ping(&object, 1), Ok(2));
        // If several threads serve a connection, the ping may be answered before the oneway runs. One thread serves
        // them in order.
        let in_order = matches!(
            server.options().concurrency,
            Concurrency::ThreadPerConnection | Concurrency::Reactive
        );
        until("the oneway runs", || in_order || servant.notes.load(Ordering::SeqCst) != 0);
        assert_eq!(servant.notes.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_call_that_takes_too_long_is_timeout_maybe() {
    every_combination(|server, client| {
        let local = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
        let object = elsewhere(client, &local);
        // Connect first without a time limit, so that the limit expires while the servant sleeps.
        assert_eq!(ping(&object, 1), Ok(2));
        let hurried = object.with_timeout(Duration::from_millis(50));
        let late = timed_out(|| call(&hurried, &SLEEP));
        assert_eq!(late.completed, CompletionStatus::Maybe);
        assert_eq!(ping(&object, 1), Ok(2));
    });
}

#[test]
fn a_deactivated_object_does_not_exist() {
    every_combination(|server, client| {
        let poa = server.root_poa();
        let local = poa.activate_servant(Arc::new(Pinger::default())).unwrap();
        let object = elsewhere(client, &local);
        assert_eq!(object.non_existent(), Ok(false));
        poa.deactivate(&ObjectRef::from_ref(local.clone())).unwrap();
        assert_eq!(object.non_existent(), Ok(true));
        let gone = ping(&object, 1).unwrap_err();
        assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
        assert_eq!(gone.completed, CompletionStatus::No);
    });
}

#[test]
fn a_forward_is_followed_and_remembered() {
    every_combination(|server, client| {
        let poa = server.root_poa();
        let there = poa.activate_servant(Arc::new(Moved(None))).unwrap();
        let forwarding = Moved(Some(ObjectRef::from_ref(there)));
        let here = poa.activate_servant(Arc::new(forwarding)).unwrap();
        let object = elsewhere(client, &here);
        for _ in 0..3 {
            let answer: Result<String, SystemException> =
                object.reference().invoke(&MOVED, |_| Ok(()), |d| Ok(d.string()?.into_owned()));
            assert_eq!(answer.as_deref(), Ok("here"));
        }
    });
}

#[test]
fn a_local_object_is_called_without_a_socket() {
    let orb = server(Concurrency::ThreadPerConnection);
    let local = orb.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    let object = ObjectRef::from_ref(local);
    assert_eq!(ping(&object, 41), Ok(42));
    assert_eq!(call(&object, &PANIC).unwrap_err().kind, SystemExceptionKind::Unknown);
    assert_eq!(object.is_a("IDL:test/Pinger:1.0"), Ok(true));
    assert_eq!(object.is_a("IDL:test/Other:1.0"), Ok(false));
    orb.shutdown(true).unwrap();
}

#[test]
fn asynchronous_calls_complete_out_of_order() {
    every_combination(|server, client| {
        let local = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
        let object = elsewhere(client, &local);
        let pending: Vec<_> = (0..50)
            .map(|n| {
                object.reference().invoke_async::<i64, SystemException>(
                    &PING,
                    |e| {
                        e.longlong(n);
                        Ok(())
                    },
                    |d| d.longlong(),
                )
            })
            .collect();
        for (n, reply) in pending.into_iter().enumerate().rev() {
            assert_eq!(reply.wait(), Ok(n as i64 + 1));
        }
    });
}

#[test]
fn an_unreachable_server_says_what_was_tried() {
    let client = client(ClientConnections::Cached);
    let Place { address, .. } = free_place();
    let object = client.string_to_object(&url(&[&address], "Nobody"));
    let object = object.unwrap();
    let unreachable = ping(&object, 1).unwrap_err();
    assert_eq!(unreachable.kind, SystemExceptionKind::Transient);
    assert_eq!(unreachable.completed, CompletionStatus::No);
    let failure = Failure::of(&unreachable).unwrap();
    assert_eq!(failure.attempts[0].endpoint, address.for_people());
    let text = failure.to_string();
    assert!(nobody_listens(&text), "{failure}");
}

#[test]
fn shutdown_lets_a_running_request_finish() {
    every_combination(|server, client| {
        let servant = Arc::new(Pinger::default());
        let local = server.root_poa().activate_servant(servant.clone()).unwrap();
        let object = elsewhere(client, &local);
        assert_eq!(ping(&object, 1), Ok(2));
        std::thread::scope(|scope| {
            let closed = servant.gate.lock().unwrap();
            let running = scope.spawn(|| call(&object, &WAIT));
            servant.until_at_gate(1);
            let ending = scope.spawn(|| server.shutdown(true));
            until("the end begins", || server.is_closing());
            drop(closed);
            assert_eq!(running.join().unwrap(), Ok(()));
            assert_eq!(ending.join().unwrap(), Ok(()));
        });
        let refused = ping(&object, 1).unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::Transient);
        assert_eq!(refused.completed, CompletionStatus::No);
    });
}

#[test]
fn a_name_leads_to_an_object() {
    let server = server(Concurrency::ThreadPerConnection);
    let local = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    server.bind("Pinger", &ObjectRef::from_ref(local.clone()));
    let client = client(ClientConnections::Cached);
    let at = address(&ObjectRef::from_ref(local));
    let object = client.string_to_object(&url(&[&at], "Pinger")).unwrap();
    assert_eq!(ping(&object, 1), Ok(2));
    server.shutdown(true).unwrap();
}
