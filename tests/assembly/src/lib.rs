//! Executors of the avionics display, as written by a component developer: the crate named by the plans' artifacts.
//!
//! The crate is also a shared library, with [`Implementations`] by entry point. The programs in `src/bin` are the
//! output of `oxorb deploy static` for these plans (`golden/`), compiled unchanged.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use oxorb::components::CcmException;
use oxorb::deployment::Implementations;
use oxorb::values::Value;

oxorb::include_idl!("avionics");

use crate::avionics::{
    DisplayRef, Position, RateGeneratorRef, SensorRef, Tick, display, rate_generator, sensor,
};

oxorb::deployment::export!(implementations, avionics_interfaces::HASH);

/// Returns all components, by the entry points of the plans.
pub fn implementations() -> Implementations {
    Implementations::new()
        .component::<RateGeneratorRef, _>(
            "create_Avionics_RateGenerator_Impl",
            create_avionics_rate_generator_impl,
        )
        .component::<SensorRef, _>("create_Gps", create_gps)
        .component::<DisplayRef, _>("create_Avionics_Display_Impl", create_avionics_display_impl)
        .component::<SensorRef, _>("create_CollisionRadar", create_collision_radar)
        .component::<DisplayRef, _>("create_WarningDisplay", create_warning_display)
}

/// Pushes `hertz` ticks per second from its own thread.
#[derive(Default)]
struct RateGenerator {
    hertz: AtomicU32,
    ends: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl avionics::RateGeneratorExecutor for RateGenerator {
    fn hertz(&self) -> oxorb::Result<u32> {
        Ok(self.hertz.load(Ordering::Relaxed))
    }

    fn set_hertz(&self, value: u32) -> oxorb::Result<()> {
        self.hertz.store(value, Ordering::Relaxed);
        Ok(())
    }

    fn activate(&self, context: &rate_generator::Context) -> Result<(), CcmException> {
        let period = Duration::from_secs(1) / self.hertz.load(Ordering::Relaxed).max(1);
        let (ends, context) = (Arc::clone(&self.ends), context.clone());
        let tick = move || {
            while !ends.load(Ordering::Relaxed) {
                context.push_pulse(Value::new(Tick {}));
                thread::park_timeout(period);
            }
        };
        let mut thread = self.thread.lock().expect("nobody panics with it in hand");
        let named = thread::Builder::new().name("rate generator".to_owned());
        *thread = Some(named.spawn(tick).expect("the system has a thread to spare"));
        Ok(())
    }

    fn passivate(&self, _: &rate_generator::Context) -> Result<(), CcmException> {
        self.ends.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().expect("nobody panics with it in hand").take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            // A panic was reported by the thread itself.
            let _ = thread.join();
        }
        Ok(())
    }
}

/// Sensor that knows its position, and reports that at each tick.
struct Sensor {
    at: Position,
}

impl avionics::Location for Sensor {
    fn position(&self) -> oxorb::Result<Position> {
        Ok(self.at)
    }
}

impl avionics::SensorExecutor for Sensor {
    fn location(self: &Arc<Self>, _: &sensor::Context) -> Arc<dyn avionics::Location> {
        self.clone()
    }

    fn push_refresh(&self, context: &sensor::Context, tick: &Value<Tick>) -> oxorb::Result<()> {
        context.push_ready(tick);
        Ok(())
    }
}

/// Prints the position of its source whenever it changes.
#[derive(Default)]
struct Display {
    title: Mutex<String>,
}

impl avionics::DisplayExecutor for Display {
    fn title(&self) -> oxorb::Result<String> {
        Ok(self.title.lock().expect("nobody panics with it in hand").clone())
    }

    fn set_title(&self, value: &str) -> oxorb::Result<()> {
        value.clone_into(&mut self.title.lock().expect("nobody panics with it in hand"));
        Ok(())
    }

    fn push_update(&self, context: &display::Context, _: &Value<Tick>) -> oxorb::Result<()> {
        let at = context.source()?.position()?;
        println!("{}: {} {}", self.title()?, at.latitude, at.longitude);
        Ok(())
    }
}

/// The entry point `create_Avionics_RateGenerator_Impl`.
pub fn create_avionics_rate_generator_impl() -> impl avionics::RateGeneratorExecutor {
    RateGenerator::default()
}

/// The entry point `create_Gps`.
pub fn create_gps() -> impl avionics::SensorExecutor {
    let (latitude, longitude) = (48.5, 11.25);
    Sensor { at: Position { latitude, longitude } }
}

/// The entry point `create_Avionics_Display_Impl`.
pub fn create_avionics_display_impl() -> impl avionics::DisplayExecutor {
    Display::default()
}

/// The entry point `create_CollisionRadar`.
pub fn create_collision_radar() -> impl avionics::SensorExecutor {
    let (latitude, longitude) = (48.75, 11.5);
    Sensor { at: Position { latitude, longitude } }
}

/// The entry point `create_WarningDisplay`.
pub fn create_warning_display() -> impl avionics::DisplayExecutor {
    Display::default()
}

/// Page for component developers, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/roles/component-developer.md")]
struct ComponentDeveloperPage;
