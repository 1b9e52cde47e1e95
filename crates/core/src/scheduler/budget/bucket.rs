//! Token bucket, represented by one number: the time at which it is full again.
//!
//! Taking advances this time, and the clock catches up with it. The bucket is thus one atomic word that refills without
//! a timer, loses no fraction of a token, and can be used by two lanes without a lock. (ITU-T I.371 calls it the
//! generic cell rate algorithm, in its form of virtual scheduling.)

use crate::threads::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Token bucket whose depth can be changed during use.
///
/// All times are nanoseconds of one monotonic clock.
#[derive(Debug, Default)]
pub struct Bucket {
    /// Time from which the bucket is full.
    full_at: AtomicU64,
    /// Largest time by which `full_at` may be ahead of now after taking.
    depth: AtomicU64,
}

impl Bucket {
    /// Changes the depth: the largest time by which `full_at` may be ahead of now. What was taken
    /// stays taken.
    pub fn set_depth(&self, depth: u64) {
        self.depth.store(depth, Relaxed);
    }

    /// Takes `cost` from the bucket; returns false, and takes nothing, if less is left.
    #[inline]
    pub fn take(&self, now: u64, cost: u64) -> bool {
        let depth = self.depth.load(Relaxed);
        let mut full_at = self.full_at.load(Relaxed);
        loop {
            let next = full_at.max(now).saturating_add(cost);
            if next - now > depth {
                return false;
            }
            match self.full_at.compare_exchange_weak(full_at, next, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(other) => full_at = other,
            }
        }
    }

    /// Takes `cost`, even beyond the depth, because it was already used.
    #[inline]
    pub(crate) fn charge(&self, now: u64, cost: u64) {
        let mut full_at = self.full_at.load(Relaxed);
        loop {
            let next = full_at.max(now).saturating_add(cost);
            match self.full_at.compare_exchange_weak(full_at, next, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(other) => full_at = other,
            }
        }
    }

    /// Gives back a cost that was [taken](Self::take) just before and not used. Does nothing if the bucket has refilled
    /// so far meanwhile that it would then hold more than its depth.
    pub(crate) fn put_back(&self, now: u64, cost: u64) {
        let _ = self.full_at.fetch_update(Relaxed, Relaxed, |full_at| {
            full_at.checked_sub(cost).filter(|&before| before >= now)
        });
    }

    /// Gives back a cost that was taken some time ago and not used. What the bucket would then hold beyond its depth is
    /// lost.
    pub(crate) fn refund(&self, now: u64, cost: u64) {
        let _ = self.full_at.fetch_update(Relaxed, Relaxed, |full_at| {
            (cost > 0).then(|| full_at.saturating_sub(cost).max(full_at.min(now)))
        });
    }

    /// Scales the debt by `cost / before`.
    pub(crate) fn rescale(&self, now: u64, cost: u64, before: u64) {
        if cost == before || before == 0 {
            return;
        }
        let _ = self.full_at.fetch_update(Relaxed, Relaxed, |full_at| {
            let debt = u128::from(full_at.saturating_sub(now));
            let debt = (debt * u128::from(cost)).div_ceil(before.into());
            let debt = u64::try_from(debt).unwrap_or(u64::MAX);
            Some(now.saturating_add(debt))
        });
    }

    /// Reports whether the bucket is empty.
    #[inline]
    pub(crate) fn is_spent(&self, now: u64) -> bool {
        self.debt(now) >= self.depth.load(Relaxed)
    }

    /// Reports whether the bucket has less than `cost`.
    #[inline]
    pub(crate) fn lacks(&self, now: u64, cost: u64) -> bool {
        self.debt(now).saturating_add(cost) > self.depth.load(Relaxed)
    }

    /// Returns the time until the bucket is no longer [empty](Self::is_spent), in nanoseconds.
    pub(crate) fn refills_in(&self, now: u64) -> u64 {
        self.debt(now).saturating_add(1).saturating_sub(self.depth.load(Relaxed))
    }

    /// Returns the time until the bucket no longer [lacks](Self::lacks) `cost`, in nanoseconds.
    pub(crate) fn affords_in(&self, now: u64, cost: u64) -> u64 {
        self.debt(now).saturating_add(cost).saturating_sub(self.depth.load(Relaxed))
    }

    /// Returns the time until the bucket is full.
    pub(crate) fn debt(&self, now: u64) -> u64 {
        self.full_at.load(Relaxed).saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a bucket that holds ten units, each of cost 100.
    fn of_ten() -> Bucket {
        let bucket = Bucket::default();
        bucket.set_depth(1_000);
        bucket
    }

    #[test]
    fn a_full_bucket_gives_its_depth_and_then_its_rate() {
        let bucket = of_ten();
        let now = 50_000;
        let taken = (0..20).filter(|_| bucket.take(now, 100)).count();
        assert_eq!(taken, 10);
        assert!(bucket.is_spent(now));
        // A unit returns every 100 ns, and no sooner.
        assert!(!bucket.take(now + 99, 100));
        assert!(bucket.take(now + 100, 100));
        assert!(!bucket.take(now + 100, 100));
        // However long nothing is taken, the bucket holds no more than its depth.
        let later = now + 1_000_000;
        assert_eq!((0..20).filter(|_| bucket.take(later, 100)).count(), 10);
    }

    #[test]
    fn what_is_charged_beyond_the_depth_is_owed() {
        let bucket = of_ten();
        bucket.charge(0, 2_500);
        assert_eq!(bucket.debt(0), 2_500);
        assert!(bucket.is_spent(1_500), "exactly its depth is owed");
        assert!(!bucket.is_spent(1_501));
        assert!(!bucket.take(1_501, 100));
        assert!(bucket.take(1_600, 100));
    }

    #[test]
    fn what_is_put_back_is_there_again_but_never_more_than_there_was() {
        let bucket = of_ten();
        assert!(bucket.take(0, 100) && bucket.take(0, 100));
        bucket.put_back(0, 100);
        assert_eq!(bucket.debt(0), 100);
        // Half of the unit has been refilled by now, so giving back the whole unit would overfill the bucket.
        bucket.put_back(50, 100);
        assert_eq!(bucket.debt(50), 50);
        bucket.put_back(5_000, 100);
        assert_eq!(bucket.debt(5_000), 0);
        assert_eq!((0..20).filter(|_| bucket.take(5_000, 100)).count(), 10);
    }

    #[test]
    fn what_is_refunded_never_overfills_the_bucket() {
        let bucket = of_ten();
        bucket.charge(0, 600);
        bucket.refund(0, 200);
        assert_eq!(bucket.debt(0), 400);
        bucket.refund(300, 200);
        assert_eq!((bucket.debt(300), bucket.debt(299)), (0, 1));
        bucket.refund(5_000, 200);
        assert_eq!(bucket.debt(299), 1, "it was full already");
    }

    #[test]
    fn a_smaller_depth_counts_at_once() {
        let bucket = of_ten();
        assert!((0..5).all(|_| bucket.take(0, 100)));
        bucket.set_depth(500);
        assert!(bucket.is_spent(0));
        assert!(!bucket.take(0, 100));
        assert!(bucket.take(100, 100));
    }
}
