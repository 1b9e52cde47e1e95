//! Object adapters as clients and servers see them, over sockets.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use oxorb::__gen::{Op, Ref};
use oxorb::poa::{
    IdAssignment, IdUniqueness, ImplicitActivation, Lifespan, ManagerState, ObjectId, Poa,
    PoaError, Policies,
};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Servant, SystemException, SystemExceptionKind,
    minor,
};
use oxorb_testkit::watchdog;

use crate::common::child::Child;
use crate::common::transport::{free_place, url};
use crate::common::*;

/// Kinds of POA by lifespan and id assignment.
const KINDS: [(Lifespan, IdAssignment); 4] = [
    (Lifespan::Transient, IdAssignment::System),
    (Lifespan::Transient, IdAssignment::User),
    (Lifespan::Persistent, IdAssignment::System),
    (Lifespan::Persistent, IdAssignment::User),
];

fn policies((lifespan, id_assignment): (Lifespan, IdAssignment)) -> Policies {
    Policies { lifespan, id_assignment, ..Policies::default() }
}

/// A server and one of its clients.
struct Pair {
    server: Orb,
    client: Orb,
}

impl Pair {
    fn new() -> Pair {
        Pair {
            server: server(Concurrency::ThreadPerConnection),
            client: client(ClientConnections::Private),
        }
    }

    fn poa(&self, name: &str, policies: Policies) -> Poa {
        self.server.root_poa().create_poa(name, policies).unwrap()
    }

    fn seen(&self, reference: &Ref) -> ObjectRef {
        elsewhere(&self.client, reference)
    }

    fn end(self) {
        self.client.shutdown(true).unwrap();
        self.server.shutdown(true).unwrap();
    }
}

fn servant() -> Arc<dyn Servant> {
    Arc::new(Pinger::default())
}

/// Activates a servant; with user-assigned ids, under `id`.
fn activate(poa: &Poa, id: &str) -> Ref {
    match poa.policies().id_assignment {
        IdAssignment::System => poa.activate_servant(servant()).unwrap(),
        IdAssignment::User => poa.activate_servant_with_id(&ObjectId::from(id), servant()).unwrap(),
    }
}

fn typed(reference: &Ref) -> ObjectRef {
    ObjectRef::from_ref(reference.clone())
}

#[track_caller]
fn assert_gone(object: &ObjectRef, minor: u32) {
    let gone = ping(object, 1).unwrap_err();
    assert_eq!(gone, SystemException::object_not_exist(minor, CompletionStatus::No));
    assert_eq!(object.non_existent(), Ok(true));
}

#[test]
fn objects_of_every_kind_live_and_end() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    for (number, kind) in KINDS.into_iter().enumerate() {
        let poa = pair.poa(&format!("kind{number}"), policies(kind));
        let (one, two) = (activate(&poa, "one"), activate(&poa, "two"));
        let (at_one, at_two) = (pair.seen(&one), pair.seen(&two));
        assert_eq!(ping(&at_one, 1), Ok(2), "{kind:?}");
        assert_eq!(at_one.non_existent(), Ok(false), "{kind:?}");
        assert_ne!(one, two);

        // The reference maps to the id and back.
        let id = poa.reference_to_id(&typed(&one)).unwrap();
        let again: ObjectRef = poa.create_reference_with_id(id.clone()).unwrap();
        assert_eq!(ping(&pair.seen(again.reference()), 1), Ok(2), "{kind:?}");

        poa.deactivate(&typed(&one)).unwrap();
        assert_gone(&at_one, minor::object_not_exist::NO_OBJECT);
        assert!(matches!(poa.deactivate(&typed(&one)), Err(PoaError::ObjectNotActive)));
        assert!(matches!(poa.deactivate_id(id), Err(PoaError::ObjectNotActive)));
        let id = poa.reference_to_id(&typed(&two)).unwrap();
        poa.deactivate_id(id).unwrap();
        assert_gone(&at_two, minor::object_not_exist::NO_OBJECT);
    }
    pair.end();
}

#[test]
fn an_old_reference_never_reaches_a_new_object() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let poa = pair.poa("slots", policies(KINDS[0]));
    let old = activate(&poa, "");
    let at_old = pair.seen(&old);
    poa.deactivate(&typed(&old)).unwrap();
    // The new object reuses the slot of the old one.
    let at_new = pair.seen(&activate(&poa, ""));
    assert_eq!(ping(&at_new, 1), Ok(2));
    assert_gone(&at_old, minor::object_not_exist::NO_OBJECT);
    pair.end();
}

