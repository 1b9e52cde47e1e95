//! All combinations of the seven standard policies: which are legal, and the result of each
//! operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use oxorb_core::{Interface, ObjectRef, Orb, Ref, Servant};
use oxorb_object::{CompletionStatus, SystemException, SystemExceptionKind, minor};
use oxorb_poa::{
    Bidirectional, Cookie, IdAssignment, IdUniqueness, ImplicitActivation, Lifespan, Lookup,
    ObjectId, Poa, PoaError, Policies, Policy, Refused, RequestProcessing, RtPolicies,
    ServantActivator, ServantLocator, ServantRetention, ThreadPolicy,
};
use oxorb_testkit::watchdog;

use crate::common::*;

const THREADS: [ThreadPolicy; 3] =
    [ThreadPolicy::OrbControlled, ThreadPolicy::SingleThread, ThreadPolicy::MainThread];
const LIFESPANS: [Lifespan; 2] = [Lifespan::Transient, Lifespan::Persistent];
const UNIQUENESS: [IdUniqueness; 2] = [IdUniqueness::Unique, IdUniqueness::Multiple];
const ASSIGNMENT: [IdAssignment; 2] = [IdAssignment::System, IdAssignment::User];
const IMPLICIT: [ImplicitActivation; 2] = [ImplicitActivation::No, ImplicitActivation::Yes];
const RETENTION: [ServantRetention; 2] = [ServantRetention::Retain, ServantRetention::NonRetain];
const PROCESSING: [RequestProcessing; 3] = [
    RequestProcessing::ActiveObjectMapOnly,
    RequestProcessing::DefaultServant,
    RequestProcessing::ServantManager,
];

fn all() -> Vec<Policies> {
    let mut all = Vec::new();
    for thread in THREADS {
        for lifespan in LIFESPANS {
            for id_uniqueness in UNIQUENESS {
                for id_assignment in ASSIGNMENT {
                    for implicit_activation in IMPLICIT {
                        for servant_retention in RETENTION {
                            for request_processing in PROCESSING {
                                all.push(Policies {
                                    thread,
                                    lifespan,
                                    id_uniqueness,
                                    id_assignment,
                                    implicit_activation,
                                    servant_retention,
                                    request_processing,
                                    lookup: Lookup::Active,
                                    bidirectional: Bidirectional::AsOrb,
                                    large_payloads: None,
                                    secure_only: false,
                                    realtime: RtPolicies::default(),
                                });
                            }
                        }
                    }
                }
            }
        }
    }
    all
}

/// Forbidden combination of policies, from the specification's tables (CORBA 3.3 part 1, 15.3.8 and
/// 15.3.9.2): id uniqueness, id assignment, implicit activation, servant retention and request
/// processing, where `None` stands for any value. The last field is the index of the first policy
/// involved, in a list in the order of the policy types.
type Forbidden = (
    Option<IdUniqueness>,
    Option<IdAssignment>,
    Option<ImplicitActivation>,
    Option<ServantRetention>,
    Option<RequestProcessing>,
    u16,
);

const FORBIDDEN: [Forbidden; 4] = [
    (
        None,
        None,
        None,
        Some(ServantRetention::NonRetain),
        Some(RequestProcessing::ActiveObjectMapOnly),
        5,
    ),
    (Some(IdUniqueness::Unique), None, None, None, Some(RequestProcessing::DefaultServant), 2),
    (None, Some(IdAssignment::User), Some(ImplicitActivation::Yes), None, None, 3),
    (None, None, Some(ImplicitActivation::Yes), Some(ServantRetention::NonRetain), None, 4),
];

/// Returns the index that InvalidPolicy must contain; `None` if the combination is legal.
fn forbidden(policies: &Policies) -> Option<u16> {
    fn is<T: PartialEq>(wanted: Option<T>, given: T) -> bool {
        wanted.is_none_or(|wanted| wanted == given)
    }
    let rows = FORBIDDEN.iter().filter(|row| {
        is(row.0, policies.id_uniqueness)
            && is(row.1, policies.id_assignment)
            && is(row.2, policies.implicit_activation)
            && is(row.3, policies.servant_retention)
            && is(row.4, policies.request_processing)
    });
    rows.map(|row| row.5).min()
}

#[test]
fn illegal_combinations_are_refused_with_the_index_and_no_others() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let (mut legal, mut illegal) = (0, 0);
    for policies in all() {
        let created = root.create_poa(&format!("{legal}"), policies);
        match (created, forbidden(&policies)) {
            (Ok(_), None) => legal += 1,
            (Err(PoaError::InvalidPolicy(invalid)), Some(index)) => {
                assert_eq!(invalid.index, index, "{policies:?}");
                illegal += 1;
            }
            (created, expected) => panic!("{policies:?}: {created:?}, expected {expected:?}"),
        }
    }
    assert_eq!((legal, illegal), (126, 162));
    orb.shutdown(true).unwrap();
}

