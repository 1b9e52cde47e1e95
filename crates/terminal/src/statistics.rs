//! Latencies and their percentiles.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

/// Percentiles of latencies, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Percentiles {
    /// Number of calls.
    pub calls: u64,
    /// 50th percentile.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

/// Histogram of latencies; recording allocates nothing.
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Self {
        Latencies::new()
    }
}

impl Latencies {
    /// Returns a histogram from 1 ns to 10 minutes with three significant digits.
    #[must_use]
    pub fn new() -> Self {
        Latencies(Histogram::new_with_bounds(1, 600_000_000_000, 3).expect("constant bounds"))
    }

    /// Records a call.
    pub fn record(&mut self, latency: Duration) {
        self.0.saturating_record(latency.as_nanos() as u64);
    }

    /// Returns the percentiles since the last reset.
    pub fn percentiles(&self) -> Percentiles {
        Percentiles {
            calls: self.0.len(),
            p50_ns: self.0.value_at_quantile(0.5),
            p99_ns: self.0.value_at_quantile(0.99),
            p999_ns: self.0.value_at_quantile(0.999),
            max_ns: self.0.max(),
        }
    }

    /// Counts the calls between consecutive bounds, which are in nanoseconds and must ascend. Each
    /// entry of the result counts the calls that took at most the bound and more than the previous
    /// bound; the last entry counts the calls above all bounds.
    pub fn shares(&self, bounds: &[u64]) -> Vec<u64> {
        let mut shares = vec![0; bounds.len() + 1];
        for step in self.0.iter_recorded() {
            let bucket = bounds.partition_point(|&bound| bound < step.value_iterated_to());
            shares[bucket] += step.count_at_value();
        }
        shares
    }
}

/// Wrapper that displays a time in nanoseconds as us, ms or s, with one decimal.
pub struct Time(pub u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            ns @ 0..10_000_000 => (ns as f64 / 1e3, "us"),
            ns @ 10_000_000..10_000_000_000 => (ns as f64 / 1e6, "ms"),
            ns => (ns as f64 / 1e9, "s"),
        };
        f.pad(&format!("{value:.1} {unit}"))
    }
}
