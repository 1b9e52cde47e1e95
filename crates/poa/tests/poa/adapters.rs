//! Adapter activators: POAs created on request.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb_core::Ref;
use oxorb_object::{CompletionStatus, SystemException, SystemExceptionKind, minor};
use oxorb_poa::{AdapterActivator, Poa, PoaError};
use oxorb_testkit::watchdog;

use crate::common::*;

/// Activator that creates POAs of most names, each with this activator and one object.
#[derive(Clone, Default)]
struct Maker(Arc<Made>);

#[derive(Default)]
struct Made {
    calls: AtomicUsize,
    names: Mutex<Vec<String>>,
    slowly: bool,
}

impl AdapterActivator for Maker {
    fn unknown_adapter(&self, parent: &Poa, name: &str) -> Result<bool, SystemException> {
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        match name {
            "unwanted" => return Ok(false),
            "liar" => return Ok(true),
            "raises" => return Err(SystemException::no_memory(3, CompletionStatus::No)),
            "panics" => panic!("as it was asked to"),
            "itself" => {
                // Requesting the POA that this call creates fails.
                assert!(matches!(
                    parent.find_or_activate_poa(name),
                    Err(PoaError::System(_) | PoaError::AdapterNonExistent(_))
                ));
                return Ok(false);
            }
            _ => {}
        }
        let poa = parent
            .new_poa(name)
            .policies(persistent())
            .activator(self.clone())
            .create()
            .expect("nobody else makes it");
        if self.0.slowly {
            // Sleep for long enough that other threads could find the POA before it has its object.
            thread::sleep(Duration::from_millis(20));
        }
        poa.activate_servant_with_id(&"one".into(), Echo::new()).expect("a new POA");
        self.0.names.lock().unwrap().push(poa.adapter_name().join("/"));
        Ok(true)
    }
}

/// Returns the reference of an object in POAs that do not exist (any more).
fn absent(root: &Poa, names: &[&str]) -> Ref {
    let mut poa = root.clone();
    for name in names {
        poa = poa.create_poa(name, persistent()).unwrap();
    }
    let object = reference(&poa, "one");
    root.find_poa(names[0]).unwrap().destroy(true, true).unwrap();
    object
}

#[test]
fn a_request_has_all_poas_of_its_path_made() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let object = absent(&root, &["a", "b", "c"]);
    assert_eq!(same(&object, 1).unwrap_err().minor, minor::object_not_exist::NO_POA);
    let maker = Maker::default();
    root.set_activator(Some(Arc::new(maker.clone())));
    assert_eq!(same(&object, 1), Ok(1));
    assert_eq!(same(&object, 2), Ok(2));
    assert_eq!(*maker.0.names.lock().unwrap(), ["RootPOA/a", "RootPOA/a/b", "RootPOA/a/b/c"]);
    assert_eq!(maker.0.calls.load(Ordering::SeqCst), 3);
    // If an intermediate POA is destroyed, it and the POA below it are created again.
    let middle = root.find_poa("a").unwrap().find_poa("b").unwrap();
    middle.destroy(true, true).unwrap();
    assert_eq!(same(&object, 3), Ok(3));
    assert_eq!(maker.0.calls.load(Ordering::SeqCst), 5);
    orb.shutdown(true).unwrap();
}

#[test]
fn two_requests_for_an_unknown_poa_have_it_made_once_and_find_its_objects() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let (one, below) = (absent(&root, &["a"]), absent(&root, &["a", "b"]));
    let maker = Maker(Arc::new(Made { slowly: true, ..Made::default() }));
    root.set_activator(Some(Arc::new(maker.clone())));
    thread::scope(|scope| {
        for object in [&one, &below] {
            for _ in 0..4 {
                scope.spawn(move || assert_eq!(same(object, 1), Ok(1)));
            }
        }
    });
    assert_eq!(maker.0.calls.load(Ordering::SeqCst), 2);
    orb.shutdown(true).unwrap();
}

#[test]
fn an_activator_may_decline_lie_raise_and_panic() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let names = ["unwanted", "liar", "raises", "panics", "itself"];
    let objects = names.map(|name| absent(&root, &[name]));
    root.set_activator(Some(Arc::new(Maker::default())));
    assert!(root.activator().is_some());
    let raised = objects.map(|object| same(&object, 1).unwrap_err());
    let none =
        SystemException::object_not_exist(minor::object_not_exist::NO_POA, CompletionStatus::No);
    let failed =
        SystemException::obj_adapter(minor::obj_adapter::UNKNOWN_ADAPTER, CompletionStatus::No);
    assert_eq!(raised, [none, none, failed, failed, none]);
    orb.shutdown(true).unwrap();
}

#[test]
fn finding_may_activate() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    assert!(matches!(root.find_or_activate_poa("a"), Err(PoaError::AdapterNonExistent(_))));
    root.set_activator(Some(Arc::new(Maker::default())));
    assert!(root.find_poa("a").is_none());
    let made = root.find_or_activate_poa("a").unwrap();
    assert_eq!(root.find_poa("a"), Some(made));
    let failed = root.find_or_activate_poa("raises").unwrap_err();
    assert_eq!(failed.system().unwrap().kind, SystemExceptionKind::ObjAdapter);
    orb.shutdown(true).unwrap();
}

#[test]
fn a_poa_is_not_made_again_before_its_predecessor_is_no_more() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let maker = Maker::default();
    root.set_activator(Some(Arc::new(maker.clone())));
    let poa = root.create_poa("a", persistent()).unwrap();
    let servant = Echo::new();
    let old = poa.activate_servant_with_id(&"one".into(), servant.clone()).unwrap();
    thread::scope(|scope| {
        let running = scope.spawn(|| wait(&old));
        servant.gate.wait_for(1);
        poa.destroy(true, false).unwrap();
        let next = scope.spawn(|| same(&old, 1));
        thread::sleep(Duration::from_millis(20));
        assert_eq!(maker.0.calls.load(Ordering::SeqCst), 0);
        servant.gate.open();
        assert_eq!(running.join().unwrap(), Ok(()));
        assert_eq!(next.join().unwrap(), Ok(1));
    });
    assert_eq!(maker.0.calls.load(Ordering::SeqCst), 1);
    orb.shutdown(true).unwrap();
}

#[test]
fn the_activator_of_a_parent_that_does_not_let_requests_pass_is_not_asked() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let parent = root.create_poa("parent", persistent()).unwrap();
    let child = parent.create_poa("child", persistent()).unwrap();
    let object = reference(&child, "one");
    child.destroy(true, true).unwrap();
    let maker = Maker::default();
    parent.set_activator(Some(Arc::new(maker.clone())));
    parent.manager().discard_requests(true).unwrap();
    assert_eq!(same(&object, 1).unwrap_err().minor, minor::transient::DISCARDING);
    assert_eq!(maker.0.calls.load(Ordering::SeqCst), 0);
    parent.manager().activate().unwrap();
    assert_eq!(same(&object, 1), Ok(1));
    orb.shutdown(true).unwrap();
}
