//! Servant activators: when servants are created, and when they are returned.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use oxorb_core::{Orb, Ref, Servant};
use oxorb_object::{CompletionStatus, SystemException, SystemExceptionKind, minor};
use oxorb_poa::{
    IdAssignment, IdUniqueness, Lifespan, ObjectId, Poa, PoaError, Policies, Refused,
    ServantActivator,
};
use oxorb_testkit::watchdog;

use crate::common::*;

/// Call that the activator received.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    Incarnated(String),
    /// Object id, `cleanup_in_progress` and `remaining_activations`.
    Etherealized(String, bool, bool),
}

fn incarnated(id: &str) -> Event {
    Event::Incarnated(id.to_owned())
}

fn etherealized(id: &str, cleanup: bool, remaining: bool) -> Event {
    Event::Etherealized(id.to_owned(), cleanup, remaining)
}

/// Activator that records every call, and returns either a new servant each time or always the same
/// one.
#[derive(Default)]
struct Keeper {
    events: Mutex<Vec<Event>>,
    last: Mutex<Option<Arc<Echo>>>,
    always: Option<Arc<Echo>>,
    /// Number of running calls, to detect calls that overlap.
    inside: AtomicUsize,
    overlapped: AtomicBool,
}

impl Keeper {
    fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    fn last(&self) -> Arc<Echo> {
        self.last.lock().unwrap().clone().expect("somebody was incarnated")
    }

    fn note(&self, event: Event) {
        if self.inside.fetch_add(1, Ordering::SeqCst) > 0 {
            self.overlapped.store(true, Ordering::SeqCst);
        }
        thread::yield_now();
        self.events.lock().unwrap().push(event);
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

fn text(id: &ObjectId) -> String {
    String::from_utf8_lossy(id.as_bytes()).into_owned()
}

struct Kept(Arc<Keeper>);

impl ServantActivator for Kept {
    fn incarnate(&self, id: &ObjectId, poa: &Poa) -> Result<Arc<dyn Servant>, Refused> {
        match id.as_bytes() {
            b"elsewhere" => return Err(Refused::ForwardRequest(reference(poa, "here"))),
            b"never" => {
                return Err(Refused::System(SystemException::no_permission(
                    77,
                    CompletionStatus::No,
                )));
            }
            b"panic" => panic!("as it was asked to"),
            _ => {}
        }
        self.0.note(incarnated(&text(id)));
        let servant = self.0.always.clone().unwrap_or_default();
        *self.0.last.lock().unwrap() = Some(servant.clone());
        Ok(servant)
    }

    fn etherealize(
        &self,
        id: &ObjectId,
        _: &Poa,
        _: Arc<dyn Servant>,
        cleanup_in_progress: bool,
        remaining_activations: bool,
    ) {
        let event = etherealized(&text(id), cleanup_in_progress, remaining_activations);
        self.0.note(event);
    }
}

struct Setting {
    orb: Orb,
    root: Poa,
    poa: Poa,
    keeper: Arc<Keeper>,
}

impl Setting {
    fn new(policies: Policies, always: Option<Arc<Echo>>) -> Setting {
        let (orb, root) = start();
        let poa = root.create_poa("kept", policies).unwrap();
        let keeper = Arc::new(Keeper { always, ..Keeper::default() });
        poa.set_servant_activator(Kept(keeper.clone())).unwrap();
        Setting { orb, root, poa, keeper }
    }

    fn object(&self, id: &str) -> Ref {
        reference(&self.poa, id)
    }

    #[track_caller]
    fn expect(&self, events: &[Event]) {
        eventually("the events", || self.keeper.events().len() >= events.len());
        assert_eq!(self.keeper.events(), events);
        assert!(!self.keeper.overlapped.load(Ordering::SeqCst));
    }
}

#[test]
fn an_object_is_made_once_and_given_back_when_it_ends() {
    let _guard = watchdog(LONG);
    let setting = Setting::new(activated(), None);
    let object = setting.object("one");
    for n in 0..3 {
        assert_eq!(same(&object, n), Ok(n));
    }
    setting.expect(&[incarnated("one")]);
    setting.poa.deactivate_id("one").unwrap();
    assert!(matches!(setting.poa.deactivate_id("one"), Err(PoaError::ObjectNotActive)));
    // The next request waits until the previous servant is etherealized.
    assert_eq!(same(&object, 4), Ok(4));
    setting.expect(&[incarnated("one"), etherealized("one", false, false), incarnated("one")]);
    setting.orb.shutdown(true).unwrap();
    setting.expect(&[
        incarnated("one"),
        etherealized("one", false, false),
        incarnated("one"),
        etherealized("one", true, false),
    ]);
}

#[test]
fn many_first_requests_have_it_made_once() {
    let _guard = watchdog(LONG);
    let setting = Setting::new(activated(), None);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(same(&setting.object("one"), 1), Ok(1)));
        }
    });
    setting.expect(&[incarnated("one")]);
    assert_eq!(setting.keeper.last().calls(), 8);
    setting.orb.shutdown(true).unwrap();
}

