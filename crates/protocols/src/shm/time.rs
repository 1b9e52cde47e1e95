//! Time-outs, and the elapsed time of one read or write.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time-out in nanoseconds, or none.
#[derive(Debug)]
pub(crate) struct Timeout(AtomicU64);

impl Timeout {
    const NONE: u64 = u64::MAX;

    pub(crate) fn set(&self, timeout: Option<Duration>) {
        let nanos = timeout.and_then(|time| u64::try_from(time.as_nanos()).ok());
        self.0.store(nanos.unwrap_or(Self::NONE), Ordering::Relaxed);
    }
}

impl Default for Timeout {
    fn default() -> Self {
        Self(AtomicU64::new(Self::NONE))
    }
}

/// Elapsed time and time limit of one read or write.
pub(crate) struct Clock {
    begun: Instant,
    limit: Option<Duration>,
}

impl Clock {
    pub(crate) fn new(timeout: &Timeout) -> Self {
        let nanos = timeout.0.load(Ordering::Relaxed);
        Self {
            begun: Instant::now(),
            limit: (nanos != Timeout::NONE).then(|| Duration::from_nanos(nanos)),
        }
    }

    pub(crate) fn passed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Returns the time left until `end` or the time-out, whichever is earlier, and `None` after
    /// it; [`Duration::MAX`] is forever.
    pub(crate) fn left(&self, end: Duration) -> Option<Duration> {
        let end = self.limit.map_or(end, |limit| limit.min(end));
        if end == Duration::MAX {
            return Some(end);
        }
        end.checked_sub(self.passed()).filter(|left| !left.is_zero())
    }
}
