//! Clocks of queues and timers.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) use oxorb_sys::clock::LONGEST_WAIT;

/// A clock that counts nanoseconds and never runs backwards.
pub trait Clock: Debug + Send + Sync {
    /// Returns the nanoseconds since a fixed moment.
    fn now(&self) -> u64;
}

/// The monotonic clock of the system. Reading it usually needs no system call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> u64 {
        oxorb_sys::clock::monotonic_nanoseconds()
    }
}

/// A clock that advances only on request, for tests and simulations.
///
/// ```
/// use std::time::Duration;
/// use oxorb_delivery::{Clock, ManualClock};
///
/// let clock = ManualClock::default();
/// clock.advance(Duration::from_micros(3));
/// assert_eq!(clock.now(), 3_000);
/// ```
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(nanoseconds(by), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Returns the end of a wait that begins at `begin`. A limit of more than [`LONGEST_WAIT`] counts as
/// `LONGEST_WAIT`.
pub(crate) fn end_of_wait(begin: Instant, limit: Duration) -> Instant {
    begin + limit.min(LONGEST_WAIT)
}

/// Returns a duration in nanoseconds, capped at `u64::MAX` (584 years).
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_end_at_their_limit_however_long_it_is() {
        let begin = Instant::now();
        let day = Duration::from_secs(24 * 3600);
        assert_eq!(end_of_wait(begin, day).duration_since(begin), day);
        assert_eq!(end_of_wait(begin, Duration::MAX).duration_since(begin), LONGEST_WAIT);
    }
}