#[test]
fn a_list_names_the_first_policy_that_takes_part() {
    use Policy::{
        Lifespan as Life, RequestProcessing as Processing, ServantRetention as Retention,
    };
    let cases: [(&[Policy], u16); 5] = [
        (&[Processing(RequestProcessing::DefaultServant)], 0),
        (&[Life(Lifespan::Persistent), Processing(RequestProcessing::DefaultServant)], 1),
        (
            &[
                Policy::ImplicitActivation(ImplicitActivation::Yes),
                Life(Lifespan::Persistent),
                Policy::IdAssignment(IdAssignment::User),
            ],
            0,
        ),
        (&[Life(Lifespan::Persistent), Retention(ServantRetention::NonRetain)], 1),
        // The same kind of policy occurs twice.
        (&[Life(Lifespan::Persistent), Life(Lifespan::Transient)], 1),
    ];
    for (list, index) in cases {
        assert_eq!(Policies::from_list(list).unwrap_err().index, index, "{list:?}");
    }
    for policies in all().iter().filter(|policies| policies.check().is_ok()) {
        assert_eq!(Policies::from_list(&policies.to_list()), Ok(*policies));
    }
}

/// Servant manager that returns the same servant for every request.
struct Giver(Arc<Echo>);

impl ServantActivator for Giver {
    fn incarnate(&self, _: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, Refused> {
        Ok(self.0.clone())
    }

    fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {}
}

impl ServantLocator for Giver {
    fn preinvoke(
        &self,
        _: &ObjectId,
        _: &Poa,
        _: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), Refused> {
        Ok((self.0.clone(), None))
    }

    fn postinvoke(
        &self,
        _: &ObjectId,
        _: &Poa,
        _: &str,
        _: Cookie,
        _: Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        Ok(())
    }
}

/// Runs `test` while another thread serves as the main thread.
fn with_main_thread(orb: &Orb, test: impl FnOnce()) {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::SeqCst) {
                orb.perform_work();
                thread::sleep(std::time::Duration::from_micros(200));
            }
        });
        struct End<'a>(&'a AtomicBool);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let _end = End(&ended);
        test();
    });
}

#[test]
fn every_legal_combination_does_what_its_policies_say() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    with_main_thread(&orb, || {
        for (number, policies) in all().into_iter().enumerate() {
            if let Ok(poa) = root.create_poa(&format!("poa{number}"), policies) {
                check(&poa);
                poa.destroy(true, true).unwrap();
            }
        }
    });
    orb.shutdown(true).unwrap();
}

/// Calls the object, and returns the result.
fn called(object: &Ref) -> Result<(), (SystemExceptionKind, u32)> {
    match same(object, 7) {
        Ok(7) => Ok(()),
        Ok(other) => panic!("7 came back as {other}"),
        Err(raised) => {
            assert_eq!(raised.completed, CompletionStatus::No);
            Err((raised.kind, raised.minor))
        }
    }
}

