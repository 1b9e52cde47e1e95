//! Limits of a container.

use oxorb::Interface;
use oxorb::components::{InstallError, receptacles};
use oxorb_component_tests::avionics::{GpsRef, display, rate_gen};

use crate::cockpit::executors::Gps;
use crate::cockpit::scene::Scene;

#[test]
fn components() {
    let scene = Scene::with(|container| container.max_components(2));
    let install = |name: &str| scene.container.install::<GpsRef, _>(name, Gps::at(1.0));
    let first = install("a").unwrap();
    install("b").unwrap();
    let full = install("c").unwrap_err();
    assert!(matches!(full, InstallError::Full(2)), "{full}");
    first.remove().unwrap();
    install("c").unwrap();
    let twice = install("b").unwrap_err();
    assert!(matches!(twice, InstallError::Name(_)), "{twice}");
}

#[test]
fn connections() {
    let scene = Scene::with(|container| container.max_connections(2));
    let cockpit = scene.cockpit();
    let location = cockpit.gps.provide_location().unwrap();
    let consumer = cockpit.display.get_consumer_update().unwrap();
    for _ in 0..2 {
        cockpit.display.connect_others(location.as_ref()).unwrap();
        cockpit.rate.subscribe_pulse(consumer.as_ref()).unwrap();
    }
    let error = cockpit.display.connect_others(location.as_ref()).unwrap_err();
    assert!(matches!(error, display::ConnectOthersError::ExceededConnectionLimit(_)));
    let object = location.unwrap().unchecked_narrow();
    let error = cockpit.display.connect("others", Some(&object)).unwrap_err();
    assert!(matches!(error, receptacles::ConnectError::ExceededConnectionLimit(_)));
    let error = cockpit.rate.subscribe_pulse(consumer.as_ref()).unwrap_err();
    assert!(matches!(error, rate_gen::SubscribePulseError::ExceededConnectionLimit(_)));
}

#[test]
fn a_thousand_connections_come_and_go() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let location = cockpit.gps.provide_location().unwrap();
    for _ in 0..1000 {
        let cookie = cockpit.display.connect_others(location.as_ref()).unwrap();
        cockpit.display.disconnect_others(&cookie).unwrap();
    }
    assert_eq!(cockpit.display.get_connections_others().unwrap().len(), 0);
}
