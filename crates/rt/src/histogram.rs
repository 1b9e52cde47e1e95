//! Histograms of times, updated while measuring.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of buckets for each doubling of the time, so that values read are at most a sixteenth too
/// large.
const PARTS: usize = 16;
const PART_BITS: u32 = PARTS.trailing_zeros();
/// Number of buckets; times from 2^42 ns (73 minutes) on share the last one.
const BUCKETS: usize = PARTS * 40;

/// Histogram of times. Any thread may record while others record or read.
///
/// **Real-time cost.** Recording takes three atomic operations: two additions and a maximum; no
/// lock, no allocation. A histogram has 5 KiB.
///
/// ```
/// use oxorb_rt::Histogram;
///
/// let histogram = Histogram::new();
/// for nanoseconds in 1..=1_000 {
///     histogram.record(nanoseconds);
/// }
/// let seen = histogram.read();
/// assert_eq!((seen.count, seen.max_ns), (1_000, 1_000));
/// assert!((500..=531).contains(&seen.quantile(0.5)));
/// assert_eq!(seen.quantile(1.0), 1_000);
/// assert_eq!(seen.counts().map(|(_, count)| count).sum::<u64>(), 1_000);
/// ```
#[derive(Debug)]
pub struct Histogram {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    max: AtomicU64,
}

/// Distribution read from a [`Histogram`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Sum of the values, in nanoseconds.
    pub sum_ns: u64,
    /// Longest time, in nanoseconds.
    pub max_ns: u64,
    buckets: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// Returns an empty histogram. Allocates all its memory.
    pub fn new() -> Histogram {
        Histogram {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            max: AtomicU64::new(0),
        }
    }

    /// Records a time.
    pub fn record(&self, nanoseconds: u64) {
        self.buckets[bucket(nanoseconds)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(nanoseconds, Ordering::Relaxed);
        self.max.fetch_max(nanoseconds, Ordering::Relaxed);
    }

    /// Returns the distribution counted so far. Allocates.
    pub fn read(&self) -> Distribution {
        let buckets: Vec<u64> =
            self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        Distribution {
            count: buckets.iter().sum(),
            sum_ns: self.sum.load(Ordering::Relaxed),
            max_ns: self.max.load(Ordering::Relaxed),
            buckets,
        }
    }

    /// Removes all recorded times.
    pub fn reset(&self) {
        for bucket in &self.buckets {
            bucket.store(0, Ordering::Relaxed);
        }
        self.sum.store(0, Ordering::Relaxed);
        self.max.store(0, Ordering::Relaxed);
    }
}

impl Distribution {
    /// Returns the quantile of `part`, from 0 to 1, in nanoseconds; 0 for an empty distribution.
    /// The result is at most a sixteenth too large, and never beyond the longest time.
    pub fn quantile(&self, part: f64) -> u64 {
        let wanted = ((self.count as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return upper(bucket).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// Returns the longest time and the count of each non-empty bucket, in ascending order.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let buckets = self.buckets.iter().enumerate();
        let some = buckets.filter(|(_, count)| **count > 0);
        some.map(|(bucket, count)| (upper(bucket), *count))
    }

    /// Returns the mean, in nanoseconds; 0 for an empty distribution.
    pub fn mean_ns(&self) -> u64 {
        self.sum_ns.checked_div(self.count).unwrap_or(0)
    }
}

fn bucket(nanoseconds: u64) -> usize {
    if nanoseconds < PARTS as u64 {
        return nanoseconds as usize;
    }
    let doubling = nanoseconds.ilog2() - PART_BITS;
    let part = (nanoseconds >> doubling) as usize - PARTS;
    ((doubling as usize + 1) * PARTS + part).min(BUCKETS - 1)
}

/// Returns the longest time of a bucket.
fn upper(bucket: usize) -> u64 {
    if bucket < PARTS {
        return bucket as u64;
    }
    if bucket == BUCKETS - 1 {
        return u64::MAX;
    }
    let (doubling, part) = (bucket / PARTS - 1, bucket % PARTS);
    ((PARTS + part + 1) as u64 * (1 << doubling)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_in_a_bucket_that_ends_close_above_it() {
        let mut time = 1u64;
        while time < 1 << 41 {
            for near in [time - 1, time, time + 1] {
                let end = upper(bucket(near));
                assert!(end >= near && end - near <= near / 16, "{near} {end}");
            }
            time = time * 21 / 20 + 1;
        }
        for long in [1 << 50, u64::MAX] {
            assert_eq!(upper(bucket(long)), u64::MAX);
        }
    }

    #[test]
    fn nothing_has_no_quantiles_and_reset_makes_nothing() {
        let histogram = Histogram::new();
        let empty = histogram.read();
        assert_eq!((empty.quantile(0.99), empty.mean_ns()), (0, 0));
        histogram.record(77);
        assert_eq!(histogram.read().mean_ns(), 77);
        histogram.reset();
        assert_eq!(histogram.read(), empty);
    }
}
