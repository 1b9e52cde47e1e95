//! Rates that a container enforces at ports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::__gen::Op;
use oxorb::components::{InstallError, LimitedPort, PortRate, Pushed};
use oxorb::values::Value;
use oxorb::{Interface as _, SystemException, SystemExceptionKind, minor};
use oxorb_component_tests::avionics::{
    GpsRef, Position, PositionRef, StationExecutor, StationRef, Tick, station,
};

use crate::cockpit::executors::Gps;
use crate::cockpit::scene::{Cockpit, Scene};

/// Period longer than any test.
const HOUR: Duration = Duration::from_secs(3_600);

/// Limit that only a failing test reaches.
const LONG: Duration = Duration::from_secs(60);

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
    // One event is within the rate, and two come too early.
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

/// Executor of a station that counts the calls of its facet.
struct Antenna(Arc<AtomicUsize>);

impl Position for Antenna {
    fn latitude(&self) -> oxorb::Result<f64> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(48.5)
    }
}

impl StationExecutor for Antenna {
    fn antenna(self: &Arc<Self>, _: &station::Context) -> Arc<dyn Position> {
        self.clone()
    }
}

/// Request for the latitude to which no reply is expected.
static ONEWAY: Op = Op::oneway("_get_latitude");

fn wait_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "oneways are lost");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_facet_refuses_asynchronous_calls_and_oneways_beyond_its_rate() {
    let scene = Scene::new();
    // Four calls at once.
    let rate = PortRate::new(HOUR).tolerance(3 * HOUR);
    scene.container.limit_ports("station", limits("antenna", rate));
    let calls = Arc::new(AtomicUsize::new(0));
    let executor = Antenna(Arc::clone(&calls));
    let station: StationRef = scene.container.install("station", executor).unwrap();
    let inside: PositionRef = station.provide_antenna().unwrap().unwrap();
    let outside = scene.seen(&inside);
    let send = || {
        for antenna in [&inside, &outside] {
            antenna.reference().send(&ONEWAY, |_| Ok(())).unwrap();
        }
    };
    for antenna in [&inside, &outside] {
        assert_eq!(antenna.latitude_async().wait(), Ok(48.5));
    }
    send();
    wait_until(|| calls.load(Ordering::Relaxed) == 4);

    for antenna in [&inside, &outside] {
        let refused: SystemException = antenna.latitude_async().wait().unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::Transient);
        assert_eq!(refused.minor, minor::transient::PORT_RATE);
    }
    // A oneway beyond the rate is dropped and counted.
    send();
    let component = scene.container.component("station").unwrap();
    wait_until(|| component.refused("antenna") == Some(4));
    assert_eq!(calls.load(Ordering::Relaxed), 4);
}

#[test]
fn a_rate_for_ports_of_another_kind_is_refused() {
    let scene = Scene::new();
    let refused = |port: &str, kind: LimitedPort| {
        scene.container.limit_ports("gps", limits(port, PortRate::new(HOUR).only_at(kind)));
        let refused = scene.container.install::<GpsRef, _>("gps", Gps::at(48.5)).unwrap_err();
        assert!(scene.container.component("gps").is_none());
        refused.to_string()
    };
    for port in ["location", "refresh"] {
        let why = refused(port, LimitedPort::Source);
        let wanted = "applies to a source, but the port is a facet or sink";
        assert_eq!(why, format!("the rate of port {port:?} {wanted}"));
    }
    assert_eq!(
        refused("ready", LimitedPort::FacetOrSink),
        "the rate of port \"ready\" applies to a facet or sink, but the port is a source"
    );
    let rate = PortRate::new(HOUR).only_at(LimitedPort::Source);
    scene.container.limit_ports("gps", limits("ready", rate));
    scene.container.install::<GpsRef, _>("gps", Gps::at(48.5)).unwrap();
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
