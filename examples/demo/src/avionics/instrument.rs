//! Pictures of a display and their times.

use std::collections::BTreeMap;
use std::ops::Range;

use super::documents::Promise;
use oxorb_terminal::statistics::Time;

/// Display of the server process, as read from its lines on standard output.
pub(super) struct Instrument {
    promise: Promise,
    /// Microseconds from the tick until its picture was complete, by number of the tick.
    drawn: BTreeMap<u64, u64>,
    /// Position in the latest picture, as printed by the display.
    latest: String,
}

/// Deadlines of one display in one act.
#[derive(serde::Serialize)]
pub(super) struct Seen {
    pub(super) deadline_ns: u64,
    /// Longest response for the planned work according to the check of plan and real-time resources; `None` for the act
    /// without them.
    pub(super) bound_ns: Option<u64>,
    /// The bound, if the act met the assumptions of the check; `None` otherwise.
    pub(super) proved_ns: Option<u64>,
    /// Number of ticks whose deadline was within the act.
    pub(super) ticks: u64,
    /// Number of pictures that were completed after their deadline, or never.
    pub(super) missed: u64,
    /// Number of ticks that were never drawn: lost while the previous one was still handled.
    pub(super) lost: u64,
    pub(super) p50_ns: u64,
    pub(super) max_ns: u64,
}

impl Seen {
    /// Reports whether no picture took longer than the bound of the check, and none is missing.
    pub(super) fn is_within_bound(&self) -> bool {
        self.lost == 0 && self.bound_ns.is_some_and(|bound| self.max_ns <= bound)
    }
}

impl Instrument {
    pub(super) fn new(promise: Promise) -> Self {
        Instrument { promise, drawn: BTreeMap::new(), latest: String::new() }
    }

    /// Processes a line of the server if it is this display's, and reports whether it was.
    pub(super) fn take(&mut self, line: &str) -> bool {
        let own = line.strip_prefix(self.promise.title);
        let Some(values) = own.and_then(|rest| rest.strip_prefix(": ")) else {
            return false;
        };
        let value = |key: &str| {
            let mut pairs = values.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let number = |key| value(key).and_then(|text| text.parse().ok());
        let (Some(tick), Some(after)) = (number("tick"), number("after_us")) else {
            return false;
        };
        self.drawn.insert(tick, after);
        let place = |key| value(key).unwrap_or("?");
        self.latest = format!("{} N {} E", place("latitude"), place("longitude"));
        true
    }

    /// Reports whether it has drawn anything.
    pub(super) fn is_on(&self) -> bool {
        !self.drawn.is_empty()
    }

    /// Returns a line about the last picture, and marks of the last ticks that were released since `from` and
    /// are due by `now`,
    /// times of the monotonic clock in nanoseconds.
    pub(super) fn line(&self, from: u64, now: u64) -> String {
        const MARKS: u64 = 30;
        let after = self.drawn.last_key_value().map_or(0, |(_, after)| *after);
        let ticks = self.ticks(from, now);
        let first = ticks.start.max(ticks.end.saturating_sub(MARKS));
        let marks = (first..ticks.end).map(|tick| match self.in_time(tick) {
            Some(true) => '.',
            Some(false) => '!',
            None => 'x',
        });
        format!(
            "{:11} {:20} {:>9} after its tick, of {:>8}  {}",
            self.promise.title,
            self.latest,
            Time(after * 1_000),
            Time(self.promise.deadline_ns),
            marks.collect::<String>()
        )
    }

    /// Counts the ticks that were released at or after `from` and due at or before `to`, times of the monotonic clock.
    pub(super) fn seen(&self, from: u64, to: u64, has_resources: bool) -> Seen {
        let Promise { deadline_ns, bound_ns, .. } = self.promise;
        let bound_ns = bound_ns.filter(|_| has_resources);
        let ticks = self.ticks(from, to);
        let mut times: Vec<u64> =
            self.drawn.range(ticks.clone()).map(|(_, after)| after * 1_000).collect();
        times.sort_unstable();
        let count = ticks.end - ticks.start;
        let in_time = times.partition_point(|&time| time <= deadline_ns) as u64;
        Seen {
            deadline_ns,
            bound_ns,
            proved_ns: bound_ns,
            ticks: count,
            missed: count - in_time,
            lost: count - times.len() as u64,
            p50_ns: times.get(times.len() / 2).copied().unwrap_or(0),
            max_ns: times.last().copied().unwrap_or(0),
        }
    }

    /// Returns the numbers of the ticks that were released at or after `from` and are due at or before `to`.
    fn ticks(&self, from: u64, to: u64) -> Range<u64> {
        let Promise { period_ns, deadline_ns, .. } = self.promise;
        let first = from.div_ceil(period_ns);
        let end = to.saturating_sub(deadline_ns) / period_ns + 1;
        first..end.max(first)
    }

    /// Reports whether the picture of a tick was complete in time; `None` if it never was complete.
    fn in_time(&self, tick: u64) -> Option<bool> {
        let after = self.drawn.get(&tick)?;
        Some(after * 1_000 <= self.promise.deadline_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instrument() -> Instrument {
        Instrument::new(Promise {
            title: "warning",
            period_ns: 200_000_000,
            deadline_ns: 25_000_000,
            bound_ns: Some(20_000_000),
        })
    }

    #[test]
    fn late_and_lost_pictures_are_missed_deadlines() {
        let mut warning = instrument();
        for (tick, after) in [(9, 1), (10, 25_000), (11, 25_001), (13, 10_000), (15, 1)] {
            let line = format!("warning: tick={tick} latitude=1.5 longitude=2.5 after_us={after}");
            assert!(warning.take(&line));
        }
        // Tick 10 is released at 2 s; tick 14 is due 25 ms after 2.8 s; tick 15 is due after the end.
        let seen = warning.seen(2_000_000_000, 2_825_000_000, true);
        assert_eq!((seen.ticks, seen.missed, seen.lost), (5, 3, 2));
        assert_eq!((seen.p50_ns, seen.max_ns), (25_000_000, 25_001_000));
        assert!(!seen.is_within_bound());
        // Tick 13 alone was within the bound of 20 ms. No bound is given for an act without real-time resources.
        let alone = warning.seen(2_500_000_000, 2_625_000_000, true);
        assert_eq!(
            (alone.ticks, alone.bound_ns, alone.is_within_bound()),
            (1, Some(20_000_000), true)
        );
        assert!(!warning.seen(2_500_000_000, 2_625_000_000, false).is_within_bound());
        let line = warning.line(2_000_000_000, 2_825_000_000);
        assert!(line.ends_with("  .!x.x"), "{line}");
    }

    #[test]
    fn lines_of_others_are_not_taken() {
        let mut warning = instrument();
        for line in ["navigation: tick=1 after_us=2", "warning: tick=x after_us=2", "warning", ""] {
            assert!(!warning.take(line), "{line}");
        }
        assert!(!warning.is_on());
        let seen = warning.seen(5, 5, false);
        assert_eq!((seen.ticks, seen.missed, seen.bound_ns), (0, 0, None));
    }
}
