//! Meter of a stream's reception: loss, order and jitter, as RFC 3550 reckons them.

use std::fmt;

use oxorb_protocols::datagram::{Seen, Window};

/// Counts the frames of one stream as they arrive. No lock, no allocation.
///
/// ```
/// use oxorb_stream::Meter;
///
/// let mut meter = Meter::default();
/// let ms = 1_000_000;
/// for (number, taken, came) in [(0, 0, 7), (1, 40, 47), (3, 120, 127), (1, 40, 130)] {
///     meter.note(number, taken * ms, came * ms);
/// }
/// let so_far = meter.reception();
/// assert_eq!((so_far.received, so_far.lost, so_far.twice, so_far.jitter), (3, 1, 1, 0));
/// ```
#[derive(Debug, Default)]
pub struct Meter {
    window: Window,
    /// The number that came first; those before it are not expected.
    first: Option<u32>,
    highest: u32,
    /// Time at which the frame with the highest number came.
    highest_came: u64,
    /// Frames from the first number to the highest.
    expected: u64,
    received: u64,
    twice: u64,
    late: u64,
    /// Time at which the frame before came, less the time at which it was taken.
    transit: Option<u64>,
    /// Jitter of RFC 3550, appendix A.8: 16 times the mean deviation.
    jitter: u64,
    /// Expected and received at the last report.
    told: (u64, u64),
}

/// Reception of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reception {
    /// The highest sequence number.
    pub highest: u32,
    /// Frames that came, each counted once.
    pub received: u64,
    /// Frames that are missing between the first and the highest number.
    pub lost: u64,
    /// Frames that came again, or so late that nobody knows: they were not handed on.
    pub twice: u64,
    /// Frames that came after a later one; they were handed on, marked.
    pub late: u64,
    /// Mean deviation of the time on the way, in nanoseconds (RFC 3550, 6.4.1).
    pub jitter: u64,
}

/// Place of a frame in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    InOrder,
    Late,
    Again,
}

impl Meter {
    /// Takes note of a frame that was taken at `taken`, by the sender's clock, and came at `came`, by the clock here: in
    /// nanoseconds. Clocks may differ by any amount. Returns whether the frame is new.
    pub fn note(&mut self, sequence: u32, taken: u64, came: u64) -> bool {
        self.arrival(sequence, taken, came) != Arrival::Again
    }

    pub(crate) fn arrival(&mut self, sequence: u32, taken: u64, came: u64) -> Arrival {
        if self.window.note(sequence) != Seen::New {
            self.twice += 1;
            return Arrival::Again;
        }
        self.received += 1;
        let arrival = self.place(sequence, came);
        let transit = came.wrapping_sub(taken);
        if let Some(before) = self.transit.replace(transit) {
            let deviation = (transit.wrapping_sub(before) as i64).unsigned_abs();
            let faded = self.jitter - ((self.jitter + 8) >> 4);
            self.jitter = faded.saturating_add(deviation);
        }
        arrival
    }

    fn place(&mut self, sequence: u32, came: u64) -> Arrival {
        let Some(first) = self.first else {
            self.first = Some(sequence);
            self.step(sequence, came, 1);
            return Arrival::InOrder;
        };
        let ahead = sequence.wrapping_sub(self.highest);
        if ahead < 1 << 31 {
            self.step(sequence, came, ahead.into());
            return Arrival::InOrder;
        }
        // One that was sent before the first that came.
        let before = first.wrapping_sub(sequence);
        if before < 1 << 31 && self.expected < 1 << 31 {
            self.expected += u64::from(before);
            self.first = Some(sequence);
        }
        self.late += 1;
        Arrival::Late
    }

    fn step(&mut self, sequence: u32, came: u64, by: u64) {
        self.highest = sequence;
        self.highest_came = came;
        self.expected += by;
    }

    /// Returns what came so far.
    pub fn reception(&self) -> Reception {
        Reception {
            highest: self.highest,
            received: self.received,
            lost: self.expected.saturating_sub(self.received),
            twice: self.twice,
            late: self.late,
            jitter: self.jitter >> 4,
        }
    }

