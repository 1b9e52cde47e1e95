//! Pacing of frames.

use std::num::NonZeroU64;
use std::time::Duration;

/// Pace: a rate in octets per second, and the largest burst.
///
/// The sender's own thread keeps the pace, so that it works over every protocol and needs neither a privilege nor a
/// queueing discipline. (SO_MAX_PACING_RATE acts on UDP only with the queueing discipline `fq`.) Frames are not
/// divided: a large frame is sent at once, and the next frames wait for the duration of the large one at this pace.
///
/// ```
/// use std::time::Duration;
/// use oxorb_stream::Pace;
///
/// let pace = Pace::new(1_000_000.try_into()?, 20_000);
/// assert_eq!(pace.lasts(50_000), Duration::from_millis(50));
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    octets: NonZeroU64,
    burst: u64,
}

impl Pace {
    /// Returns a pace of `octets` octets per second, of which `burst` may leave at once after a
    /// pause.
    pub fn new(octets: NonZeroU64, burst: u64) -> Pace {
        Pace { octets, burst }
    }

    /// Returns the duration of `octets` octets at this pace.
    pub fn lasts(self, octets: u64) -> Duration {
        Duration::from_nanos(self.nanoseconds(octets))
    }

    /// Returns the duration in nanoseconds, rounded up so that the pace is never exceeded.
    fn nanoseconds(self, octets: u64) -> u64 {
        let all = u128::from(octets) * 1_000_000_000;
        u64::try_from(all.div_ceil(self.octets.get().into())).unwrap_or(u64::MAX)
    }
}

/// Time at which all frames sent so far would have left at the pace (a leaky bucket, represented as a time).
#[derive(Debug, Default)]
pub(crate) struct Paced(u64);

impl Paced {
    /// Returns the time that the next frame must wait, in nanoseconds.
    pub(crate) fn wait(&self, pace: Option<Pace>, now: u64) -> u64 {
        let Some(pace) = pace else { return 0 };
        let early = pace.nanoseconds(pace.burst);
        self.0.saturating_sub(early).saturating_sub(now)
    }

    /// Records that `octets` octets leave.
    pub(crate) fn leaves(&mut self, pace: Option<Pace>, now: u64, octets: usize) {
        if let Some(pace) = pace {
            let lasts = pace.nanoseconds(octets as u64);
            self.0 = self.0.max(now).saturating_add(lasts);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Checks that in any interval no more leaves than pace, one burst and one frame allow.
        #[test]
        fn the_pace_is_never_exceeded(
            octets in 1_000..10_000_000u64,
            burst in 0..100_000u64,
            frames in prop::collection::vec((1..60_000usize, 0..50_000_000u64), 1..100),
        ) {
            let pace = Pace::new(octets.try_into().unwrap(), burst);
            let (mut paced, mut now) = (Paced::default(), 1);
            let mut left = Vec::new();
            for (size, pause) in frames {
                now += pause;
                now += paced.wait(Some(pace), now);
                paced.leaves(Some(pace), now, size);
                left.push((now, size as u64));
            }
            for from in 0..left.len() {
                let mut sum = 0;
                for (at, size) in &left[from..] {
                    let time = u128::from(at - left[from].0);
                    let most = time * u128::from(octets) / 1_000_000_000 + u128::from(burst) + 1;
                    prop_assert!(sum <= most, "{sum} before {at}, {most} allowed");
                    sum += u128::from(*size);
                }
            }
        }
    }

    #[test]
    fn without_a_pace_nothing_waits() {
        let mut paced = Paced::default();
        paced.leaves(None, 5, 1_000_000);
        assert_eq!(paced.wait(None, 5), 0);
    }
}
