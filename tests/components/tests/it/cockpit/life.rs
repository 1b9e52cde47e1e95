//! The order of a component's life.

use oxorb::Interface;
use oxorb::components::{LifeCycleError, Phase};
use oxorb_component_tests::avionics::{DisplayRef, GpsRef};

use crate::cockpit::executors::{Display, Gps};
use crate::cockpit::scene::Scene;

#[test]
fn a_client_runs_a_component_through_its_life() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let gps = scene.container.component("gps").unwrap();
    assert_eq!(gps.phase(), Phase::Installed);
    cockpit.gps.configuration_complete().unwrap();
    assert_eq!(gps.phase(), Phase::Active);
    cockpit.gps.remove().unwrap();
    assert_eq!(gps.phase(), Phase::Removed);
    let expected =
        ["set_session_context gps", "configuration_complete", "activate", "passivate", "remove"];
    assert_eq!(cockpit.gps_log.lines(), expected);
    assert!(scene.container.component("gps").is_none());
    assert_eq!(cockpit.gps.non_existent(), Ok(true));
    // The name of the removed component can be used again.
    let _: GpsRef = scene.container.install("gps", Gps::at(2.0)).unwrap();
}

#[test]
fn phases_come_in_order() {
    let scene = Scene::with(|container| container.explicit_activation(true));
    let cockpit = scene.cockpit();
    let gps = scene.container.component_of(&cockpit.gps).unwrap();
    let order = |from, to| Err(LifeCycleError::Order { from, to });
    assert_eq!(gps.activate(), order(Phase::Installed, Phase::Active));
    assert_eq!(gps.passivate(), order(Phase::Installed, Phase::Passive));
    cockpit.gps.configuration_complete().unwrap();
    assert_eq!(gps.phase(), Phase::Configured, "only its owner activates it");
    assert_eq!(gps.configuration_complete(), order(Phase::Configured, Phase::Configured));
    assert!(cockpit.gps.configuration_complete().is_err());
    gps.activate().unwrap();
    assert_eq!(gps.activate(), order(Phase::Active, Phase::Active));
    gps.remove().unwrap();
    assert_eq!(gps.remove(), order(Phase::Removed, Phase::Removed));
}

#[test]
fn an_executor_refuses_its_configuration_until_it_is_connected() {
    let scene = Scene::new();
    let display = Display { strict: true, ..Display::default() };
    let log = display.log.clone();
    let display: DisplayRef = scene.container.install("display", display).unwrap();
    let display = scene.seen(&display);
    assert!(display.configuration_complete().is_err());
    assert_eq!(
        log.lines(),
        [
            "receptacle `source` is not connected: call connect_source of the component, or connect it in the plan"
        ]
    );
    let gps: GpsRef = scene.container.install("gps", Gps::at(3.0)).unwrap();
    display.connect_source(gps.provide_location().unwrap().as_ref()).unwrap();
    display.configuration_complete().unwrap();
}

#[test]
fn removal_happens_even_if_the_executor_objects() {
    let scene = Scene::new();
    let gps: GpsRef = scene.container.install("gps", Gps::at(66.0)).unwrap();
    let gps = scene.seen(&gps);
    let location = gps.provide_location().unwrap().unwrap();
    let failed = gps.remove().unwrap_err().to_string();
    assert!(failed.contains("RemoveFailure: reason 2"), "{failed}");
    assert_eq!(location.non_existent(), Ok(true));
    assert!(scene.container.components().is_empty());
}

#[test]
fn an_executor_that_refuses_its_context_leaves_nothing() {
    let scene = Scene::new();
    let refused = scene.container.install::<GpsRef, _>("gps", Gps::at(f64::NAN));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("set_session_context raised"), "{refused}");
    assert!(scene.container.component("gps").is_none());
    let _: GpsRef = scene.container.install("gps", Gps::at(1.0)).unwrap();
}

#[test]
fn a_destroyed_container_gives_everything_back() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    cockpit.gps.configuration_complete().unwrap();
    scene.container.destroy();
    assert_eq!(cockpit.gps_log.lines().last().unwrap(), "remove");
    assert!(cockpit.gps.offset().is_err());
    let late = scene.container.install::<GpsRef, _>("late", Gps::at(1.0));
    assert_eq!(
        late.unwrap_err().to_string(),
        "the container is destroyed, or the component was removed while it was being installed; install it again, if \
         necessary in another container"
    );
}
