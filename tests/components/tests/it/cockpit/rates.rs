//! Rates that a container enforces at ports.

use std::collections::BTreeMap;
use std::time::Duration;

use oxorb::components::{InstallError, PortRate, Pushed};
use oxorb::values::Value;
use oxorb::{SystemExceptionKind, minor};
use oxorb_component_tests::avionics::{GpsRef, PositionRef, Tick};

use crate::cockpit::executors::Gps;
use crate::cockpit::scene::{Cockpit, Scene};

/// Period longer than any test.
const HOUR: Duration = Duration::from_secs(3_600);

const ONE: Pushed = Pushed { delivered: 1, failed: 0 };
const REFUSED: Pushed = Pushed { delivered: 0, failed: 1 };

fn limits(port: &str, rate: PortRate) -> BTreeMap<String, PortRate> {
    BTreeMap::from([(port.to_owned(), rate)])
}

/// A cockpit whose rate generator pulses the active receiver.
fn pulsing(scene: &Scene) -> Cockpit {
    let cockpit = scene.cockpit();
    let refresh = cockpit.gps.get_consumer_refresh().unwrap();
    cockpit.rate.subscribe_pulse(refresh.as_ref()).unwrap();
    cockpit.gps.configuration_complete().unwrap();
    cockpit.rate.configuration_complete().unwrap();
    cockpit
}

fn push(cockpit: &Cockpit) -> Pushed {
    cockpit.pulse.get().unwrap().push_pulse(Value::new(Tick { count: 1 }))
}

fn refreshed(cockpit: &Cockpit) -> usize {
    cockpit.gps_log.lines().iter().filter(|line| line.starts_with("refresh")).count()
}

#[test]
fn a_source_pushes_no_more_events_than_its_rate_lets_through() {
    let scene = Scene::new();
    // One, and two that come too early.
    scene.container.limit_ports("rate", limits("pulse", PortRate::new(HOUR).tolerance(2 * HOUR)));
    let cockpit = pulsing(&scene);
    let pushed: Vec<Pushed> = (0..5).map(|_| push(&cockpit)).collect();
    assert_eq!(pushed, [ONE, ONE, ONE, REFUSED, REFUSED]);
    assert_eq!(refreshed(&cockpit), 3);
    let rate = scene.container.component("rate").unwrap();
    assert_eq!((rate.refused("pulse"), rate.refused("late")), (Some(2), None));
}

#[test]
fn a_sink_refuses_events_beyond_its_rate_and_stays_connected() {
    let scene = Scene::with(|container| container.push_failures(1));
    scene.container.limit_ports("gps", limits("refresh", PortRate::new(HOUR)));
    let cockpit = pulsing(&scene);
    assert_eq!([push(&cockpit), push(&cockpit), push(&cockpit)], [ONE, REFUSED, REFUSED]);
    assert_eq!(refreshed(&cockpit), 1);
    // A client that pushes by itself receives the reason.
    let refresh = cockpit.gps.get_consumer_refresh().unwrap().unwrap();
    let refused = refresh.push_tick(&Value::new(Tick { count: 2 }).into()).unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::Transient);
    assert_eq!(refused.minor, minor::transient::PORT_RATE);
    assert_eq!(scene.container.component("gps").unwrap().refused("refresh"), Some(3));
}

#[test]
fn a_facet_refuses_calls_beyond_its_rate_from_inside_and_outside() {
    let scene = Scene::new();
    scene.container.limit_ports("gps", limits("location", PortRate::new(HOUR).tolerance(HOUR)));
    let gps: GpsRef = scene.container.install("gps", Gps::at(48.5)).unwrap();
    let inside: PositionRef = gps.provide_location().unwrap().unwrap();
    let outside = scene.seen(&inside);
    assert_eq!((inside.latitude(), outside.latitude()), (Ok(48.5), Ok(48.5)));
    for location in [&inside, &outside] {
        let refused = location.latitude().unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::Transient);
        assert_eq!(refused.minor, minor::transient::PORT_RATE);
    }
    // The other operations of the component are not limited.
    assert!(gps.provide_location().unwrap().is_some());
    assert_eq!(scene.container.component("gps").unwrap().refused("location"), Some(2));
}

#[test]
fn a_rate_that_was_exceeded_lets_events_through_again() {
    let scene = Scene::new();
    scene.container.limit_ports("rate", limits("pulse", PortRate::new(Duration::from_millis(300))));
    let cockpit = pulsing(&scene);
    let rate = scene.container.component("rate").unwrap();
    let mut delivered = 0;
    // Ends when something was refused and something after it was not.
    loop {
        let refused = rate.refused("pulse").unwrap();
        delivered += push(&cockpit).delivered;
        if refused > 0 && rate.refused("pulse") == Some(refused) {
            break;
        }
    }
    assert_eq!(refreshed(&cockpit), delivered);
}

#[test]
fn a_rate_of_a_port_that_is_not_there_is_refused() {
    let scene = Scene::new();
    for port in ["nowhere", "source"] {
        scene.container.limit_ports("display", limits(port, PortRate::new(HOUR)));
        let display = crate::cockpit::executors::Display::default();
        let refused = scene
            .container
            .install::<oxorb_component_tests::avionics::DisplayRef, _>("display", display);
        let refused = refused.unwrap_err();
        assert!(matches!(&refused, InstallError::Rate(name) if name == port), "{refused}");
        assert!(scene.container.component("display").is_none());
    }
    scene.container.limit_ports("display", BTreeMap::new());
    scene.cockpit();
}
