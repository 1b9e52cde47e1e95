//! Meter of a stream's reception: loss, order and jitter, computed as in RFC 3550.

use std::fmt;

use oxorb_protocols::datagram::{Seen, Window};

/// Meter of the frames of one stream. No lock, no allocation.
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
    /// Lowest number expected.
    first: Option<u32>,
    highest: u32,
    /// Arrival time of the frame with the highest number.
    highest_came: u64,
    /// Number of frames from the first number to the highest.
    expected: u64,
    received: u64,
    twice: u64,
    late: u64,
    /// Transit time of the previous frame: its arrival minus its timestamp.
    transit: Option<u64>,
    /// Jitter of RFC 3550, appendix A.8, scaled by 16.
    jitter: u64,
    /// Expected and received frames at the last report.
    told: (u64, u64),
}

/// Reception of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reception {
    /// Highest sequence number.
    pub highest: u32,
    /// Number of frames received, without duplicates.
    pub received: u64,
    /// Number of frames missing between the first and the highest number.
    pub lost: u64,
    /// Number of frames dropped as duplicates, including frames too late to be distinguished from duplicates.
    pub twice: u64,
    /// Number of frames that arrived after a later frame; they were passed on, marked as late.
    pub late: u64,
    /// Mean deviation of the transit time, in nanoseconds (RFC 3550, 6.4.1).
    pub jitter: u64,
}

/// Position of a frame in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    InOrder,
    Late,
    Again,
}

impl Meter {
    /// Records a frame taken at `taken` by the sender's clock that arrived at `came` by the local
    /// clock, both in nanoseconds. The clocks may differ by any amount. Reports whether the frame
    /// is new.
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
        // If the frame precedes the first one received, the frames in between were expected as well.
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

    /// Returns the reception so far.
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

    /// Returns the fraction of expected frames lost since the last call, times 256 (RFC 3550, A.3).
    pub(crate) fn fraction_lost(&mut self) -> u8 {
        let (expected, received) = self.told;
        self.told = (self.expected, self.received);
        let expected = self.expected.saturating_sub(expected);
        let lost = expected.saturating_sub(self.received.saturating_sub(received));
        match expected {
            0 => 0,
            // If all frames are lost, the quotient is 256, which does not fit into an octet.
            expected => (lost.saturating_mul(256) / expected).min(255) as u8,
        }
    }

    /// Returns the time since the arrival of the frame with the highest number.
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
        /// Checks that the counts of received, lost and duplicate frames match a set of numbers,
        /// under any loss and reordering.
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
        // The expected jitter is computed in floating point by the formula of RFC 3550, 6.4.1.
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
