//! Three components of a cockpit, as an executable of which plans name the parts.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use avionics::{DisplayRef, Location, Position, RateGeneratorRef, SensorRef, Tick};
use avionics::{display, rate_generator, sensor};
use oxorb::components::CcmException;
use oxorb::deployment::{Implementations, run_locality};
use oxorb::values::Value;

oxorb::include_idl!("avionics");

/// Pushes ticks from a thread of its own, from `activate` to `passivate`.
#[derive(Default)]
struct RateGenerator {
    hertz: AtomicU32,
    stop: Mutex<Option<Sender<()>>>,
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
        let (stop, stopped) = channel::<()>();
        let context = context.clone();
        std::thread::spawn(move || {
            let mut count = 0;
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                count += 1;
                context.push_pulse(Value::new(Tick { count }));
            }
        });
        *self.stop.lock().unwrap() = Some(stop);
        Ok(())
    }

    fn passivate(&self, _: &rate_generator::Context) -> Result<(), CcmException> {
        // The thread ends when its channel does.
        self.stop.lock().unwrap().take();
        Ok(())
    }
}

/// Tells its consumers at each tick that there is a position.
struct Gps;

impl Location for Gps {
    fn position(&self) -> oxorb::Result<Position> {
        Ok(Position { latitude: 48.5, longitude: 11.25 })
    }
}

impl avionics::SensorExecutor for Gps {
    fn location(self: &Arc<Self>, _: &sensor::Context) -> Arc<dyn Location> {
        self.clone()
    }

    fn push_refresh(&self, context: &sensor::Context, tick: &Value<Tick>) -> oxorb::Result<()> {
        context.push_ready(tick);
        Ok(())
    }
}

/// Prints the position of its source whenever that is new.
#[derive(Default)]
struct Display {
    title: Mutex<String>,
}

impl avionics::DisplayExecutor for Display {
    fn title(&self) -> oxorb::Result<String> {
        Ok(self.title.lock().unwrap().clone())
    }

    fn set_title(&self, value: &str) -> oxorb::Result<()> {
        *self.title.lock().unwrap() = value.to_owned();
        Ok(())
    }

    fn push_update(&self, context: &display::Context, tick: &Value<Tick>) -> oxorb::Result<()> {
        let at = context.source()?.position()?;
        let (title, count) = (self.title()?, tick.count);
        println!("{title} {count}: {} {}", at.latitude, at.longitude);
        Ok(())
    }
}

fn main() -> ExitCode {
    run_locality(
        Implementations::new()
            .component::<RateGeneratorRef, _>("create_RateGenerator", RateGenerator::default)
            .component::<SensorRef, _>("create_Gps", || Gps)
            .component::<DisplayRef, _>("create_Display", Display::default),
    )
}
