//! PortableServer::Current.

use std::sync::{Arc, Mutex};

use oxorb_core::{Interface as _, ObjectRef, Ref};
use oxorb_poa::{IdUniqueness, NoContext, Poa, PoaError, Policies};
use oxorb_testkit::watchdog;

use crate::common::*;

#[test]
fn outside_a_request_there_is_none() {
    let (orb, root) = start();
    let current = root.current();
    assert_eq!(current.poa(), Err(NoContext));
    assert_eq!(current.object_id(), Err(NoContext));
    assert!(current.servant().is_err());
    assert!(current.reference::<ObjectRef>().is_err());
    orb.shutdown(true).unwrap();
}

#[test]
fn it_is_the_object_that_is_called_also_of_calls_within_calls() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let policies = Policies { id_uniqueness: IdUniqueness::Multiple, ..persistent() };
    let (outer, inner) =
        (root.create_poa("outer", policies).unwrap(), root.create_poa("inner", policies).unwrap());
    let seen: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let note = {
        let (seen, current) = (seen.clone(), root.current());
        move || {
            let id = current.object_id().unwrap();
            let id = String::from_utf8(id.as_bytes().to_vec()).unwrap();
            let poa = current.poa().unwrap();
            assert_eq!(
                *current.reference::<ObjectRef>().unwrap().reference(),
                reference(&poa, id.as_str())
            );
            seen.lock().unwrap().push((poa.name().to_owned(), id));
        }
    };
    let noted = note.clone();
    let below = Echo::that(noted);
    let target: Ref = inner.activate_servant_with_id(&"two".into(), below).unwrap();
    let above = Echo::that(move || {
        note();
        assert_eq!(same(&target, 1), Ok(1));
        note();
    });
    for id in ["one", "three"] {
        let object = outer.activate_servant_with_id(&id.into(), above.clone());
        assert_eq!(same(&object.unwrap(), 1), Ok(1));
    }
    let pair = |poa: &str, id: &str| (poa.to_owned(), id.to_owned());
    assert_eq!(
        *seen.lock().unwrap(),
        [
            pair("outer", "one"),
            pair("inner", "two"),
            pair("outer", "one"),
            pair("outer", "three"),
            pair("inner", "two"),
            pair("outer", "three"),
        ]
    );
    orb.shutdown(true).unwrap();
}

#[test]
fn each_orb_has_its_own() {
    let _guard = watchdog(LONG);
    let ((one, root_of_one), (two, root_of_two)) = (start(), start());
    let (current_of_one, current_of_two) = (root_of_one.current(), root_of_two.current());
    let servant = Echo::that(move || {
        assert!(current_of_one.object_id().is_ok());
        assert_eq!(current_of_two.object_id(), Err(NoContext));
    });
    assert_eq!(same(&root_of_one.activate_servant(servant).unwrap(), 1), Ok(1));
    one.shutdown(true).unwrap();
    two.shutdown(true).unwrap();
}

#[test]
fn within_a_request_a_servant_knows_which_of_its_objects_it_is() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let policies = Policies { id_uniqueness: IdUniqueness::Multiple, ..persistent() };
    let poa = root.create_poa("many", policies).unwrap();
    type Own = Option<(Poa, Arc<Echo>)>;
    let slot: Arc<Mutex<Own>> = Arc::default();
    let own = slot.clone();
    let servant = Echo::that(move || {
        let (poa, servant) = own.lock().unwrap().clone().unwrap();
        let id = poa.servant_to_id(servant).unwrap();
        assert_eq!(id, poa.current().object_id().unwrap());
    });
    *slot.lock().unwrap() = Some((poa.clone(), servant.clone()));
    for id in ["one", "two"] {
        let object = poa.activate_servant_with_id(&id.into(), servant.clone());
        assert_eq!(same(&object.unwrap(), 1), Ok(1));
    }
    assert!(matches!(poa.servant_to_id(servant), Err(PoaError::WrongPolicy(_))));
    *slot.lock().unwrap() = None;
    orb.shutdown(true).unwrap();
}
