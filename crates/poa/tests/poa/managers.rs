//! POA managers: states, waiting, sharing.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb_core::Ref;
use oxorb_object::{SystemExceptionKind, minor};
use oxorb_poa::{
    AdapterObserver, ManagerState, ObjectId, ObjectReferenceFactory, ObjectReferenceTemplate, Poa,
    PoaError, PoaManager,
};
use oxorb_testkit::watchdog;

use crate::common::*;

#[test]
fn managers_have_names_and_are_found_and_shared() {
    let (orb, root) = start();
    let shared = root.create_poa_manager("shared").unwrap();
    assert!(matches!(root.create_poa_manager("shared"), Err(PoaError::ManagerAlreadyExists(_))));
    assert_eq!(root.find_poa_manager("shared"), Some(shared.clone()));
    assert_eq!(root.find_poa_manager("nobody"), None);
    assert_eq!(root.manager().id(), "RootPOAManager");
    let make =
        |name: &str| root.create_poa_with_manager(name, persistent(), shared.clone()).unwrap();
    let (one, two) = (make("one"), make("two"));
    assert_eq!(one.manager(), two.manager());
    let own = root.create_poa("own", persistent()).unwrap();
    assert_ne!(own.manager(), &shared);
    assert_eq!(root.poa_managers().len(), 3);
    orb.shutdown(true).unwrap();
}

#[test]
fn holding_waits_for_requests_that_run_and_not_for_those_of_others() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let poa = root.create_poa("held", persistent()).unwrap();
    let other = root.create_poa("other", persistent()).unwrap();
    let (servant, elsewhere) = (Echo::new(), Echo::new());
    let object = poa.activate_servant_with_id(&"one".into(), servant.clone()).unwrap();
    let unconcerned = other.activate_servant_with_id(&"one".into(), elsewhere.clone()).unwrap();
    thread::scope(|scope| {
        let running = scope.spawn(|| wait(&object));
        let long = scope.spawn(|| wait(&unconcerned));
        servant.gate.wait_for(1);
        elsewhere.gate.wait_for(1);
        let holding = scope.spawn(|| poa.manager().hold_requests(true));
        eventually("holding", || poa.manager().state() == ManagerState::Holding);
        let held = scope.spawn(|| same(&object, 1));
        thread::sleep(Duration::from_millis(20));
        assert!(!holding.is_finished() && !held.is_finished());
        servant.gate.open();
        holding.join().unwrap().unwrap();
        assert_eq!(running.join().unwrap(), Ok(()));
        assert!(!held.is_finished());
        assert!(!long.is_finished());
        poa.manager().activate().unwrap();
        assert_eq!(held.join().unwrap(), Ok(1));
        elsewhere.gate.open();
        assert_eq!(long.join().unwrap(), Ok(()));
    });
    orb.shutdown(true).unwrap();
}

#[test]
fn who_waits_is_let_go_when_the_state_changes_again() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let poa = root.create_poa("held", persistent()).unwrap();
    let servant = Echo::new();
    let object = poa.activate_servant_with_id(&"one".into(), servant.clone()).unwrap();
    thread::scope(|scope| {
        let running = scope.spawn(|| wait(&object));
        servant.gate.wait_for(1);
        let discarding = scope.spawn(|| poa.manager().discard_requests(true));
        eventually("discarding", || poa.manager().state() == ManagerState::Discarding);
        let raised = same(&object, 1).unwrap_err();
        assert_eq!(raised.minor, minor::transient::DISCARDING);
        poa.manager().activate().unwrap();
        discarding.join().unwrap().unwrap();
        assert!(!running.is_finished());
        servant.gate.open();
        assert_eq!(running.join().unwrap(), Ok(()));
    });
    orb.shutdown(true).unwrap();
}

#[test]
fn no_more_requests_wait_than_may() {
    let _guard = watchdog(LONG);
    let (orb, root) = start_with(|options| options.max_held = 2);
    let poa = root.create_poa("held", persistent()).unwrap();
    let object = poa.activate_servant_with_id(&"one".into(), Echo::new()).unwrap();
    poa.manager().hold_requests(false).unwrap();
    let outcomes: Mutex<Vec<_>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let outcome = same(&object, 1).map_err(|raised| raised.minor);
                outcomes.lock().unwrap().push(outcome);
            });
        }
        eventually("the one too many", || !outcomes.lock().unwrap().is_empty());
        poa.manager().activate().unwrap();
    });
    let outcomes = outcomes.into_inner().unwrap();
    assert_eq!(outcomes, [Err(minor::transient::DISCARDING), Ok(1), Ok(1)]);
    orb.shutdown(true).unwrap();
}

