//! Confidence interval of a ratio of two quantiles, by the bootstrap.
//!
//! Each draw takes as many samples as were observed from the observed ones, with replacement; the interval contains the
//! ratios of 95 % of the draws. It does not cover disturbances that affect a whole run. Samples whose neighbours depend
//! on each other are drawn in blocks.

use std::fmt;

use serde::Serialize;

/// Ratio and its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(crate) struct Ratio {
    pub(crate) seen: f64,
    /// Interval; `None` if unknown.
    pub(crate) interval: Option<(f64, f64)>,
}

const DRAWS: usize = 1000;

impl Ratio {
    /// Returns the quantile of `these` divided by the quantile of `those`; both must be in ascending order.
    pub(crate) fn of(these: &[u64], those: &[u64], quantile: f64) -> Ratio {
        if these.is_empty() || those.is_empty() {
            return Ratio::exactly(f64::NAN);
        }
        let interval = interval(|random| {
            let this = random.quantile(these, quantile);
            this / random.quantile(those, quantile)
        });
        let at = |samples: &[u64]| samples[rank(samples.len(), quantile)].max(1) as f64;
        Ratio { seen: at(these) / at(those), interval: Some(interval) }
    }

    /// Returns the quantile of `these` divided by the quantile of `those`; both must be in the order of observation.
    /// Each draw takes blocks of this number of consecutive samples, at least 1, so that the interval also covers slow
    /// samples that occur together.
    pub(crate) fn of_blocks(these: &[u64], those: &[u64], quantile: f64, block: usize) -> Ratio {
        if these.is_empty() || those.is_empty() {
            return Ratio::exactly(f64::NAN);
        }
        let interval = interval(|random| {
            let this = random.quantile_of_blocks(these, block, quantile);
            this / random.quantile_of_blocks(those, block, quantile)
        });
        let seen = quantile_of(these.to_vec(), quantile) / quantile_of(those.to_vec(), quantile);
        Ratio { seen, interval: Some(interval) }
    }

    /// Returns the upper end of the interval, or the observed ratio if there is none.
    pub(crate) fn most(&self) -> f64 {
        self.interval.map_or(self.seen, |(_, most)| most)
    }

    pub(crate) fn exactly(seen: f64) -> Ratio {
        Ratio { seen, interval: None }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.seen)?;
        match self.interval {
            Some((from, to)) => write!(f, " ({from:.2} to {to:.2})"),
            None => Ok(()),
        }
    }
}

/// Returns the interval that contains 95 % of the draws.
fn interval(mut draw: impl FnMut(&mut Random) -> f64) -> (f64, f64) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut draws: Vec<f64> = (0..DRAWS).map(|_| draw(&mut random)).collect();
    draws.sort_unstable_by(f64::total_cmp);
    (draws[DRAWS / 40], draws[DRAWS - 1 - DRAWS / 40])
}

/// Returns the quantile of samples in any order.
fn quantile_of(mut samples: Vec<u64>, quantile: f64) -> f64 {
    let rank = rank(samples.len(), quantile);
    let (_, sample, _) = samples.select_nth_unstable(rank);
    (*sample).max(1) as f64
}

/// Returns the index of the quantile in `samples` sorted samples.
fn rank(samples: usize, quantile: f64) -> usize {
    ((quantile * samples as f64).ceil() as usize).clamp(1, samples) - 1
}

/// xorshift64 generator, with the same sequence in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns the quantile of one draw from samples in ascending order, for which sorting the drawn indices suffices.
    fn quantile(&mut self, samples: &[u64], quantile: f64) -> f64 {
        let count = samples.len() as u64;
        let mut places: Vec<u64> = (0..count).map(|_| self.next() % count).collect();
        let rank = rank(samples.len(), quantile);
        let (_, place, _) = places.select_nth_unstable(rank);
        samples[*place as usize].max(1) as f64
    }

    /// Returns the quantile of one draw of blocks of consecutive samples.
    fn quantile_of_blocks(&mut self, samples: &[u64], block: usize, quantile: f64) -> f64 {
        let blocks: Vec<&[u64]> = samples.chunks(block).collect();
        let count = blocks.len() as u64;
        let mut drawn = Vec::with_capacity(samples.len() + block);
        for _ in 0..count {
            drawn.extend_from_slice(blocks[(self.next() % count) as usize]);
        }
        quantile_of(drawn, quantile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_lies_about_the_ratio_and_narrows_with_more_samples() {
        let spread = |count: u64, scale: u64| -> Vec<u64> {
            (0..count).map(|at| scale * (1000 + at * 1000 / count)).collect()
        };
        let width = |count| {
            let ratio = Ratio::of(&spread(count, 2), &spread(count, 1), 0.5);
            let (from, to) = ratio.interval.unwrap();
            assert!((ratio.seen - 2.0).abs() < 0.01, "{ratio}");
            assert!(from <= ratio.seen && ratio.seen <= to, "{ratio}");
            to - from
        };
        assert!(width(1000) < width(50));
    }

    #[test]
    fn blocks_widen_the_interval_if_slow_samples_occur_together() {
        let even = vec![1_000; 1000];
        let mut clustered = even.clone();
        clustered[500..550].fill(10_000);
        let blocks = Ratio::of_blocks(&clustered, &even, 0.97, 100);
        assert_eq!((blocks.seen, blocks.interval), (10.0, Some((1.0, 10.0))));
        clustered.sort_unstable();
        let single = Ratio::of(&clustered, &even, 0.97);
        assert_eq!((single.seen, single.interval), (10.0, Some((10.0, 10.0))));
        assert_eq!(single, Ratio::of_blocks(&clustered, &even, 0.97, 1));
    }

    #[test]
    fn one_sample_has_no_spread_and_none_no_ratio() {
        let one = Ratio::of(&[30], &[20], 0.99);
        assert_eq!((one.seen, one.interval), (1.5, Some((1.5, 1.5))));
        assert!(Ratio::of(&[], &[20], 0.99).seen.is_nan());
        assert!(Ratio::of_blocks(&[30], &[], 0.99, 1).seen.is_nan());
    }
}
