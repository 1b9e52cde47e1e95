//! Limit on the rate of requests: a token bucket, and requests that were taken from it in advance.
//!
//! Reading the clock takes most instructions of a request within its rate. A bucket that is at least half full
//! therefore gives several requests at one reading of the clock. The next requests are taken from these, without a
//! reading.
//!
//! Requests taken in advance are paid for, so the rate is never exceeded for long. But the bucket may be full again
//! before they are used, so they may add to a burst. Their number is bounded by the requests of [`AHEAD`], and by a
//! part of the burst. It is 0 for low rates, which are therefore exact.

use super::bucket::Bucket;
use super::rule::RequestRate;
use crate::threads::sync::atomic::AtomicU64;
use crate::threads::sync::atomic::Ordering::{AcqRel, Relaxed};

/// Time in nanoseconds whose requests may be taken in advance: the default quantum of budgets.
const AHEAD: u64 = 1_000_000;

/// Divisor of a burst: this part of it may be taken in advance.
const BURST_PART: u64 = 16;

/// Limit on the rate of requests of one account.
#[derive(Debug, Default)]
pub(super) struct Rate {
    bucket: Bucket,
    /// Cost of a request, in nanoseconds.
    interval: AtomicU64,
    /// Number of requests that the bucket may give in advance at one reading of the clock.
    most_ahead: AtomicU64,
    /// Number of requests that were taken from the bucket in advance and are not used yet.
    ahead: AtomicU64,
    /// Half of the bucket's depth, in nanoseconds.
    half: AtomicU64,
}

impl Rate {
    /// Changes the rate. What was used stays used.
    pub(super) fn set(&self, rate: RequestRate, now: u64) {
        // The interval is rounded up, so that the rate is never exceeded.
        let interval = 1_000_000_000u64.div_ceil(rate.per_second.max(1).into());
        let burst = u64::from(rate.burst.max(1));
        let depth = interval.saturating_mul(burst);
        let before = self.interval.swap(interval, Relaxed);
        self.most_ahead.store((AHEAD / interval).min(burst / BURST_PART), Relaxed);
        let unused = self.ahead.swap(0, AcqRel);
        self.bucket.refund(now, before.saturating_mul(unused));
        self.bucket.rescale(now, interval, before);
        self.bucket.set_depth(depth);
        self.half.store(depth / 2, Relaxed);
    }

    /// Takes one request; returns false, and takes nothing, if the rate is exhausted. Calls `now`, which reads the
    /// clock, only if no request was taken in advance.
    #[inline(always)]
    pub(super) fn take(&self, now: impl FnOnce() -> u64) -> bool {
        let mut ahead = self.ahead.load(Relaxed);
        while ahead > 0 {
            match self.ahead.compare_exchange_weak(ahead, ahead - 1, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(other) => ahead = other,
            }
        }
        self.take_from_bucket(now)
    }

    #[inline(never)]
    fn take_from_bucket(&self, now: impl FnOnce() -> u64) -> bool {
        let now = now();
        let interval = self.interval.load(Relaxed);
        let more = self.most_ahead.load(Relaxed);
        let several = interval.saturating_mul(more + 1);
        // While a thread stores `ahead`, another one may find no request there. It finds one in the bucket, because a
        // half of it is left. Threads that use this half while the first one does not run are refused too early.
        if more > 0
            && !self.bucket.lacks(now, several.saturating_add(self.half.load(Relaxed)))
            && self.bucket.take(now, several)
        {
            if self.ahead.compare_exchange(0, more, AcqRel, Relaxed).is_err() {
                // Another thread has done the same, and one number of requests in advance is enough.
                self.bucket.refund(now, interval.saturating_mul(more));
            } else if !self.has(interval, more) {
                // `set` has emptied `ahead` before, and stored what this thread sees before that.
                self.ahead.store(0, Relaxed);
            }
            return true;
        }
        self.bucket.take(now, interval)
    }

    fn has(&self, interval: u64, most_ahead: u64) -> bool {
        self.interval.load(Relaxed) == interval && self.most_ahead.load(Relaxed) == most_ahead
    }

    /// Gives back a request that was taken just before and not used.
    pub(super) fn put_back(&self, now: u64) {
        self.bucket.put_back(now, self.interval.load(Relaxed));
    }

