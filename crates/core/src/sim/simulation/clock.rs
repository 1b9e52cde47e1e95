//! Clock of the world that a thread belongs to; the system's clock for other threads.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use super::world::here;

/// Returns the time at which all worlds begin.
fn beginning() -> Instant {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    *BEGINNING.get_or_init(Instant::now)
}

/// Day on which all worlds begin: 2026-01-01.
const DAY: Duration = Duration::from_secs(1_767_225_600);

pub(crate) fn now() -> Instant {
    match here() {
        Some(here) => beginning() + Duration::from_nanos(here.now()),
        None => Instant::now(),
    }
}

pub(crate) fn since(moment: Instant) -> Duration {
    now().saturating_duration_since(moment)
}

pub(crate) fn time_of_day() -> SystemTime {
    match here() {
        Some(here) => SystemTime::UNIX_EPOCH + DAY + Duration::from_nanos(here.now()),
        None => SystemTime::now(),
    }
}

pub(crate) fn monotonic_nanoseconds() -> u64 {
    // The result is never 0, as on a machine that has booted.
    here().map_or(0, |here| here.now()) + 1
}

/// Time between two ticks of the coarse clock.
const TICK: u64 = 4_000_000;

pub(crate) fn coarse_resolution() -> u64 {
    TICK
}

pub(crate) fn coarse_nanoseconds() -> u64 {
    monotonic_nanoseconds() / TICK * TICK
}
