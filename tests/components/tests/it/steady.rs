//! Costs in steady state: allocations and locks of reading receptacles and pushing events.

use std::sync::{Arc, OnceLock};

use oxorb::components::{CcmException, Container, Pushed};
use oxorb::{Link, Orb, Value};
use oxorb_component_tests::avionics::{
    self, Alarm, DisplayRef, Position, PositionRef, RateGenRef, Tick, display, rate_gen,
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

#[test]
fn events_and_receptacles_cost_what_their_calls_cost() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let container = Container::builder(orb.root_poa(), "cockpit").create().unwrap();
    let (shown, pulse) = (Arc::new(OnceLock::new()), Arc::new(OnceLock::new()));
    let display: DisplayRef = container.install("display", Display(shown.clone())).unwrap();
    let rate: RateGenRef = container.install("rate", RateGen(pulse.clone())).unwrap();
    let north: PositionRef = orb.root_poa().activate(North).unwrap();
    display.connect_source(Some(&north)).unwrap();
    display.connect_others(Some(&north)).unwrap();
    let update = display.get_consumer_update().unwrap().unwrap();
    rate.subscribe_pulse(Some(&update)).unwrap();
    display.configuration_complete().unwrap();
    rate.configuration_complete().unwrap();
    assert!(lock::taken().is_some(), "locks are counted in debug builds");

    let context = shown.get().unwrap();
    let read = || {
        let others = context.others();
        let others = others.iter().all(|other| other.latitude() == Ok(90.0));
        others && context.source().unwrap().latitude() == Ok(90.0)
    };
    assert_eq!(hundred(read), (0, 0), "receptacles");

    let pulse = pulse.get().unwrap();
    let event: Link<Tick> = Value::new(Tick { count: 1 }).into();
    let plain = hundred(|| update.push_tick(&event).is_ok());
    let one = Pushed { delivered: 1, failed: 0 };
    assert_eq!(hundred(|| pulse.push_pulse(event.clone()) == one), plain, "events");
    orb.shutdown(true).unwrap();
}

/// Returns the allocations and locks of a hundred calls, after as many others.
fn hundred(call: impl Fn() -> bool) -> (u64, u64) {
    assert!((0..100).all(|_| call()));
    let before = lock::taken().unwrap_or_default();
    let (all, made) = allocations(|| (0..100).all(|_| call()));
    assert!(all);
    (made.count, lock::taken().unwrap_or_default() - before)
}