#[test]
fn an_id_in_use_is_refused_and_free_again_afterwards() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    for (number, kind) in [KINDS[1], KINDS[3]].into_iter().enumerate() {
        let poa = pair.poa(&format!("ids{number}"), policies(kind));
        let id = ObjectId::from("seven");
        let first = poa.activate_servant_with_id(&id, servant()).unwrap();
        assert!(matches!(
            poa.activate_servant_with_id(&id, servant()),
            Err(PoaError::ObjectAlreadyActive)
        ));
        poa.deactivate_id("seven").unwrap();
        let second = poa.activate_servant_with_id(&id, servant()).unwrap();
        // Both references denote the same object, so the first one reaches the new servant.
        assert_eq!(first, second);
        assert_eq!(ping(&pair.seen(&first), 1), Ok(2));
    }
    pair.end();
}

#[test]
fn who_makes_ids_is_kept_to() {
    let pair = Pair::new();
    let users = pair.poa("users", policies(KINDS[3]));
    assert!(matches!(users.activate_servant(servant()), Err(PoaError::WrongPolicy(_))));
    let contradiction =
        Policies { implicit_activation: ImplicitActivation::Yes, ..policies(KINDS[3]) };
    assert!(matches!(
        pair.server.root_poa().create_poa("never", contradiction),
        Err(PoaError::InvalidPolicy(_))
    ));
    pair.end();
}

#[test]
fn a_servant_incarnates_one_object_or_many_as_the_policy_says() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let shared = Arc::new(Pinger::default());
    let unique = pair.poa("unique", Policies::default());
    let only = unique.activate_servant(shared.clone()).unwrap();
    assert!(matches!(unique.activate_servant(shared.clone()), Err(PoaError::ServantAlreadyActive)));
    unique.deactivate(&typed(&only)).unwrap();
    unique.activate_servant(shared.clone()).unwrap();

    let multiple = pair
        .poa("multiple", Policies { id_uniqueness: IdUniqueness::Multiple, ..Policies::default() });
    let one = multiple.activate_servant(shared.clone()).unwrap();
    let two = multiple.activate_servant(shared.clone()).unwrap();
    assert_ne!(one, two);
    for reference in [&one, &two] {
        Interface::reference(&pair.seen(reference)).send(&NOTE, |_| Ok(())).unwrap();
        assert_eq!(ping(&pair.seen(reference), 1), Ok(2));
    }
    assert_eq!(shared.notes.load(Ordering::SeqCst), 2);
    pair.end();
}

/// The reference type that the IDL compiler generates for an interface, written by hand.
#[derive(Clone, Debug, PartialEq)]
struct PingerRef(Ref);

impl Interface for PingerRef {
    const REPOSITORY_ID: &'static str = PINGER;

    fn from_ref(reference: Ref) -> Self {
        PingerRef(reference)
    }

    fn reference(&self) -> &Ref {
        &self.0
    }
}

impl oxorb::__gen::ServedBy<Arc<Pinger>> for PingerRef {
    fn servant(servant: Arc<Pinger>) -> Arc<dyn Servant> {
        servant
    }
}

#[test]
fn the_reference_of_a_servant_activates_it_where_that_is_allowed() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let root = pair.server.root_poa();
    let servant = Arc::new(Pinger::default());
    let first: PingerRef = root.this(&servant).unwrap();
    assert_eq!(ping(&pair.seen(&first.0), 1), Ok(2));
    // The servant is active already, so this returns a reference to the same object.
    assert_eq!(root.this::<PingerRef, _>(&servant).unwrap(), first);
    root.deactivate(&first).unwrap();
    let second: PingerRef = root.this(&servant).unwrap();
    assert_ne!(first, second);

    let explicit = pair.poa("explicit", Policies::default());
    assert!(matches!(explicit.this::<PingerRef, _>(&servant), Err(PoaError::ServantNotActive)));
    let active: PingerRef = explicit.activate(servant.clone()).unwrap();
    assert_eq!(explicit.this::<PingerRef, _>(&servant).unwrap(), active);
    pair.end();
}