#[test]
fn a_servant_is_given_back_after_its_last_request_and_not_before() {
    let _guard = watchdog(LONG);
    let setting = Setting::new(activated(), None);
    let object = setting.object("one");
    assert_eq!(same(&object, 1), Ok(1));
    let servant = setting.keeper.last();
    thread::scope(|scope| {
        let running = scope.spawn(|| wait(&object));
        servant.gate.wait_for(1);
        setting.poa.deactivate_id("one").unwrap();
        // A request for the deactivated object waits until its previous incarnation has ended.
        let next = scope.spawn(|| same(&object, 2));
        thread::sleep(std::time::Duration::from_millis(20));
        setting.expect(&[incarnated("one")]);
        servant.gate.open();
        assert_eq!(running.join().unwrap(), Ok(()));
        assert_eq!(next.join().unwrap(), Ok(2));
    });
    setting.expect(&[incarnated("one"), etherealized("one", false, false), incarnated("one")]);
    setting.orb.shutdown(true).unwrap();
}

#[test]
fn a_servant_may_end_its_own_object() {
    let _guard = watchdog(LONG);
    let slot: Arc<Mutex<Option<Poa>>> = Arc::default();
    let own = slot.clone();
    let suicidal = Echo::that(move || {
        let poa = own.lock().unwrap().clone().unwrap();
        poa.deactivate_id("one").unwrap();
        // `Current` still identifies the called object.
        let current = poa.current();
        assert_eq!(current.object_id().unwrap().as_bytes(), b"one");
        assert_eq!(current.servant().unwrap().repository_id(), ECHO);
        // The object cannot be called again before this request has ended.
        let raised = same(&reference(&poa, "one"), 1).unwrap_err();
        assert_eq!(raised.minor, minor::bad_inv_order::WOULD_DEADLOCK);
        assert!(matches!(
            poa.activate_servant_with_id(&"one".into(), Echo::new()),
            Err(PoaError::ObjectAlreadyActive)
        ));
    });
    let setting = Setting::new(activated(), Some(suicidal));
    *slot.lock().unwrap() = Some(setting.poa.clone());
    assert_eq!(same(&setting.object("one"), 1), Ok(1));
    setting.expect(&[incarnated("one"), etherealized("one", false, false)]);
    *slot.lock().unwrap() = None;
    setting.orb.shutdown(true).unwrap();
}

#[test]
fn it_says_whether_the_servant_incarnates_others() {
    let _guard = watchdog(LONG);
    let policies = Policies { id_uniqueness: IdUniqueness::Multiple, ..activated() };
    let setting = Setting::new(policies, Some(Echo::new()));
    assert_eq!(same(&setting.object("one"), 1), Ok(1));
    assert_eq!(same(&setting.object("two"), 1), Ok(1));
    setting.poa.deactivate_id("one").unwrap();
    eventually("the first end", || setting.keeper.events().len() == 3);
    setting.poa.deactivate_id("two").unwrap();
    setting.expect(&[
        incarnated("one"),
        incarnated("two"),
        etherealized("one", false, true),
        etherealized("two", false, false),
    ]);
    setting.orb.shutdown(true).unwrap();
}

