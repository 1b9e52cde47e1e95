//! Confidence interval of a ratio of two quantiles, by the bootstrap.
//!
//! Each draw takes as many samples as were observed from the observed ones, with replacement; the interval contains the
//! ratios of 95 % of the draws. It does not cover disturbances that affect a whole run.

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
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut draws: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let this = random.quantile(these, quantile);
                this / random.quantile(those, quantile)
            })
            .collect();
        draws.sort_unstable_by(f64::total_cmp);
        let at = |samples: &[u64]| samples[rank(samples.len(), quantile)].max(1) as f64;
        Ratio {
            seen: at(these) / at(those),
            interval: Some((draws[DRAWS / 40], draws[DRAWS - 1 - DRAWS / 40])),
        }
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
    fn one_sample_has_no_spread_and_none_no_ratio() {
        let one = Ratio::of(&[30], &[20], 0.99);
        assert_eq!((one.seen, one.interval), (1.5, Some((1.5, 1.5))));
        assert!(Ratio::of(&[], &[20], 0.99).seen.is_nan());
    }
}