#[test]
fn a_reference_of_another_adapter_is_refused() {
    let pair = Pair::new();
    let (one, two) = (pair.poa("one", Policies::default()), pair.poa("two", Policies::default()));
    let object = typed(&activate(&one, ""));
    assert!(matches!(two.deactivate(&object), Err(PoaError::WrongAdapter)));
    assert!(matches!(two.reference_to_id(&object), Err(PoaError::WrongAdapter)));
    let elsewhere = pair.client.string_to_object(&nowhere("NameService")).unwrap();
    assert!(matches!(two.deactivate(&elsewhere), Err(PoaError::WrongAdapter)));
    pair.end();
}

#[test]
fn the_tree_is_made_found_and_destroyed() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let root = pair.server.root_poa();
    let parent = pair.poa("parent", policies(KINDS[3]));
    let child = parent.create_poa("child", policies(KINDS[3])).unwrap();
    assert_eq!(root.find_poa("parent").unwrap().name(), "parent");
    assert!(root.find_poa("child").is_none());
    assert!(matches!(
        root.create_poa("parent", Policies::default()),
        Err(PoaError::AdapterAlreadyExists(_))
    ));
    assert!(matches!(
        root.create_poa(&"n".repeat(256), Policies::default()),
        Err(PoaError::NameTooLong(_))
    ));
    // Objects with the same id differ by the paths of their POAs.
    let (above, below) = (activate(&parent, "same"), activate(&child, "same"));
    assert_ne!(above, below);
    let (at_above, at_below) = (pair.seen(&above), pair.seen(&below));
    assert_eq!(ping(&at_above, 1), Ok(2));
    assert_eq!(ping(&at_below, 1), Ok(2));

    child.destroy(true, true).unwrap();
    assert!(matches!(child.destroy(true, true), Err(PoaError::Destroyed)));
    assert!(parent.find_poa("child").is_none());
    assert_gone(&at_below, minor::object_not_exist::NO_POA);
    assert_eq!(ping(&at_above, 1), Ok(2), "the parent lives on");
    assert!(matches!(
        child.activate_servant_with_id(&"late".into(), servant()),
        Err(PoaError::Destroyed)
    ));
    assert!(matches!(child.create_poa("orphan", Policies::default()), Err(PoaError::Destroyed)));

    // The name is free again, and persistent references reach the new POA.
    let child = parent.create_poa("child", policies(KINDS[3])).unwrap();
    assert_gone(&at_below, minor::object_not_exist::NO_OBJECT);
    activate(&child, "same");
    assert_eq!(ping(&at_below, 1), Ok(2));

    parent.destroy(true, true).unwrap();
    assert_gone(&at_above, minor::object_not_exist::NO_POA);
    assert_gone(&at_below, minor::object_not_exist::NO_POA);
    pair.end();
}

#[test]
fn transient_references_end_with_their_poa_even_if_it_comes_again() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    for kind in [KINDS[0], KINDS[1]] {
        let poa = pair.poa("again", policies(kind));
        let old = pair.seen(&activate(&poa, "same"));
        poa.destroy(true, false).unwrap();
        // The new object reuses the slot of the old one.
        let poa = pair.poa("again", policies(kind));
        let new = pair.seen(&activate(&poa, "same"));
        assert_eq!(ping(&new, 1), Ok(2));
        assert_gone(&old, minor::object_not_exist::NO_POA);
        poa.destroy(true, false).unwrap();
    }
    pair.end();
}

#[test]
fn the_systems_ids_are_never_used_twice() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let poa = pair.poa("again", policies(KINDS[2]));
    let old = pair.seen(&activate(&poa, ""));
    poa.destroy(true, false).unwrap();
    let poa = pair.poa("again", policies(KINDS[2]));
    let new = pair.seen(&activate(&poa, ""));
    assert_eq!(ping(&new, 1), Ok(2));
    assert_gone(&old, minor::object_not_exist::NO_OBJECT);
    pair.end();
}

#[test]
fn a_name_is_bound_to_objects_of_this_server_only() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let object = typed(&activate(pair.server.root_poa(), ""));
    let at = address(&object);
    pair.server.bind("here", &object);
    // Bind a name to a foreign object whose key is that name. Its lookup would never end if a name
    // could denote another name.
    let foreign = pair.server.string_to_object(&nowhere("there")).unwrap();
    pair.server.bind("there", &foreign);
    let named = |name: &str| {
        let url = url(&[&at], name);
        pair.client.string_to_object(&url).unwrap()
    };
    assert_eq!(ping(&named("here"), 1), Ok(2));
    assert_gone(&named("there"), minor::object_not_exist::NO_POA);
    assert_eq!(ping(&named("here"), 1), Ok(2));
    pair.end();
}

