//! Delivery times of one consumer, as counted by its server.

use std::fmt;

use serde_json::{Value, json};

use super::statistics::idl::EventLatency;
use oxorb_terminal::statistics::Time;

/// Counts of delivery times by upper bound, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Latency {
    max_ns: u64,
    times: Vec<(u64, u64)>,
}

impl Latency {
    pub(super) fn of(told: &EventLatency) -> Latency {
        let times = told.times.iter();
        Latency { max_ns: told.max_ns, times: times.map(|one| (one.most_ns, one.events)).collect() }
    }

    /// Returns the times since an earlier snapshot. The longest of these times is known only to the resolution of the
    /// bounds.
    pub(super) fn since(&self, before: Option<&Latency>) -> Latency {
        let Some(before) = before.filter(|before| !before.times.is_empty()) else {
            return self.clone();
        };
        let at = |bound: u64| {
            let found = before.times.binary_search_by_key(&bound, |(bound, _)| *bound);
            found.map_or(0, |at| before.times[at].1)
        };
        let times = self.times.iter();
        let times = times.map(|&(bound, events)| (bound, events.saturating_sub(at(bound))));
        let times: Vec<_> = times.filter(|(_, events)| *events > 0).collect();
        let longest = times.last().map_or(0, |(bound, _)| *bound);
        Latency {
            max_ns: match self.max_ns > before.max_ns {
                true => self.max_ns,
                false => longest.min(self.max_ns),
            },
            times,
        }
    }

    fn events(&self) -> u64 {
        self.times.iter().map(|(_, events)| events).sum()
    }

    fn quantile(&self, part: f64) -> u64 {
        let wanted = ((self.events() as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        let mut bounds = self.times.iter();
        let bound = bounds.find(|(_, events)| {
            seen += events;
            seen >= wanted
        });
        bound.map_or(0, |(bound, _)| *bound).min(self.max_ns)
    }

    /// Returns the percentiles; null if nothing was measured.
    pub(super) fn json(&self) -> Value {
        match self.events() {
            0 => Value::Null,
            events => json!({
                "events": events, "p50_ns": self.quantile(0.5), "p99_ns": self.quantile(0.99), "max_ns": self.max_ns,
            }),
        }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.events() == 0 {
            return Ok(());
        }
        let [p50, p99] = [0.5, 0.99].map(|part| Time(self.quantile(part)));
        write!(f, "  p50 {p50:>9}  p99 {p99:>9}  max {:>9}", Time(self.max_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_since_a_look_are_those_that_came_after_it() {
        let before = Latency { max_ns: 900, times: vec![(100, 5), (1_000, 1)] };
        let now = Latency { max_ns: 900, times: vec![(100, 5), (200, 99), (1_000, 2)] };
        let since = now.since(Some(&before));
        assert_eq!(since.times, [(200, 99), (1_000, 1)]);
        assert_eq!(
            since.json(),
            json!({"events": 100, "p50_ns": 200, "p99_ns": 200, "max_ns": 900})
        );
        assert_eq!(now.since(Some(&now)).json(), Value::Null);
        assert_eq!(now.since(None), now);
        let longer = Latency { max_ns: 5_000, times: vec![(100, 5), (1_000, 1), (5_100, 1)] };
        assert_eq!(longer.since(Some(&before)).max_ns, 5_000);
    }
}
