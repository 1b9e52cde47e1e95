//! Distribution of samples.

use serde::Serialize;

use super::Samples;

/// Times of calls, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) calls: usize,
    pub(crate) mean: f64,
    /// Standard deviation, called jitter in the papers.
    pub(crate) jitter: f64,
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) max: u64,
}

impl Spread {
    /// Returns the statistics of samples; all are zero without samples.
    pub(crate) fn of(mut samples: Samples) -> Spread {
        samples.sort_unstable();
        let calls = samples.len();
        let count = calls.max(1) as f64;
        let mean = samples.iter().sum::<u64>() as f64 / count;
        let square = |&sample: &u64| (sample as f64 - mean).powi(2);
        let quantile = |q: f64| {
            let rank = (q * calls as f64).ceil() as usize;
            samples.get(rank.clamp(1, calls.max(1)) - 1).copied()
        };
        Spread {
            calls,
            mean,
            jitter: (samples.iter().map(square).sum::<f64>() / count).sqrt(),
            p50: quantile(0.5).unwrap_or_default(),
            p99: quantile(0.99).unwrap_or_default(),
            p999: quantile(0.999).unwrap_or_default(),
            max: samples.last().copied().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples() {
        let spread = Spread::of((1..=1000).rev().collect());
        assert_eq!((spread.p50, spread.p99, spread.p999), (500, 990, 999));
        assert_eq!((spread.max, spread.mean), (1000, 500.5));
        assert_eq!(Spread::of(vec![7]).p999, 7);
        assert_eq!(Spread::of(vec![5, 5]).jitter, 0.0);
        assert_eq!(Spread::of(Vec::new()).max, 0);
    }
}
