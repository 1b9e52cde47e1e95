//! Lightweight CCM: no descriptions.

use oxorb::SystemExceptionKind;

use crate::cockpit::scene::Scene;

#[test]
fn a_lightweight_component_describes_nothing_and_works() {
    let scene = Scene::with(|container| container.lightweight(true));
    let cockpit = scene.cockpit();
    let kind = |error: oxorb::SystemException| error.kind;
    let absent = SystemExceptionKind::NoImplement;
    let gps = &cockpit.gps;
    assert_eq!(gps.get_all_facets().map_err(kind).unwrap_err(), absent);
    assert_eq!(gps.get_all_receptacles().map_err(kind).unwrap_err(), absent);
    assert_eq!(gps.get_all_consumers().map_err(kind).unwrap_err(), absent);
    assert_eq!(gps.get_all_ports().map_err(kind).unwrap_err(), absent);
    assert_eq!(gps.same_component(None).map_err(kind), Err(absent));
    let named = gps.get_named_facets(&["location".to_owned()]).unwrap_err();
    assert!(named.to_string().contains("NO_IMPLEMENT"), "{named}");
    let location = gps.provide_facet("location").unwrap();
    cockpit.display.connect("source", location.as_ref()).unwrap();
    cockpit.display.configuration_complete().unwrap();
}
