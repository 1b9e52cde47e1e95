//! References, ids, templates; across two runs of a server.

use oxorb_core::{Interface as _, ObjectRef};
use oxorb_object::{IiopProfile, TaggedComponent, minor};
use oxorb_poa::{IdAssignment, Lifespan, PoaError, Policies};
use oxorb_testkit::net::free_port;
use oxorb_testkit::watchdog;

use crate::common::*;

#[test]
fn persistent_references_lead_to_the_same_object_in_a_second_life() {
    let _guard = watchdog(LONG);
    let port = free_port();
    let live = || {
        start_with(|options| {
            options.listen.clear();
            options.listen_on(&format!("iiop://127.0.0.1:{port}")).unwrap();
        })
    };
    let (first, root) = live();
    let deep = root.create_poa("bank", persistent()).unwrap();
    let deep = deep.create_poa("accounts", persistent()).unwrap();
    let named = deep.activate_servant_with_id(&"savings".into(), Echo::new()).unwrap();
    let system = Policies { id_assignment: IdAssignment::System, ..persistent() };
    let numbered = root.create_poa("numbered", system).unwrap();
    let counted = numbered.activate_servant(Echo::new()).unwrap();
    let id = numbered.reference_to_id(&ObjectRef::from_ref(counted.clone())).unwrap();
    let transient = root.activate_servant(Echo::new()).unwrap();
    let texts = [&named, &counted, &transient].map(ToString::to_string);
    first.shutdown(true).unwrap();

    let (second, root) = live();
    let [named, counted, transient] =
        texts.map(|text| second.string_to_object(&text).unwrap().reference().clone());
    // Create the POAs in another order than in the first run.
    let numbered = root.create_poa("numbered", system).unwrap();
    numbered.activate_servant_with_id(&id, Echo::new()).unwrap();
    let deep = root.create_poa("bank", persistent()).unwrap();
    let deep = deep.create_poa("accounts", persistent()).unwrap();
    let again = deep.activate_servant_with_id(&"savings".into(), Echo::new()).unwrap();
    root.activate_servant(Echo::new()).unwrap();
    assert_eq!(again.ior(), named.ior());
    assert_eq!(same(&named, 1), Ok(1));
    assert_eq!(same(&counted, 2), Ok(2));
    assert_eq!(same(&transient, 3).unwrap_err().minor, minor::object_not_exist::NO_POA);
    second.shutdown(true).unwrap();
}

#[test]
fn a_reference_is_its_own_poas() {
    let (orb, root) = start();
    for lifespan in [Lifespan::Transient, Lifespan::Persistent] {
        let policies = Policies { lifespan, ..persistent() };
        let one = root.create_poa(&format!("one{lifespan:?}"), policies).unwrap();
        let two = root.create_poa(&format!("two{lifespan:?}"), policies).unwrap();
        let object = ObjectRef::from_ref(reference(&one, "x"));
        assert_eq!(one.reference_to_id(&object).unwrap().as_bytes(), b"x");
        for wrong in [
            two.reference_to_id(&object).err(),
            two.reference_to_servant(&object).err(),
            two.deactivate(&object).err(),
        ] {
            assert!(matches!(wrong, Some(PoaError::WrongAdapter)));
        }
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn templates_make_references_and_components_are_in_them() {
    let (orb, root) = start();
    let mark = TaggedComponent { tag: 0x4f58_0077, data: vec![1, 2, 3] };
    let poa =
        root.new_poa("marked").policies(persistent()).component(mark.clone()).create().unwrap();
    let made = poa.template().make_object(ECHO, "x").unwrap();
    assert_eq!(made, reference(&poa, "x"));
    assert_eq!(poa.template().adapter_name(), ["RootPOA", "marked"]);
    let profile = IiopProfile::parse(&made.ior().profiles[0]).unwrap();
    assert!(profile.components.contains(&mark));
    let plain = root.create_poa("plain", persistent()).unwrap();
    let profile = IiopProfile::parse(&reference(&plain, "x").ior().profiles[0]).unwrap();
    assert!(!profile.components.contains(&mark));
    orb.shutdown(true).unwrap();
}

#[test]
fn a_poa_knows_its_place() {
    let (orb, root) = start();
    let one = root.create_poa("one", persistent()).unwrap();
    let two = one.create_poa("two", persistent()).unwrap();
    assert_eq!(two.adapter_name(), ["RootPOA", "one", "two"]);
    assert_eq!(two.parent(), Some(one.clone()));
    assert_eq!(root.parent(), None);
    assert_ne!(one.id(), two.id());
    assert!(one.children() == [two]);
    orb.shutdown(true).unwrap();
}
