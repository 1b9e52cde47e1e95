//! Rates of suppliers, enforced on wish.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::nanoseconds;

/// Rate that a supplier declared, and what happens beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Time between two events; zero: no limit.
    pub period: Duration,
    /// Events that may come at once; from 1.
    pub burst: u32,
    /// Answer to events beyond the rate.
    pub beyond: Beyond,
}

/// Answer to events beyond a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The event is only counted.
    Count,
    /// The event is refused.
    Refuse,
    /// The supplier waits until its event is within the rate; refused if that takes longer.
    Delay(Duration),
}

/// Verdict about one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the rate, or only counted.
    Pass,
    /// Within the rate after this time, which the caller waits.
    Wait(Duration),
    /// The event is not to be taken.
    Refuse,
}

/// A token bucket, by which events of one supplier are counted against its [`Rate`].
///
/// One atomic exchange per event and no lock.
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
    /// Time that a burst may run ahead of the rate.
    tolerance: u64,
    /// Moment at which the next event is due if they come in time.
    due: AtomicU64,
    beyond: AtomicU64,
    refused: AtomicU64,
}

impl Meter {
    /// Creates a bucket that is full.
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

    /// Judges an event that comes `now`, in nanoseconds of any clock that does not go back.
    pub fn admit(&self, now: u64) -> Verdict {
        let mut verdict = Verdict::Pass;
        let mut early = 0;
        let judged = self.due.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |due| {
            early = due.saturating_sub(self.tolerance).saturating_sub(now);
            verdict = self.verdict(early);
            match (verdict, early) {
                (Verdict::Refuse, _) => None,
                // Events that are only counted use up nothing, or none would pass again.
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

    /// Returns the number of events that came beyond the rate.
    pub fn beyond(&self) -> u64 {
        self.beyond.load(Ordering::Relaxed)
    }

    /// Returns the number of events that were refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}
