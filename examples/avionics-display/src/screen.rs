//! Common part of displays: a title, the time that drawing takes, and lines on standard output in place of a device.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::avionics::{LocationRef, Tick};
use crate::clock;

/// Screen that prints each picture as a line on standard output.
#[derive(Default)]
pub(crate) struct Screen {
    title: Mutex<String>,
    /// Time of drawing in microseconds.
    work: AtomicU32,
}

impl Screen {
    pub(crate) fn title(&self) -> String {
        let title = self.title.lock().unwrap_or_else(PoisonError::into_inner);
        title.clone()
    }

    pub(crate) fn set_title(&self, value: &str) {
        let mut title = self.title.lock().unwrap_or_else(PoisonError::into_inner);
        value.clone_into(&mut title);
    }

    pub(crate) fn work(&self) -> u32 {
        self.work.load(Ordering::Relaxed)
    }

    pub(crate) fn set_work(&self, microseconds: u32) -> oxorb::Result<()> {
        let work = clock::bounded(microseconds, 0, 1_000_000)?;
        self.work.store(work, Ordering::Relaxed);
        Ok(())
    }

    /// Gets the value, draws it, and reports the time from its tick to the complete picture.
    pub(crate) fn draw(&self, source: &LocationRef, tick: &Tick) -> oxorb::Result<()> {
        let position = source.position()?;
        clock::work(self.work());
        let after = clock::now().saturating_sub(tick.released) / 1_000;
        let line = format!(
            "{}: tick={} latitude={:.4} longitude={:.4} after_us={after}\n",
            self.title(),
            tick.number,
            position.latitude,
            position.longitude,
        );
        // A closed output is no failure of the display.
        let _ = std::io::stdout().lock().write_all(line.as_bytes());
        Ok(())
    }
}
