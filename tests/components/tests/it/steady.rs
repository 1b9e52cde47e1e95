//! Costs in steady state: allocations and locks of reading receptacles and pushing events.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oxorb::Orb;
use oxorb::components::{CcmException, Container, PortRate, Pushed};
use oxorb::values::{Value, ValueLink};
use oxorb_component_tests::avionics::{
    self, Alarm, DisplayRef, Position, PositionRef, RateGenRef, Tick, TickConsumerRef, display,
    rate_gen,
};
use oxorb_core::lock;
use oxorb_testkit::alloc::allocations;

struct North;

impl Position for North {
    fn latitude(&self) -> oxorb::Result<f64> {
        Ok(90.0)
    }
}

struct Display(Arc<OnceLock<display::Context>>);

impl avionics::DisplayExecutor for Display {
    fn push_update(&self, _: &display::Context, _: &Value<Tick>) -> oxorb::Result<()> {
        Ok(())
    }

    fn push_warning(&self, _: &display::Context, _: &Value<Alarm>) -> oxorb::Result<()> {
        Ok(())
    }

    fn activate(&self, context: &display::Context) -> Result<(), CcmException> {
        let _ = self.0.set(context.clone());
        Ok(())
    }
}

struct RateGen(Arc<OnceLock<rate_gen::Context>>);

impl avionics::RateGenExecutor for RateGen {
    fn hertz(&self) -> oxorb::Result<u32> {
        Ok(1)
    }

    fn set_hertz(&self, _: u32) -> oxorb::Result<()> {
        Ok(())
    }

    fn activate(&self, context: &rate_gen::Context) -> Result<(), CcmException> {
        let _ = self.0.set(context.clone());
        Ok(())
    }
}

/// A rate generator whose pulses update a display, both in one container.
struct Scene {
    orb: Orb,
    _container: Container,
    update: TickConsumerRef,
    shown: Arc<OnceLock<display::Context>>,
    pulse: Arc<OnceLock<rate_gen::Context>>,
}

impl Scene {
    /// Installs the components. The rate of the pulses is enforced if there is one.
    fn new(rate: Option<PortRate>) -> Scene {
        let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let container = Container::builder(orb.root_poa(), "cockpit").create().unwrap();
        let (shown, pulse) = (Arc::new(OnceLock::new()), Arc::new(OnceLock::new()));
        let display: DisplayRef = container.install("display", Display(shown.clone())).unwrap();
        let rates = rate.map(|rate| ("pulse".to_owned(), rate));
        container.limit_ports("rate", rates.into_iter().collect());
        let generator: RateGenRef = container.install("rate", RateGen(pulse.clone())).unwrap();
        let north: PositionRef = orb.root_poa().activate(North).unwrap();
        display.connect_source(Some(&north)).unwrap();
        display.connect_others(Some(&north)).unwrap();
        let update = display.get_consumer_update().unwrap().unwrap();
        generator.subscribe_pulse(Some(&update)).unwrap();
        display.configuration_complete().unwrap();
        generator.configuration_complete().unwrap();
        assert!(lock::taken().is_some(), "locks are counted in debug builds");
        Scene { orb, _container: container, update, shown, pulse }
    }

    /// Returns the cost of a hundred pulses with this result.
    fn pulses(&self, result: Pushed) -> (u64, u64) {
        let pulse = self.pulse.get().unwrap();
        let event: ValueLink<Tick> = Value::new(Tick { count: 1 }).into();
        hundred(|| pulse.push_pulse(event.clone()) == result)
    }
}

const DELIVERED: Pushed = Pushed { delivered: 1, failed: 0 };
const REFUSED: Pushed = Pushed { delivered: 0, failed: 1 };

#[test]
fn events_and_receptacles_cost_what_their_calls_cost() {
    let scene = Scene::new(None);
    let context = scene.shown.get().unwrap();
    let read = || {
        let others = context.others();
        let others = others.iter().all(|other| other.latitude() == Ok(90.0));
        others && context.source().unwrap().latitude() == Ok(90.0)
    };
    assert_eq!(hundred(read), (0, 0), "receptacles");

    let event: ValueLink<Tick> = Value::new(Tick { count: 1 }).into();
    let plain = hundred(|| scene.update.push_tick(&event).is_ok());
    assert_eq!(scene.pulses(DELIVERED), plain, "events");
    scene.orb.shutdown(true).unwrap();
}

#[test]
fn an_enforced_rate_costs_no_allocation_and_no_lock() {
    let (plain, limited) = (Scene::new(None), Scene::new(Some(PortRate::new(Duration::ZERO))));
    assert_eq!(limited.pulses(DELIVERED), plain.pulses(DELIVERED));
    // The rate is one event per hour, and the first event uses it up.
    let exhausted = Scene::new(Some(PortRate::new(Duration::from_secs(3_600))));
    let event: ValueLink<Tick> = Value::new(Tick { count: 1 }).into();
    assert_eq!(exhausted.pulse.get().unwrap().push_pulse(event), DELIVERED);
    assert_eq!(exhausted.pulses(REFUSED), (0, 0));
    for scene in [plain, limited, exhausted] {
        scene.orb.shutdown(true).unwrap();
    }
}

/// Returns the allocations and locks of a hundred calls, after as many others.
fn hundred(call: impl Fn() -> bool) -> (u64, u64) {
    assert!((0..100).all(|_| call()));
    let before = lock::taken().unwrap_or_default();
    let (all, made) = allocations(|| (0..100).all(|_| call()));
    assert!(all);
    (made.count, lock::taken().unwrap_or_default() - before)
}
