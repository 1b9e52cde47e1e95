//! Rates of suppliers: events beyond a rate are counted, refused or delayed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::nanoseconds;

/// Declared rate of a supplier, and the treatment of events beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Minimum average time between two events; zero: no limit.
    pub period: Duration,
    /// Maximum number of events in a burst, at least 1.
    pub burst: u32,
    /// Treatment of events that exceed the rate.
    pub beyond: Beyond,
}

/// Treatment of events beyond a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The event is only counted.
    Count,
    /// The event is refused.
    Refuse,
    /// The supplier waits until its event is within the rate; the event is refused if the wait would exceed this time.
    Delay(Duration),
}

/// Decision about one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The event is within the rate, or events beyond the rate are only counted.
    Pass,
    /// The event is within the rate after this time. The caller must wait before it accepts the event.
    Wait(Duration),
    /// The event must not be accepted.
    Refuse,
}

/// A token bucket that checks the events of one supplier against its [`Rate`].
///
/// A check costs one atomic exchange and takes no lock.
///
/// ```
/// use std::time::Duration;
/// use oxorb_delivery::{Beyond, Meter, Rate, Verdict};
///
/// let rate = Rate { period: Duration::from_millis(10), burst: 2, beyond: Beyond::Refuse };
/// let meter = Meter::new(rate);
/// let verdicts = [0, 0, 0, 10_000_000].map(|now| meter.admit(now));
/// assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass, Verdict::Refuse, Verdict::Pass]);
/// assert_eq!((meter.beyond(), meter.refused()), (1, 1));
/// ```
#[derive(Debug)]
pub struct Meter {
    rate: Rate,
    period: u64,
    /// Maximum time by which the events of a burst may be early.
    tolerance: u64,
    /// Time at which the next event is due at the declared rate.
    due: AtomicU64,
    beyond: AtomicU64,
    refused: AtomicU64,
}

impl Meter {
    /// Creates a full bucket.
    pub fn new(rate: Rate) -> Meter {
        let period = nanoseconds(rate.period);
        Meter {
            rate,
            period,
            tolerance: period.saturating_mul(u64::from(rate.burst.max(1) - 1)),
            due: AtomicU64::new(0),
            beyond: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns the decision about an event that arrives at `now`, in nanoseconds of any monotonic clock.
    pub fn admit(&self, now: u64) -> Verdict {
        let mut verdict = Verdict::Pass;
        let mut early = 0;
        let judged = self.due.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |due| {
            early = due.saturating_sub(self.tolerance).saturating_sub(now);
            verdict = self.verdict(early);
            match (verdict, early) {
                (Verdict::Refuse, _) => None,
                // Do not charge the bucket for an event that is only counted. Otherwise the debt would grow, and all
                // later events would count as beyond the rate.
                (Verdict::Pass, 1..) => None,
                _ => Some(due.max(now).saturating_add(self.period)),
            }
        });
        if early > 0 {
            self.beyond.fetch_add(1, Ordering::Relaxed);
        }
        if judged.is_err() && verdict == Verdict::Refuse {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        verdict
    }

    fn verdict(&self, early: u64) -> Verdict {
        match (early, self.rate.beyond) {
            (0, _) | (_, Beyond::Count) => Verdict::Pass,
            (_, Beyond::Refuse) => Verdict::Refuse,
            (early, Beyond::Delay(most)) if early > nanoseconds(most) => Verdict::Refuse,
            (early, Beyond::Delay(_)) => Verdict::Wait(Duration::from_nanos(early)),
        }
    }

    /// Returns the rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns the number of events that exceeded the rate.
    pub fn beyond(&self) -> u64 {
        self.beyond.load(Ordering::Relaxed)
    }

    /// Returns the number of refused events.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}