/// Checks all operations of the POA against its policies.
fn check(poa: &Poa) {
    let policies = poa.policies();
    let retain = policies.servant_retention == ServantRetention::Retain;
    let system = policies.id_assignment == IdAssignment::System;
    let unique = policies.id_uniqueness == IdUniqueness::Unique;
    let implicit = policies.implicit_activation == ImplicitActivation::Yes;
    let default = policies.request_processing == RequestProcessing::DefaultServant;
    let manager = policies.request_processing == RequestProcessing::ServantManager;
    let wrong = |error: &PoaError| matches!(error, PoaError::WrongPolicy(_));
    let at = format!("{policies:?}");

    // Check references to objects that are not active.
    let absent: Ref = if system {
        assert!(matches!(poa.create_reference_of("mine", ECHO), Err(PoaError::UnknownId)));
        poa.create_reference::<ObjectRef>().unwrap().reference().clone()
    } else {
        assert!(wrong(&poa.create_reference::<ObjectRef>().unwrap_err()), "{at}");
        reference(poa, "mine")
    };
    let absent_id = poa.reference_to_id(&ObjectRef::from_ref(absent.clone())).unwrap();
    assert_eq!(
        called(&absent),
        Err(match policies.request_processing {
            RequestProcessing::ActiveObjectMapOnly =>
                (SystemExceptionKind::ObjectNotExist, minor::object_not_exist::NO_OBJECT),
            RequestProcessing::DefaultServant =>
                (SystemExceptionKind::ObjAdapter, minor::obj_adapter::NO_DEFAULT_SERVANT),
            RequestProcessing::ServantManager =>
                (SystemExceptionKind::ObjAdapter, minor::obj_adapter::NO_SERVANT_MANAGER),
        }),
        "{at}"
    );
    let gone = match retain || default {
        true => |error: &PoaError| matches!(error, PoaError::ObjectNotActive),
        false => |error: &PoaError| matches!(error, PoaError::WrongPolicy(_)),
    };
    assert!(gone(&poa.id_to_servant(&absent_id).err().unwrap()), "{at}");
    let as_object = ObjectRef::from_ref(absent.clone());
    assert!(gone(&poa.reference_to_servant(&as_object).err().unwrap()), "{at}");
    let not_there = |error: &PoaError| match retain {
        true => matches!(error, PoaError::ObjectNotActive),
        false => matches!(error, PoaError::WrongPolicy(_)),
    };
    assert!(not_there(&poa.id_to_reference(&absent_id).unwrap_err()), "{at}");
    assert!(not_there(&poa.deactivate_id(&absent_id).unwrap_err()), "{at}");

    // Check explicit activation, with ids of the system and with given ids.
    let servant = Echo::new();
    let activated = poa.activate_servant(servant.clone());
    match retain && system {
        true => {
            let object = activated.unwrap();
            assert_eq!(called(&object), Ok(()), "{at}");
            check_active(poa, &object, &servant);
        }
        false => assert!(wrong(&activated.unwrap_err()), "{at}"),
    }
    let servant = Echo::new();
    let activated = poa.activate_servant_with_id(&absent_id, servant.clone());
    match retain {
        true => {
            let object = activated.unwrap();
            assert_eq!(object, absent, "{at}");
            assert_eq!(called(&absent), Ok(()), "{at}");
            assert!(matches!(
                poa.activate_servant_with_id(&absent_id, Echo::new()),
                Err(PoaError::ObjectAlreadyActive)
            ));
            check_active(poa, &object, &servant);
        }
        false => assert!(wrong(&activated.unwrap_err()), "{at}"),
    }

    // Check implicit activation.
    let servant = Echo::new();
    let found = poa.servant_to_reference(servant.clone());
    if retain && implicit {
        let first = found.unwrap();
        assert_eq!(called(&first), Ok(()), "{at}");
        let second = poa.servant_to_reference(servant).unwrap();
        assert_eq!(first == second, unique, "{at}");
    } else if default || (retain && unique) {
        assert!(matches!(found, Err(PoaError::ServantNotActive)), "{at}");
    } else {
        assert!(wrong(&found.unwrap_err()), "{at}");
    }

    // Check the default servant and the servant manager.
    let servant = Echo::new();
    if default {
        assert!(matches!(poa.servant(), Err(PoaError::NoServant)));
        poa.set_servant(servant.clone()).unwrap();
        assert_eq!(called(&absent), Ok(()), "{at}");
        assert_eq!(poa.id_to_servant(&absent_id).unwrap().identity(), servant.identity());
    } else {
        assert!(wrong(&poa.set_servant(servant.clone()).unwrap_err()), "{at}");
        assert!(wrong(&poa.servant().err().unwrap()), "{at}");
    }
    let activator = poa.set_servant_activator(Giver(servant.clone()));
    let locator = poa.set_servant_locator(Giver(servant.clone()));
    if !manager {
        assert!(wrong(&activator.unwrap_err()), "{at}");
        assert!(wrong(&locator.unwrap_err()), "{at}");
        assert!(wrong(&poa.servant_activator().err().unwrap()), "{at}");
    } else {
        let (right, other) = match retain {
            true => (activator, locator),
            false => (locator, activator),
        };
        right.unwrap();
        let kind = other.unwrap_err().system().unwrap();
        assert_eq!(kind.minor, minor::obj_adapter::NO_SERVANT_MANAGER, "{at}");
        let again = match retain {
            true => poa.set_servant_activator(Giver(servant.clone())),
            false => poa.set_servant_locator(Giver(servant.clone())),
        };
        let again = again.unwrap_err().system().unwrap();
        assert_eq!(again.minor, minor::bad_inv_order::SERVANT_MANAGER_SET, "{at}");
        assert_eq!(called(&absent), Ok(()), "{at}");
        assert_eq!(servant.calls(), 1);
        // The servant stays in the map of active objects only if the POA retains servants.
        assert_eq!(poa.id_to_servant(&absent_id).is_ok(), retain, "{at}");
    }
}

/// Checks that an active object is found in all ways, and then deactivates it.
fn check_active(poa: &Poa, object: &Ref, servant: &Arc<Echo>) {
    let policies = poa.policies();
    let unique = policies.id_uniqueness == IdUniqueness::Unique;
    let typed = ObjectRef::from_ref(object.clone());
    let id = poa.reference_to_id(&typed).unwrap();
    assert_eq!(poa.id_to_reference(&id).unwrap(), *object);
    assert_eq!(poa.id_to_servant(&id).unwrap().identity(), servant.identity());
    let found = poa.reference_to_servant(&typed).unwrap();
    assert_eq!(found.identity(), servant.identity());
    if unique {
        assert_eq!(poa.servant_to_id(servant.clone()).unwrap(), id);
        assert_eq!(poa.servant_to_reference(servant.clone()).unwrap(), *object);
    }
    if policies.id_assignment == IdAssignment::System {
        let again = poa.activate_servant(servant.clone());
        match unique {
            true => assert!(matches!(again, Err(PoaError::ServantAlreadyActive))),
            false => assert_ne!(again.unwrap(), *object),
        }
    }
    poa.deactivate(&typed).unwrap();
    assert!(matches!(poa.deactivate(&typed), Err(PoaError::ObjectNotActive)));
}
