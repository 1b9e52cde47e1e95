//! Common part of sensors: a device that is slow to read, and its last value.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::avionics::{Location, Position};
use crate::clock;

/// Reading that is served at once, and refreshed by a slow device.
#[derive(Default)]
pub(crate) struct Cached {
    /// Time of a read in microseconds.
    work: AtomicU32,
    position: Mutex<Option<Position>>,
}

impl Cached {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn work(&self) -> u32 {
        self.work.load(Ordering::Relaxed)
    }

    pub(crate) fn set_work(&self, microseconds: u32) -> oxorb::Result<()> {
        let work = clock::bounded(microseconds, 0, 1_000_000)?;
        self.work.store(work, Ordering::Relaxed);
        Ok(())
    }

    /// Reads the slow device, and stores the value.
    pub(crate) fn refresh(&self, read: impl FnOnce() -> Position) {
        clock::work(self.work());
        let position = read();
        *self.position.lock().unwrap_or_else(PoisonError::into_inner) = Some(position);
    }
}

impl Location for Cached {
    fn position(&self) -> oxorb::Result<Position> {
        let position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(position.unwrap_or(Position { latitude: f64::NAN, longitude: f64::NAN }))
    }
}