#[test]
fn a_request_that_runs_outlives_its_object_and_its_poa() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let poa = pair.poa("short", Policies::default());
    let servant = Arc::new(Pinger::default());
    let object = pair.seen(&poa.activate_servant(servant.clone()).unwrap());
    thread::scope(|scope| {
        let closed = servant.gate.lock().unwrap();
        let running = scope.spawn(|| call(&object, &WAIT));
        while servant.at_gate.load(Ordering::SeqCst) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        poa.destroy(true, false).unwrap();
        assert_gone(&object, minor::object_not_exist::NO_POA);
        drop(closed);
        assert_eq!(running.join().unwrap(), Ok(()));
    });
    pair.end();
}

#[test]
fn a_holding_manager_holds_and_lets_go() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let poa = pair.poa("held", Policies::default());
    let object = pair.seen(&activate(&poa, ""));
    poa.manager().hold_requests(false).unwrap();
    let late = ping(&object.with_timeout(Duration::from_millis(50)), 1).unwrap_err();
    assert_eq!(late.kind, SystemExceptionKind::Timeout);
    let held = ping_async(&object, 1);
    poa.manager().activate().unwrap();
    assert_eq!(held.wait(), Ok(2));
    assert_eq!(ping(&object, 1), Ok(2));
    pair.end();
}

#[test]
fn the_end_does_not_wait_for_requests_that_are_held() {
    let _guard = watchdog(LONG / 3);
    let pair = Pair::new();
    let poa = pair.poa("held", Policies::default());
    let object = pair.seen(&activate(&poa, ""));
    // Open the connection with a first call.
    assert_eq!(ping_async(&object, 1).wait(), Ok(2));
    poa.manager().hold_requests(false).unwrap();
    let held = ping_async(&object, 1);
    // Give the request time to arrive. The result is the same if it has not.
    thread::sleep(Duration::from_millis(50));
    pair.server.shutdown(true).unwrap();
    let raised = held.wait().unwrap_err();
    assert_eq!(
        (raised.kind, raised.completed),
        (SystemExceptionKind::Transient, CompletionStatus::No)
    );
    pair.client.shutdown(true).unwrap();
}

#[test]
fn a_discarding_manager_is_transient_and_an_inactive_one_final() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let poa = pair.poa("managed", Policies::default());
    let sibling = pair
        .server
        .root_poa()
        .create_poa_with_manager("sibling", Policies::default(), poa.manager().clone())
        .unwrap();
    let other = pair.poa("other", Policies::default());
    let managed = [pair.seen(&activate(&poa, "")), pair.seen(&activate(&sibling, ""))];
    let unconcerned = pair.seen(&activate(&other, ""));

    poa.manager().discard_requests(false).unwrap();
    for object in &managed {
        assert_eq!(
            ping(object, 1),
            Err(SystemException::transient(minor::transient::DISCARDING, CompletionStatus::No))
        );
        // An unreachable object is not known to be non-existent.
        assert!(object.non_existent().is_err());
    }
    poa.manager().activate().unwrap();
    for object in &managed {
        assert_eq!(ping(object, 1), Ok(2));
    }
    poa.manager().deactivate(true, true).unwrap();
    assert_eq!(poa.manager().state(), ManagerState::Inactive);
    assert!(matches!(poa.manager().activate(), Err(PoaError::AdapterInactive)));
    assert!(matches!(poa.manager().hold_requests(false), Err(PoaError::AdapterInactive)));
    for object in &managed {
        assert_eq!(
            ping(object, 1),
            Err(SystemException::obj_adapter(minor::obj_adapter::INACTIVE, CompletionStatus::No))
        );
    }
    assert_eq!(ping(&unconcerned, 1), Ok(2));
    pair.end();
}