#[test]
fn a_held_request_finds_out_that_its_poa_is_gone() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let poa = root.create_poa("held", persistent()).unwrap();
    let object = poa.activate_servant_with_id(&"one".into(), Echo::new()).unwrap();
    let manager = poa.manager().clone();
    manager.hold_requests(false).unwrap();
    thread::scope(|scope| {
        let held = scope.spawn(|| same(&object, 1));
        thread::sleep(Duration::from_millis(20));
        poa.destroy(true, true).unwrap();
        manager.activate().unwrap();
        let raised = held.join().unwrap().unwrap_err();
        assert_eq!(raised.minor, minor::object_not_exist::NO_POA);
    });
    orb.shutdown(true).unwrap();
}

/// Events that an observer received.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

struct Observer(Arc<Told>);

impl Observer {
    fn note(&self, what: String) {
        self.0.0.lock().unwrap().push(what);
    }
}

impl AdapterObserver for Observer {
    fn established(&self, poa: &Poa) {
        self.note(format!("established {}", poa.adapter_name().join("/")));
    }

    fn manager_state_changed(&self, manager: &PoaManager, state: ManagerState) {
        self.note(format!("{} {state:?}", manager.id()));
    }

    fn adapters_destroyed(&self, templates: &[ObjectReferenceTemplate]) {
        let names = templates.iter().map(|template| template.adapter_name().join("/"));
        self.note(format!("destroyed {}", names.collect::<Vec<_>>().join(" ")));
    }
}

#[test]
fn observers_are_told_of_births_states_and_deaths() {
    let (orb, root) = start();
    let told = Arc::new(Told::default());
    root.add_observer(Observer(told.clone()));
    let manager = root.create_poa_manager("watched").unwrap();
    let poa = root.create_poa_with_manager("one", persistent(), manager.clone()).unwrap();
    poa.create_poa_with_manager("two", persistent(), manager.clone()).unwrap();
    manager.hold_requests(false).unwrap();
    poa.destroy(true, true).unwrap();
    assert_eq!(
        *told.0.lock().unwrap(),
        [
            "established RootPOA/one",
            "established RootPOA/one/two",
            "watched Holding",
            "destroyed RootPOA/one/two RootPOA/one",
        ]
    );
    orb.shutdown(true).unwrap();
}

/// Type id of all references that the factory makes.
const FACADE: &str = "IDL:test/Facade:1.0";

struct Facade;

impl ObjectReferenceFactory for Facade {
    fn make_object(
        &self,
        template: &ObjectReferenceTemplate,
        repository_id: &str,
        id: &ObjectId,
    ) -> Result<Ref, PoaError> {
        assert_ne!(repository_id, FACADE);
        match id.as_bytes() {
            b"none" => Err(PoaError::ObjectNotActive),
            _ => template.make_object(FACADE, id.clone()),
        }
    }
}

/// Observer that makes a [`Facade`] the factory of one POA.
struct Replaces;

impl AdapterObserver for Replaces {
    fn established(&self, poa: &Poa) {
        if poa.name() == "facade" {
            poa.set_current_factory(Facade).unwrap();
            let twice = poa.set_current_factory(Facade).unwrap_err();
            assert_eq!(twice.kind, SystemExceptionKind::BadInvOrder);
        }
    }
}

#[test]
fn a_factory_makes_the_references_of_its_poa() {
    let (orb, root) = start();
    root.add_observer(Replaces);
    let poa = root.create_poa("facade", persistent()).unwrap();
    let plain = root.create_poa("plain", persistent()).unwrap();
    let id = ObjectId::from("one");
    let object = poa.activate_servant_with_id(&id, Echo::new()).unwrap();
    assert_eq!(object.ior().type_id, FACADE);
    assert_eq!(same(&object, 1), Ok(1), "it leads to the object");
    assert_eq!(poa.id_to_reference("one").unwrap().ior().type_id, FACADE);
    // The template bypasses the factory.
    let own = poa.template().make_object("IDL:test/Own:1.0", "one").unwrap();
    assert_eq!(own.ior().type_id, "IDL:test/Own:1.0");
    let other = plain.activate_servant_with_id(&id, Echo::new()).unwrap();
    assert_ne!(other.ior().type_id, FACADE);
    // An object whose reference the factory rejects is not activated.
    let none = ObjectId::from("none");
    assert!(poa.activate_servant_with_id(&none, Echo::new()).is_err());
    assert!(poa.id_to_servant("none").is_err());
    // After the creation of the POA it is too late to set a factory.
    let late = plain.set_current_factory(Facade).unwrap_err();
    assert_eq!(late.kind, SystemExceptionKind::BadInvOrder);
    orb.shutdown(true).unwrap();
}
