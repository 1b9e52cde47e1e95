//! The collision radar: the interface of the GPS receiver around another device.

use std::sync::Arc;

use oxorb::values::Value;

use crate::avionics::{self, Location, Position, Tick, sensor};
use crate::cached::Cached;
use crate::clock;

/// Radar that finds the nearest obstacle when it is triggered, and then reports a new position.
pub(crate) struct CollisionRadar {
    cached: Arc<Cached>,
}

impl CollisionRadar {
    pub(crate) fn new() -> Self {
        CollisionRadar { cached: Cached::new() }
    }
}

impl avionics::SensorExecutor for CollisionRadar {
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
        self.cached.refresh(nearest_obstacle);
        context.push_ready(tick);
        Ok(())
    }
}

/// Returns the position of another aircraft, which circles in the opposite direction.
fn nearest_obstacle() -> Position {
    let angle = (clock::now() as f64 / 45e9).fract() * std::f64::consts::TAU;
    Position { latitude: 48.1372 + angle.cos() / 10.0, longitude: 11.5756 + angle.sin() / 10.0 }
}
