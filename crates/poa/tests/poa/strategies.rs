//! All lookup strategies find the same objects.

use oxorb_core::{Interface as _, ObjectRef};
use oxorb_object::minor;
use oxorb_poa::{IdAssignment, Lifespan, Lookup, ObjectId, Poa, PoaError, Policies};
use oxorb_testkit::watchdog;

use crate::common::*;

const MANY: usize = 300;

fn id(n: usize) -> ObjectId {
    ObjectId::from(format!("object-{n}"))
}

/// Returns POAs with user ids, one for each strategy and lifespan.
fn poas(root: &Poa) -> Vec<Poa> {
    let mut poas = Vec::new();
    for lookup in [Lookup::Active, Lookup::Hash, Lookup::Linear, Lookup::Perfect] {
        for lifespan in [Lifespan::Transient, Lifespan::Persistent] {
            let policies = Policies { lookup, lifespan, ..persistent() };
            let poa = root
                .new_poa(&format!("{lookup:?}{lifespan:?}"))
                .policies(policies)
                .known_ids((0..MANY).map(id));
            poas.push(poa.create().unwrap());
        }
    }
    poas
}

#[test]
fn objects_are_found_and_absent_ones_are_not() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    for poa in poas(&root) {
        let at = poa.name();
        let objects: Vec<_> =
            (0..MANY).map(|n| poa.activate_servant_with_id(&id(n), Echo::new()).unwrap()).collect();
        for (n, object) in objects.iter().enumerate() {
            assert_eq!(same(object, n as i64), Ok(n as i64), "{at}");
        }
        for n in (0..MANY).step_by(2) {
            poa.deactivate_id(id(n)).unwrap();
        }
        for (n, object) in objects.iter().enumerate() {
            match same(object, 1) {
                Ok(1) => assert_eq!(n % 2, 1, "{at}"),
                Err(raised) => {
                    assert_eq!(n % 2, 0, "{at}");
                    assert_eq!(raised.minor, minor::object_not_exist::NO_OBJECT);
                }
                Ok(other) => panic!("1 came back as {other}"),
            }
        }
        let stranger = reference(&poa, "stranger");
        assert_eq!(same(&stranger, 1).unwrap_err().minor, minor::object_not_exist::NO_OBJECT);
        let strange = poa.activate_servant_with_id(&"stranger".into(), Echo::new());
        match poa.policies().lookup {
            Lookup::Perfect => assert!(matches!(strange, Err(PoaError::UnknownId))),
            _ => assert_eq!(same(&strange.unwrap(), 1), Ok(1)),
        }
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn ids_of_the_system_are_found_by_place_or_by_hash() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    for lookup in [Lookup::Active, Lookup::Hash, Lookup::Linear] {
        let policies = Policies { lookup, ..Policies::default() };
        let poa = root.create_poa(&format!("{lookup:?}"), policies).unwrap();
        let objects: Vec<_> =
            (0..MANY).map(|_| poa.activate_servant(Echo::new()).unwrap()).collect();
        for (n, object) in objects.iter().enumerate() {
            assert_eq!(same(object, n as i64), Ok(n as i64));
        }
        let first = ObjectRef::from_ref(objects[0].clone());
        poa.deactivate(&first).unwrap();
        let next = poa.activate_servant(Echo::new()).unwrap();
        assert_eq!(same(&next, 1), Ok(1));
        // The old reference must not reach the object that reuses its slot.
        assert!(same(&objects[0], 1).is_err());
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn a_perfect_hash_needs_ids_of_ours_each_once() {
    let (orb, root) = start();
    let perfect = Policies { lookup: Lookup::Perfect, ..persistent() };
    let refused = [
        root.new_poa("x").policies(perfect).known_ids(["one", "one"]).create(),
        root.create_poa("y", Policies { id_assignment: IdAssignment::System, ..perfect }),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(PoaError::InvalidPolicy(_))));
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn depth_makes_no_difference_to_what_is_found() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let mut poa = root;
    for depth in 0..40 {
        poa = poa.create_poa(&format!("level{depth}"), persistent()).unwrap();
        let object = poa.activate_servant_with_id(&"one".into(), Echo::new()).unwrap();
        assert_eq!(same(&object, depth), Ok(depth));
    }
    orb.shutdown(true).unwrap();
}
