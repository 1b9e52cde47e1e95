//! Destruction of POAs, with requests in flight and from within requests.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb_object::{SystemExceptionKind, minor};
use oxorb_poa::{Poa, PoaError};
use oxorb_testkit::watchdog;

use crate::common::*;

#[test]
fn destroying_waits_for_requests_that_run_if_told_to() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let poa = root.create_poa("parent", persistent()).unwrap();
    let child = poa.create_poa("child", persistent()).unwrap();
    let servant = Echo::new();
    let object = child.activate_servant_with_id(&"one".into(), servant.clone()).unwrap();
    thread::scope(|scope| {
        let running = scope.spawn(|| wait(&object));
        servant.gate.wait_for(1);
        let destroying = scope.spawn(|| poa.destroy(true, true));
        eventually("the end of the child", || {
            same(&object, 1).is_err_and(|raised| raised.minor == minor::object_not_exist::NO_POA)
        });
        thread::sleep(Duration::from_millis(20));
        assert!(!destroying.is_finished());
        servant.gate.open();
        destroying.join().unwrap().unwrap();
        assert_eq!(running.join().unwrap(), Ok(()));
    });
    assert!(root.find_poa("parent").is_none());
    assert!(root.children().is_empty());
    for refused in [
        poa.activate_servant_with_id(&"two".into(), Echo::new()).err(),
        poa.create_poa("late", persistent()).err(),
        poa.id_to_servant("one").err(),
        poa.destroy(true, true).err(),
    ] {
        let refused = refused.unwrap();
        assert!(matches!(refused, PoaError::Destroyed), "{refused}");
        let system = refused.system().unwrap();
        assert_eq!(system.kind, SystemExceptionKind::ObjectNotExist);
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn a_request_that_does_not_end_is_waited_for_only_so_long() {
    let _guard = watchdog(LONG);
    let (orb, root) = start_with(|options| options.hold_time = Duration::from_millis(30));
    let poa = root.create_poa("stuck", persistent()).unwrap();
    let servant = Echo::new();
    let object = poa.activate_servant_with_id(&"one".into(), servant.clone()).unwrap();
    thread::scope(|scope| {
        let running = scope.spawn(|| wait(&object));
        servant.gate.wait_for(1);
        let held = poa.manager().hold_requests(true).unwrap_err();
        assert_eq!(held.system().unwrap().kind, SystemExceptionKind::Timeout);
        let late = poa.destroy(true, true).unwrap_err();
        assert_eq!(late.system().unwrap().kind, SystemExceptionKind::Timeout);
        // The POA's name is not free until its destruction has completed.
        let early = root.create_poa("stuck", persistent()).unwrap_err();
        assert_eq!(early.system().unwrap().minor, minor::bad_inv_order::POA_BEING_DESTROYED);
        servant.gate.open();
        assert_eq!(running.join().unwrap(), Ok(()));
    });
    eventually("the name to be free", || root.create_poa("stuck", persistent()).is_ok());
    orb.shutdown(true).unwrap();
}

/// The end of such a wait cannot be represented as a time.
#[test]
fn hold_times_may_be_as_long_as_a_duration_can_be() {
    let _guard = watchdog(LONG);
    let (orb, root) = start_with(|options| options.hold_time = Duration::MAX);
    let poa = root.create_poa("held", persistent()).unwrap();
    poa.activate_servant_with_id(&"one".into(), Echo::new()).unwrap();
    poa.manager().hold_requests(true).unwrap();
    poa.manager().activate().unwrap();
    poa.destroy(true, true).unwrap();
    orb.shutdown(true).unwrap();
}

#[test]
fn a_request_cannot_wait_for_itself() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let poa = root.create_poa("own", persistent()).unwrap();
    let slot: Arc<Mutex<Option<Poa>>> = Arc::default();
    let own = slot.clone();
    let servant = Echo::that(move || {
        let poa = own.lock().unwrap().clone().unwrap();
        for refused in [
            poa.destroy(true, true),
            poa.manager().hold_requests(true),
            poa.manager().discard_requests(true),
            poa.manager().deactivate(true, true),
        ] {
            let system = refused.unwrap_err().system().unwrap();
            assert_eq!(system.minor, minor::bad_inv_order::WOULD_DEADLOCK);
        }
        // A request may destroy its own POA if it does not wait for completion, and `Current` still
        // identifies its object.
        poa.destroy(true, false).unwrap();
        let current = poa.current();
        assert_eq!(current.poa().unwrap(), poa);
        assert_eq!(current.object_id().unwrap().as_bytes(), b"one");
        assert!(current.servant().is_ok());
    });
    *slot.lock().unwrap() = Some(poa.clone());
    let object = poa.activate_servant_with_id(&"one".into(), servant).unwrap();
    assert_eq!(same(&object, 1), Ok(1));
    assert!(same(&object, 1).is_err());
    *slot.lock().unwrap() = None;
    orb.shutdown(true).unwrap();
}

#[test]
fn objects_come_and_go_while_they_are_called() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let poa = root.create_poa("busy", persistent()).unwrap();
    let stays = poa.activate_servant_with_id(&"stays".into(), Echo::new()).unwrap();
    let comes = reference(&poa, "comes");
    thread::scope(|scope| {
        let changing: Vec<_> = (0..2)
            .map(|n| {
                let poa = &poa;
                scope.spawn(move || {
                    let id = if n == 0 { "comes" } else { "other" };
                    for _ in 0..2000 {
                        poa.activate_servant_with_id(&id.into(), Echo::new()).unwrap();
                        poa.deactivate_id(id).unwrap();
                    }
                })
            })
            .collect();
        while changing.iter().any(|thread| !thread.is_finished()) {
            assert_eq!(same(&stays, 1), Ok(1));
            match same(&comes, 1) {
                Ok(1) => {}
                Err(raised) => assert_eq!(raised.minor, minor::object_not_exist::NO_OBJECT),
                Ok(other) => panic!("1 came back as {other}"),
            }
        }
    });
    orb.shutdown(true).unwrap();
}