    /// Reports whether the rate is exhausted. Takes nothing; calls `now` like [`take`](Self::take).
    #[inline(always)]
    pub(super) fn lacks(&self, now: impl FnOnce() -> u64) -> bool {
        self.ahead.load(Relaxed) == 0 && self.bucket.lacks(now(), self.interval.load(Relaxed))
    }

    /// Returns the time until the rate is no longer exhausted, in nanoseconds.
    pub(super) fn affords_in(&self, now: u64) -> u64 {
        match self.ahead.load(Relaxed) {
            0 => self.bucket.affords_in(now, self.interval.load(Relaxed)),
            _ => 0,
        }
    }

    /// Returns the time until the bucket is full.
    pub(super) fn debt(&self, now: u64) -> u64 {
        self.bucket.debt(now)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn of(per_second: u32, burst: u32) -> Rate {
        let rate = Rate::default();
        rate.set(RequestRate { per_second, burst }, 0);
        rate
    }

    fn taken(rate: &Rate, now: u64) -> usize {
        (0..10_000).take_while(|_| rate.take(|| now)).count()
    }

    #[test]
    fn one_reading_of_the_clock_is_enough_for_several_requests() {
        // One request in 10 us, and up to 20 in advance.
        let rate = of(100_000, 320);
        let readings = Cell::new(0);
        let now = || {
            readings.set(readings.get() + 1);
            0
        };
        assert!((0..21).all(|_| rate.take(now)));
        assert_eq!(readings.get(), 1);
        assert!(rate.take(now));
        assert_eq!(readings.get(), 2);
        assert!(!rate.lacks(|| panic!("requests were taken in advance")));
    }

    #[test]
    fn a_burst_is_never_less_and_exceeded_by_no_more_than_was_taken_in_advance() {
        const BURST: usize = 320;
        for used in 0..50 {
            let rate = of(100_000, BURST as u32);
            assert!((0..used).all(|_| rate.take(|| 0)));
            let later = 3_600_000_000_000;
            let burst = taken(&rate, later);
            assert!((BURST..=BURST + 20).contains(&burst), "{burst} after {used}");
            // What was taken in advance was paid for, so now only the rate is left.
            assert_eq!(taken(&rate, later + 9_999), 0);
            assert_eq!(taken(&rate, later + 10_000), 1);
        }
    }

    /// Compares a rate with a bucket that gives each request at its own time.
    #[test]
    fn what_is_within_the_rate_is_granted_and_no_time_has_more_than_a_burst_and_what_was_ahead() {
        const INTERVAL: u64 = 20_000;
        let (rate, exact) = (of(50_000, 1_600), Bucket::default());
        exact.set_depth(1_600 * INTERVAL);
        // Times, and the numbers of requests that were granted before them.
        let mut granted = vec![(0, 0u64)];
        let (mut now, mut all) = (0, 0);
        for step in 0..400u64 {
            now += step * 7_919 % 997 * step * 50;
            let within = (0..step * 31 % 211).take_while(|_| exact.take(now, INTERVAL)).count();
            assert!((0..within).all(|_| rate.take(|| now)), "a request within the rate at {now}");
            all += within as u64;
            // A request that only what was taken in advance permits.
            if step % 5 == 0 && rate.take(|| now) {
                exact.charge(now, INTERVAL);
                all += 1;
            }
            granted.push((now, all));
        }
        for (at, (_, before)) in granted.iter().enumerate() {
            let Some((began, _)) = granted.get(at + 1) else { break };
            for (ended, until) in &granted[at + 1..] {
                let most = 1_600 + 50 + (ended - began) / INTERVAL;
                assert!(until - before <= most, "{} from {began} to {ended}", until - before);
            }
        }
    }

    #[test]
    fn low_rates_and_small_bursts_are_exact() {
        for (per_second, burst) in [(999, 1_000), (1_000_000, 15), (1, 1)] {
            let rate = of(per_second, burst);
            assert!(rate.take(|| 0));
            let later = 3_600_000_000_000;
            assert_eq!(taken(&rate, later), burst as usize, "{per_second} per second");
        }
    }

    #[test]
    fn what_was_taken_in_advance_of_another_rate_is_given_back() {
        let rate = of(100_000, 320);
        assert!(rate.take(|| 0));
        assert_eq!(rate.debt(0), 21 * 10_000);
        rate.set(RequestRate { per_second: 100, burst: 2 }, 0);
        assert_eq!(rate.debt(0), 10_000_000, "the request that was used, at its new cost");
        assert_eq!(taken(&rate, 0), 1);
    }
}
