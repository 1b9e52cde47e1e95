//! Times of calls from several rounds.

use hdrhistogram::Histogram;

/// Calls of one contender so far.
pub(crate) struct Record {
    /// Nanoseconds of all calls.
    pub(crate) histogram: Histogram<u64>,
    /// Median of each round.
    pub(crate) medians: Vec<u64>,
}

impl Record {
    /// Creates an empty record.
    pub(crate) fn empty() -> Record {
        let minute = 60_000_000_000;
        let histogram = Histogram::new_with_bounds(1, minute, 3).expect("valid bounds");
        Record { histogram, medians: Vec::new() }
    }

    /// Adds the calls of one round, in nanoseconds.
    pub(crate) fn add(&mut self, mut samples: Vec<u64>) {
        for &sample in &samples {
            self.histogram.saturating_record(sample);
        }
        samples.sort_unstable();
        self.medians.push(samples[samples.len() / 2]);
    }

    /// Returns the median of the best round.
    pub(crate) fn best(&self) -> u64 {
        self.medians.iter().copied().min().unwrap_or_default()
    }

    /// Returns p50, p99, p99.9 and the maximum over all rounds.
    pub(crate) fn quantiles(&self) -> [u64; 4] {
        let at = |quantile| self.histogram.value_at_quantile(quantile);
        [at(0.5), at(0.99), at(0.999), self.histogram.max()]
    }

    /// Returns points of the percentile curve: quantile and nanoseconds, denser towards the tail.
    pub(crate) fn curve(&self) -> Vec<(f64, u64)> {
        self.histogram
            .iter_quantiles(5)
            .map(|step| (step.quantile_iterated_to(), step.value_iterated_to()))
            .collect()
    }
}