#[test]
fn persistent_references_survive_a_restart_and_transient_ones_do_not_mislead() {
    only_over!(SOCKETS, "other processes do not reach memory");
    let _guard = watchdog(2 * LONG);
    let place = free_place();
    let mut server = Child::start(&place.endpoint, Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let persistent = server.object(&client);
    let transient = |server: &Child| client.string_to_object(&server.transient).unwrap();
    let old = transient(&server);
    assert_eq!(ping(&persistent, 1), Ok(2));
    assert_eq!(ping(&old, 1), Ok(2));
    server.process.kill();
    let server = Child::start(&place.endpoint, Concurrency::ThreadPerConnection);
    let new = transient(&server);
    thread::scope(|scope| {
        // Use a thread that has no private connection to the first server.
        scope.spawn(|| {
            assert_eq!(ping(&persistent, 1), Ok(2));
            assert_eq!(ping(&new, 1), Ok(2));
            // The old reference has the POA name, slot and port of a new object, and must not reach
            // it.
            assert_gone(&old, minor::object_not_exist::NO_POA);
        });
    });
}

static REPOSITORY_ID: Op = Op::twoway("_repository_id");
static NOT_EXISTENT: Op = Op::twoway("_not_existent");
static COMPONENT: Op = Op::twoway("_component");
static POLICY: Op = Op::twoway("_no_such_pseudo_operation");

#[test]
fn every_object_answers_what_every_object_is_asked() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let object = pair.seen(&activate(pair.server.root_poa(), ""));
    // Use a URL, which declares no type id, so that the object itself is queried.
    let (corbaloc, asked) =
        (object.to_corbaloc().unwrap(), |url: &str| pair.client.string_to_object(url).unwrap());
    let object = asked(&corbaloc);
    let reference = object.reference();
    assert_eq!(object.is_a(PINGER), Ok(true));
    assert_eq!(object.is_a("IDL:omg.org/CORBA/Object:1.0"), Ok(true));
    assert_eq!(object.is_a("IDL:test/Other:1.0"), Ok(false));
    assert!(object.narrow::<PingerRef>().unwrap().is_some());
    assert_eq!(object.non_existent(), Ok(false));
    // GIOP 1.0 and 1.1 use this name for `_non_existent`.
    assert_eq!(
        reference.invoke::<bool, SystemException>(&NOT_EXISTENT, |_| Ok(()), |d| d.boolean()),
        Ok(false)
    );
    let id = reference.invoke::<String, SystemException>(
        &REPOSITORY_ID,
        |_| Ok(()),
        |d| Ok(d.string()?.into_owned()),
    );
    assert_eq!(id.as_deref(), Ok(PINGER));
    assert_eq!(
        reference.invoke::<Option<ObjectRef>, SystemException>(
            &COMPONENT,
            |_| Ok(()),
            oxorb::__gen::decode_ref
        ),
        Ok(None)
    );
    let raised = reference.interface().unwrap_err();
    assert_eq!(raised.kind, SystemExceptionKind::IntfRepos);
    let raised = call(&object, &POLICY).unwrap_err();
    assert_eq!(raised.kind, SystemExceptionKind::BadOperation);
    assert_eq!(raised.completed, CompletionStatus::No);
    assert_eq!(ping(&object, 1), Ok(2));
    pair.end();
}

#[test]
fn keys_that_nobody_made_reach_nobody() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let object = pair.seen(&activate(pair.server.root_poa(), ""));
    let at = address(&object);
    for key in [
        "",
        "OX1",
        "OX1a",
        "OX1t",
        "OX1p",
        "OX1p%ff",
        "OX1p%01%ffab",
        "OX1a%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00",
        "NameService",
    ] {
        let url = url(&[&at], key);
        // A URL with an empty key is either invalid or refers to no object.
        if let Ok(nobody) = pair.client.string_to_object(&url) {
            let raised = ping(&nobody, 1).unwrap_err();
            assert_eq!(raised.kind, SystemExceptionKind::ObjectNotExist, "{key:?}");
            assert_eq!(raised.completed, CompletionStatus::No, "{key:?}");
        }
    }
    assert_eq!(ping(&object, 1), Ok(2));
    pair.end();
}

#[test]
fn activation_and_calls_from_many_threads_agree() {
    let _guard = watchdog(LONG);
    let pair = Pair::new();
    let poa = pair.poa("busy", Policies::default());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let local = poa.activate_servant(servant()).unwrap();
                    let object = pair.seen(&local);
                    assert_eq!(ping(&object, 1), Ok(2));
                    poa.deactivate(&typed(&local)).unwrap();
                    assert_gone(&object, minor::object_not_exist::NO_OBJECT);
                }
            });
        }
    });
    pair.end();
}
