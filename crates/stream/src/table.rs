//! Table of the streams of a receiver.

use std::time::Duration;

use oxorb::Interface as _;

use crate::meter::{Arrival, Meter, Reception};
use crate::streams::{Report, SourceRef, Stamp};

/// Shortest interval between reports, regardless of the interval that senders request.
pub(crate) const LEAST_INTERVAL: Duration = Duration::from_millis(50);

/// Received stream.
#[derive(Debug)]
struct Stream {
    id: u32,
    meter: Meter,
    /// Time of the last request of the stream.
    heard: u64,
    reports: Option<SourceRef>,
    /// Interval of reports, in ns.
    interval: u64,
    reported: u64,
}

/// Streams in a list, which is searched linearly because there are few.
#[derive(Debug)]
pub(crate) struct Table {
    streams: Vec<Stream>,
    most: usize,
    /// Silence after which a stream may be replaced, in ns.
    silence: u64,
    /// Number of frames rejected because the table was full.
    pub(crate) refused: u64,
}

impl Table {
    pub(crate) fn new(most: usize, silence: Duration) -> Table {
        Table { streams: Vec::with_capacity(most), most, silence: nanoseconds(silence), refused: 0 }
    }

    /// Records a frame; returns `None` if the table has no slot for its stream.
    pub(crate) fn frame(&mut self, at: &Stamp, now: u64) -> Option<Arrival> {
        let Some(stream) = self.stream(at.stream, now) else {
            self.refused += 1;
            return None;
        };
        Some(stream.meter.arrival(at.sequence, at.time, now))
    }

    /// Records the destination of reports.
    pub(crate) fn describe(&mut self, id: u32, to: Option<SourceRef>, interval: u64, now: u64) {
        let Some(stream) = self.stream(id, now) else {
            return;
        };
        stream.interval = interval.max(nanoseconds(LEAST_INTERVAL));
        // Keep an unchanged reference, because it may have a connection already.
        match (&stream.reports, to) {
            (Some(known), Some(to)) if known.reference().ior() == to.reference().ior() => {}
            (_, to) => stream.reports = to,
        }
    }

    fn stream(&mut self, id: u32, now: u64) -> Option<&mut Stream> {
        let at = match self.streams.iter().position(|it| it.id == id) {
            Some(at) => at,
            None => self.place(id, now)?,
        };
        let stream = &mut self.streams[at];
        stream.heard = now;
        Some(stream)
    }

    fn place(&mut self, id: u32, now: u64) -> Option<usize> {
        let new = Stream {
            id,
            meter: Meter::default(),
            heard: now,
            reports: None,
            interval: 0,
            reported: now,
        };
        if self.streams.len() < self.most {
            self.streams.push(new);
            return Some(self.streams.len() - 1);
        }
        let silence = self.silence;
        let silent = |it: &Stream| now.saturating_sub(it.heard) >= silence;
        let at = self.streams.iter().position(silent)?;
        self.streams[at] = new;
        Some(at)
    }

    /// Adds the reports that are due, and returns the time of the next one.
    pub(crate) fn due(&mut self, now: u64, into: &mut Vec<(SourceRef, Report)>) -> Option<u64> {
        let mut next = None;
        for stream in &mut self.streams {
            let Some(to) = &stream.reports else { continue };
            let mut due = stream.reported.saturating_add(stream.interval);
            if due <= now {
                // Send no report on a stream that is silent, because it has probably ended.
                if now.saturating_sub(stream.heard) < self.silence {
                    into.push((to.clone(), stream.meter.report(stream.id, now)));
                }
                stream.reported = now;
                due = now.saturating_add(stream.interval);
            }
            next = Some(next.map_or(due, |next: u64| next.min(due)));
        }
        next
    }

    pub(crate) fn receptions(&self) -> Vec<(u32, Reception)> {
        let of = |stream: &Stream| (stream.id, stream.meter.reception());
        self.streams.iter().map(of).collect()
    }
}

impl Meter {
    fn report(&mut self, stream: u32, now: u64) -> Report {
        let so_far = self.reception();
        Report {
            stream,
            highest: so_far.highest,
            received: so_far.received,
            lost: so_far.lost,
            fraction_lost: self.fraction_lost(),
            twice: so_far.twice,
            late: so_far.late,
            jitter: so_far.jitter,
            held: self.held(now),
        }
    }
}

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(stream: u32, sequence: u32) -> Stamp {
        Stamp { stream, sequence, time: 0 }
    }

    #[test]
    fn a_stream_beyond_the_limit_has_no_place_until_another_is_silent() {
        let mut table = Table::new(2, Duration::from_secs(10));
        assert!(table.frame(&at(1, 0), SECOND).is_some());
        assert!(table.frame(&at(2, 0), SECOND).is_some());
        assert!(table.frame(&at(3, 0), SECOND).is_none());
        assert!(table.frame(&at(2, 1), 8 * SECOND).is_some());
        assert!(table.frame(&at(3, 1), 11 * SECOND).is_some(), "1 was silent");
        assert!(table.frame(&at(1, 1), 11 * SECOND).is_none());
        assert_eq!(table.refused, 2);
        let streams: Vec<u32> = table.receptions().into_iter().map(|it| it.0).collect();
        assert_eq!(streams, [3, 2]);
    }

    #[test]
    fn nobody_who_asked_for_no_reports_gets_any() {
        let mut table = Table::new(2, Duration::from_secs(10));
        table.frame(&at(1, 0), SECOND);
        table.describe(2, None, 0, SECOND);
        let mut reports = Vec::new();
        assert_eq!(table.due(5 * SECOND, &mut reports), None);
        assert!(reports.is_empty());
    }
}
