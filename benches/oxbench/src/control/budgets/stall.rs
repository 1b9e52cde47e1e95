//! Stalls of the machine: times in which not even the most urgent thread of a processor runs.
//!
//! A virtual machine loses its processor now and then, and firmware stops it, for up to some milliseconds. No analysis
//! includes that. A sentinel, more urgent than all threads of the experiment, therefore sleeps and wakes on the same
//! processor. If it wakes late, the machine or the kernel has delayed all threads of this processor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};

use crate::Result;
use crate::load::{now, sleep_until};
use crate::placement::pin_this_thread;

/// Period of the sentinel.
const PERIOD: Duration = Duration::from_micros(500);

/// Lateness of the sentinel that counts as a stall. The thread that watches budgets is as urgent as the sentinel, and
/// delays it by less.
const LATE: Duration = Duration::from_micros(150);

/// Maximum number of recorded stalls.
const MOST: usize = 1 << 20;

/// Time in which the sentinel was due and did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stall {
    pub(super) due: Duration,
    pub(super) woke: Duration,
}

/// Response of a thread to one release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) release: Duration,
    /// Time from the release to the completion.
    pub(super) time: Duration,
}

/// Responses to which stalls are compared.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Judged {
    /// Number of responses that exceed the bound.
    pub(super) beyond: u64,
    /// Number of these that would not exceed it without the stalls.
    pub(super) explained: u64,
    /// Longest response without a stall.
    pub(super) undisturbed_max: Duration,
}

/// Runs the sentinel in the calling thread, until `over` is set; returns the stalls in the order of time.
pub(super) fn watch(cpu: usize, over: &AtomicBool) -> Result<Vec<Stall>> {
    pin_this_thread(cpu)?;
    let priority = *SchedulingClass::Fifo.priorities().end();
    schedule::set_current(ThreadPriority { class: SchedulingClass::Fifo, priority })?;
    let mut stalls = Vec::with_capacity(1024);
    let mut due = now() + PERIOD;
    while !over.load(Ordering::Relaxed) {
        sleep_until(due);
        let woke = now();
        if woke.saturating_sub(due) >= LATE && stalls.len() < MOST {
            stalls.push(Stall { due, woke });
        }
        while due <= woke {
            due += PERIOD;
        }
    }
    Ok(stalls)
}

/// Compares responses and stalls, both in the order of time. Without a bound, no response exceeds it.
pub(super) fn judge(responses: &[Response], stalls: &[Stall], bound: Option<Duration>) -> Judged {
    let mut judged = Judged::default();
    let mut first = 0;
    for Response { release, time } in responses {
        let end = *release + *time;
        while stalls.get(first).is_some_and(|stall| stall.woke < *release) {
            first += 1;
        }
        // A stall begins at an unknown time in the period before the sentinel was due.
        let begins = |stall: &Stall| stall.due.saturating_sub(PERIOD);
        let during = stalls[first..].iter().take_while(|stall| begins(stall) < end);
        let (mut stalled, mut counted) = (Duration::ZERO, *release);
        for stall in during {
            // The period before the sentinel was due may overlap the previous stall, which is counted once.
            let until = stall.woke.min(end);
            stalled += until.saturating_sub(begins(stall).max(counted));
            counted = counted.max(until);
        }
        if stalled.is_zero() {
            judged.undisturbed_max = judged.undisturbed_max.max(*time);
        }
        if let Some(bound) = bound.filter(|bound| time > bound) {
            judged.beyond += 1;
            judged.explained += u64::from(time.saturating_sub(stalled) <= bound);
        }
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn response(release: u64, time: u64) -> Response {
        Response { release: us(release), time: us(time) }
    }

    #[test]
    fn a_response_beyond_the_bound_is_explained_by_a_stall_that_is_long_enough() {
        let responses = [
            response(10_000, 90),
            // A stall of 2 ms begins in this one.
            response(11_000, 2_100),
            response(14_000, 120),
            // A stall of 400 us does not explain it.
            response(15_000, 5_000),
            response(21_000, 80),
        ];
        let stalls = [
            Stall { due: us(11_200), woke: us(13_090) },
            Stall { due: us(16_000), woke: us(16_400) },
            Stall { due: us(30_000), woke: us(40_000) },
        ];
        let judged = judge(&responses, &stalls, Some(us(200)));
        assert_eq!(judged, Judged { beyond: 2, explained: 1, undisturbed_max: us(120) });
        let unbounded = judge(&responses, &stalls, None);
        assert_eq!((unbounded.beyond, unbounded.explained), (0, 0));
        let alone = judge(&responses, &[], Some(us(100)));
        assert_eq!(alone, Judged { beyond: 3, explained: 0, undisturbed_max: us(5_000) });
    }

    #[test]
    fn several_stalls_together_explain_a_response() {
        let responses = [response(10_000, 4_000)];
        let stalls = [
            Stall { due: us(10_500), woke: us(12_000) },
            Stall { due: us(12_500), woke: us(13_950) },
        ];
        assert_eq!(judge(&responses, &stalls, Some(us(200))).explained, 1);
        assert_eq!(judge(&responses, &stalls[..1], Some(us(200))).explained, 0);
    }

    #[test]
    fn the_time_before_a_stall_is_not_counted_twice() {
        // The second stall was due 100 us after the end of the first one, and cannot have begun before that end.
        let stalls = [
            Stall { due: us(10_500), woke: us(12_400) },
            Stall { due: us(12_500), woke: us(13_950) },
        ];
        let explained = |time| judge(&[response(10_000, time)], &stalls, Some(us(200))).explained;
        assert_eq!((explained(4_150), explained(4_400)), (1, 0));
    }
}
