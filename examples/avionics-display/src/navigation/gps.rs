//! The GPS receiver.

use std::sync::Arc;

use oxorb::values::Value;

use crate::avionics::{self, Location, Position, Tick, sensor};
use crate::cached::Cached;
use crate::clock;

/// Receiver that reads its device when it is triggered, stores the position, and reports a new position.
pub(crate) struct Gps {
    cached: Arc<Cached>,
}

impl Gps {
    pub(crate) fn new() -> Self {
        Gps { cached: Cached::new() }
    }
}

impl avionics::SensorExecutor for Gps {
    fn work(&self) -> oxorb::Result<u32> {
        Ok(self.cached.work())
    }

    fn set_work(&self, value: u32) -> oxorb::Result<()> {
        self.cached.set_work(value)
    }

    fn location(self: &Arc<Self>, _: &sensor::Context) -> Arc<dyn Location> {
        self.cached.clone()
    }

    fn push_refresh(&self, context: &sensor::Context, tick: &Value<Tick>) -> oxorb::Result<()> {
        self.cached.refresh(own_position);
        context.push_ready(tick);
        Ok(())
    }
}

/// Returns a position on a circle above Munich, which takes a minute.
fn own_position() -> Position {
    let angle = (clock::now() as f64 / 60e9).fract() * std::f64::consts::TAU;
    Position { latitude: 48.1372 + angle.sin() / 10.0, longitude: 11.5756 + angle.cos() / 10.0 }
}