    /// Returns of the frames that were expected since this was asked before, those that did not come, of 256 (RFC 3550,
    /// A.3).
    pub(crate) fn fraction_lost(&mut self) -> u8 {
        let (expected, received) = self.told;
        self.told = (self.expected, self.received);
        let expected = self.expected.saturating_sub(expected);
        let lost = expected.saturating_sub(self.received.saturating_sub(received));
        match expected {
            0 => 0,
            // As many of 256 as fit into an octet.
            expected => (lost.saturating_mul(256) / expected).min(255) as u8,
        }
    }

    /// Returns how long ago the frame with the highest number came.
    pub(crate) fn held(&self, now: u64) -> u64 {
        now.saturating_sub(self.highest_came)
    }
}

impl fmt::Display for Reception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jitter = self.jitter as f64 / 1e6;
        write!(
            f,
            "{} received, {} lost, {} late, {} twice, jitter {jitter:.3} ms",
            self.received, self.lost, self.late, self.twice
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    proptest! {
        /// Checks that the frames received, lost and twice are those of a set of numbers, whatever
        /// the weather.
        #[test]
        fn every_frame_is_counted_once(
            start in any::<u32>(),
            steps in prop::collection::vec((0..400u32, 0..50u64), 1..300),
        ) {
            let mut meter = Meter::default();
            let mut seen = std::collections::BTreeSet::new();
            let mut again = 0;
            for (at, came) in &steps {
                let new = seen.insert(*at);
                again += u64::from(!new);
                prop_assert_eq!(meter.note(start.wrapping_add(*at), 0, came * MS), new);
            }
            let (first, last) = (seen.first().unwrap(), seen.last().unwrap());
            let found = meter.reception();
            prop_assert_eq!(found.received, seen.len() as u64);
            prop_assert_eq!(found.twice, again);
            prop_assert_eq!(found.lost, u64::from(last - first + 1) - found.received);
            prop_assert_eq!(found.highest, start.wrapping_add(*last));
        }
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        // By the formula of 6.4.1 in floating point.
        let came = [0, 45, 78, 131, 160, 214, 239, 280, 333, 360];
        let mut meter = Meter::default();
        let (mut jitter, mut before) = (0.0_f64, None::<f64>);
        for (at, came) in came.into_iter().enumerate() {
            let taken = 40 * at as u64;
            meter.note(at as u32, taken * MS, came * MS);
            let transit = came as f64 - taken as f64;
            if let Some(before) = before {
                jitter += ((transit - before).abs() - jitter) / 16.0;
            }
            before = Some(transit);
        }
        let found = meter.reception().jitter as f64 / MS as f64;
        assert!((found - jitter).abs() < 0.001, "{found} instead of {jitter}");
    }

    #[test]
    fn clocks_that_differ_make_no_jitter() {
        let mut meter = Meter::default();
        for at in 0..20 {
            meter.note(at, u64::MAX - 5 * MS + u64::from(at), u64::from(at));
        }
        assert_eq!(meter.reception().jitter, 0);
    }

    #[test]
    fn the_fraction_is_of_what_is_new() {
        let mut meter = Meter::default();
        for at in [0, 1, 2, 3] {
            meter.note(at, 0, 0);
        }
        assert_eq!(meter.fraction_lost(), 0);
        for at in [5, 7] {
            meter.note(at, 0, 0);
        }
        assert_eq!(meter.fraction_lost(), 128);
        assert_eq!(meter.fraction_lost(), 0, "nothing came");
        meter.note(u32::MAX / 4, 0, 0);
        assert_eq!(meter.fraction_lost(), 255);
    }

    #[test]
    fn numbers_wrap_round() {
        let mut meter = Meter::default();
        for at in 0..10_u32 {
            meter.note((u32::MAX - 4).wrapping_add(at), 0, 0);
        }
        let found = meter.reception();
        assert_eq!((found.received, found.lost, found.highest), (10, 0, 4));
    }
}