#[test]
fn a_servant_for_two_objects_breaks_unique_ids() {
    let _guard = watchdog(LONG);
    let setting = Setting::new(activated(), Some(Echo::new()));
    assert_eq!(same(&setting.object("one"), 1), Ok(1));
    assert_eq!(
        same(&setting.object("two"), 1),
        Err(SystemException::obj_adapter(
            minor::obj_adapter::INCARNATE_POLICY,
            CompletionStatus::No
        ))
    );
    setting.orb.shutdown(true).unwrap();
}

#[test]
fn it_may_forward_refuse_and_panic() {
    let _guard = watchdog(LONG);
    let setting = Setting::new(activated(), None);
    assert_eq!(same(&setting.object("elsewhere"), 5), Ok(5));
    setting.expect(&[incarnated("here")]);
    assert_eq!(
        same(&setting.object("never"), 1),
        Err(SystemException::no_permission(77, CompletionStatus::No))
    );
    let panicked = same(&setting.object("panic"), 1).unwrap_err();
    assert_eq!(panicked.kind, SystemExceptionKind::Unknown);
    assert_eq!(same(&setting.object("afterwards"), 1), Ok(1));
    setting.orb.shutdown(true).unwrap();
}

#[test]
fn objects_with_ids_of_the_system_live_again_under_the_same_id() {
    let _guard = watchdog(LONG);
    for lifespan in [Lifespan::Transient, Lifespan::Persistent] {
        let policies = Policies { lifespan, id_assignment: IdAssignment::System, ..activated() };
        let setting = Setting::new(policies, None);
        let object: oxorb_core::ObjectRef = setting.poa.create_reference().unwrap();
        let id = setting.poa.reference_to_id(&object).unwrap();
        let object = oxorb_core::Interface::reference(&object).clone();
        for n in 0..3 {
            assert_eq!(same(&object, n), Ok(n));
            setting.poa.deactivate_id(&id).unwrap();
            // Another object reuses the slot of the deactivated one.
            let other = setting.poa.activate_servant(Echo::new()).unwrap();
            assert_ne!(other, object);
        }
        assert_eq!(same(&object, 3), Ok(3));
        setting.orb.shutdown(true).unwrap();
    }
}

#[test]
fn an_id_that_the_system_did_not_make_is_nobodys() {
    let _guard = watchdog(LONG);
    let policies = Policies {
        lifespan: Lifespan::Transient,
        id_assignment: IdAssignment::System,
        ..activated()
    };
    let setting = Setting::new(policies, None);
    let real: oxorb_core::ObjectRef = setting.poa.create_reference().unwrap();
    let template = setting.poa.template();
    for forged in [[9, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 9, 0, 0, 0], [255; 8]] {
        let forged = template.make_object(ECHO, forged.as_slice()).unwrap();
        let raised = same(&forged, 1).unwrap_err();
        assert_eq!(raised.minor, minor::object_not_exist::NO_OBJECT);
    }
    assert_eq!(same(oxorb_core::Interface::reference(&real), 1), Ok(1));
    setting.orb.shutdown(true).unwrap();
}

#[test]
fn manager_and_poa_give_all_back_when_they_end() {
    let _guard = watchdog(LONG);
    let setting = Setting::new(activated(), None);
    assert_eq!(same(&setting.object("one"), 1), Ok(1));
    setting.poa.manager().deactivate(true, true).unwrap();
    assert_eq!(setting.keeper.events(), [incarnated("one"), etherealized("one", true, false)]);
    setting.poa.destroy(true, true).unwrap();

    let silent = setting.root.create_poa("silent", activated()).unwrap();
    let keeper = Arc::new(Keeper::default());
    silent.set_servant_activator(Kept(keeper.clone())).unwrap();
    assert_eq!(same(&reference(&silent, "two"), 1), Ok(1));
    silent.destroy(false, true).unwrap();
    setting.orb.shutdown(true).unwrap();
    assert_eq!(keeper.events(), [incarnated("two")]);
}
