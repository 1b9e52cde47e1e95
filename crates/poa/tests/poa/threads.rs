//! Thread policies.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use oxorb_core::Ref;
use oxorb_object::{SystemExceptionKind, minor};
use oxorb_poa::{Policies, ThreadPolicy};
use oxorb_testkit::watchdog;

use crate::common::*;

fn policies(thread: ThreadPolicy) -> Policies {
    Policies { thread, ..Policies::default() }
}

#[test]
fn a_single_threaded_poa_runs_one_request_at_a_time() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let poa = root.create_poa("single", policies(ThreadPolicy::SingleThread)).unwrap();
    let (inside, overlapped) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let seen = overlapped.clone();
    let inside = Arc::new(inside);
    let servant = Echo::that(move || {
        if inside.fetch_add(1, Ordering::SeqCst) > 0 {
            seen.store(true, Ordering::SeqCst);
        }
        thread::yield_now();
        inside.fetch_sub(1, Ordering::SeqCst);
    });
    let object = poa.activate_servant(servant).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..50 {
                    assert_eq!(same(&object, n), Ok(n));
                }
            });
        }
    });
    assert!(!overlapped.load(Ordering::SeqCst));
    orb.shutdown(true).unwrap();
}

#[test]
fn its_thread_may_call_its_objects_again_and_others_wait_a_bounded_time() {
    let _guard = watchdog(LONG);
    let (orb, root) = start_with(|options| options.hold_time = Duration::from_millis(30));
    let poa = root.create_poa("single", policies(ThreadPolicy::SingleThread)).unwrap();
    let inner = Echo::new();
    let target: Ref = poa.activate_servant(inner.clone()).unwrap();
    let called = target.clone();
    let outer = Echo::that(move || {
        assert_eq!(same(&called, 1), Ok(1));
        // A call from another thread would have to wait for this request, and is refused after the
        // hold time.
        thread::scope(|scope| {
            let refused = scope.spawn(|| same(&called, 1)).join().unwrap().unwrap_err();
            assert_eq!(refused.minor, minor::transient::DISCARDING);
        });
    });
    let object = poa.activate_servant(outer).unwrap();
    assert_eq!(same(&object, 1), Ok(1));
    assert_eq!(inner.calls(), 1);
    orb.shutdown(true).unwrap();
}

#[test]
fn a_panic_ends_the_turn() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let poa = root.create_poa("single", policies(ThreadPolicy::SingleThread)).unwrap();
    let object = poa.activate_servant(Echo::new()).unwrap();
    assert!(panics(&object).is_err());
    thread::scope(|scope| {
        assert_eq!(scope.spawn(|| same(&object, 1)).join().unwrap(), Ok(1));
    });
    orb.shutdown(true).unwrap();
}

#[test]
fn main_thread_requests_run_on_the_thread_that_runs_the_orb() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let poas = ["one", "two"]
        .map(|name| root.create_poa(name, policies(ThreadPolicy::MainThread)).unwrap());
    let ran: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
    let objects = poas.map(|poa| {
        let note = ran.clone();
        let servant = Echo::that(move || note.lock().unwrap().push(thread::current().id()));
        poa.activate_servant(servant).unwrap()
    });
    thread::scope(|scope| {
        let main = scope.spawn(|| orb.run());
        let main_id = main.thread().id();
        thread::scope(|scope| {
            for object in &objects {
                scope.spawn(move || {
                    for n in 0..20 {
                        assert_eq!(same(object, n), Ok(n));
                    }
                    // A panic on the main thread affects only the request that causes it.
                    let raised = panics(object).unwrap_err();
                    assert_eq!(raised.kind, SystemExceptionKind::Unknown);
                    assert_eq!(same(object, 1), Ok(1));
                });
            }
        });
        let ran = ran.lock().unwrap();
        assert_eq!(ran.len(), 42);
        assert!(ran.iter().all(|id| *id == main_id));
        drop(ran);
        orb.shutdown(false).unwrap();
        main.join().unwrap();
    });
}

#[test]
fn without_a_main_thread_they_are_transient_after_a_while() {
    let _guard = watchdog(LONG);
    let (orb, root) = start_with(|options| {
        options.hold_time = Duration::from_millis(30);
        options.max_held = 1;
    });
    let poa = root.create_poa("main", policies(ThreadPolicy::MainThread)).unwrap();
    let servant = Echo::new();
    let object = poa.activate_servant(servant.clone()).unwrap();
    let late = same(&object, 1).unwrap_err();
    assert_eq!(late.minor, minor::transient::DISCARDING);
    // The abandoned request still waits for the main thread, so the queue is full.
    assert!(orb.work_pending());
    assert_eq!(same(&object, 1).unwrap_err().minor, minor::transient::DISCARDING);
    orb.perform_work();
    assert_eq!(servant.calls(), 0, "what was given up must not run");
    let served = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Repeat the call, because on a busy machine some requests may time out.
            eventually("the main thread's turn", || same(&object, 1) == Ok(1));
            served.store(true, Ordering::SeqCst);
        });
        while !served.load(Ordering::SeqCst) {
            orb.perform_work();
            thread::sleep(Duration::from_micros(200));
        }
    });
    orb.shutdown(true).unwrap();
}
