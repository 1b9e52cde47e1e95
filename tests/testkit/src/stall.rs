//! Stalls of the machine: times in which not even the most urgent thread of a processor runs.
//!
//! A virtual machine loses its processor now and then, and firmware stops it, for up to some milliseconds. No analysis
//! includes that. A sentinel, more urgent than all threads of an experiment, therefore sleeps and wakes on the same
//! processor. If it wakes late, the machine or the kernel has delayed all threads of this processor. A response that
//! exceeds a proved bound contradicts the proof only if such stalls do not explain it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oxorb_sys::clock::monotonic;
use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};
use rustix::thread::{CpuSet, clock_nanosleep_absolute, sched_setaffinity};
use rustix::time::{ClockId, Timespec};

/// Lateness of the sentinel that counts as a stall. Other threads of the same urgency may delay the sentinel by less.
const LATE: Duration = Duration::from_micros(150);

/// Maximum number of recorded stalls.
const MOST: usize = 1 << 20;

/// Time in which the sentinel was due and did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stall {
    due: Duration,
    woke: Duration,
}

/// Stalls of one processor, in the order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stalls {
    /// Period of the sentinel. A stall begins at an unknown time in the period before the sentinel was due.
    period: Duration,
    found: Vec<Stall>,
}

/// Response of a thread to one release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// Release, as a time of the monotonic clock.
    pub release: Duration,
    /// Time from the release to the completion.
    pub time: Duration,
}

/// Responses compared with a bound and with the stalls.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// Number of responses that exceed the bound.
    pub beyond: u64,
    /// Number of these that would not exceed it without the stalls.
    pub explained: u64,
    /// Number of responses without a stall.
    pub undisturbed: u64,
    /// The longest of these.
    pub undisturbed_max: Duration,
}

/// Runs the sentinel in the calling thread, until `over` is set: at the highest priority of SCHED_FIFO, on processor
/// `cpu`. It looks every `period`, and uses some microseconds of processor time for each look.
///
/// # Errors
/// The processor does not exist, or the process may not use SCHED_FIFO
/// ([`require_realtime`](crate::require_realtime)).
pub fn watch(cpu: usize, period: Duration, over: &AtomicBool) -> io::Result<Stalls> {
    stay_on(cpu)?;
    let priority = *SchedulingClass::Fifo.priorities().end();
    schedule::set_current(ThreadPriority { class: SchedulingClass::Fifo, priority })?;
    let mut found = Vec::with_capacity(1024);
    let mut due = monotonic() + period;
    while !over.load(Ordering::Relaxed) {
        sleep_until(due);
        let woke = monotonic();
        if woke.saturating_sub(due) >= LATE && found.len() < MOST {
            found.push(Stall { due, woke });
        }
        while due <= woke {
            due += period;
        }
    }
    Ok(Stalls { period, found })
}

/// Restricts the calling thread, and the threads and processes that it starts, to a processor.
///
/// # Errors
/// The processor does not exist, or this process may not use it.
pub fn stay_on(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::other(format!("there is no processor {cpu}")));
    }
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    Ok(sched_setaffinity(None, &cpus)?)
}

/// Sleeps until a moment, not for the remaining time: an interruption between reading the clock and sleeping would
/// delay the wake-up.
fn sleep_until(when: Duration) {
    let time = Timespec { tv_sec: when.as_secs() as i64, tv_nsec: when.subsec_nanos().into() };
    while clock_nanosleep_absolute(ClockId::Monotonic, &time).is_err() {}
}

impl Stalls {
    /// Returns the number of stalls.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// Returns the length of the longest stall.
    pub fn longest(&self) -> Duration {
        let lengths = self.found.iter().map(|stall| stall.woke.saturating_sub(stall.due));
        lengths.max().unwrap_or_default()
    }

    /// Adds the stalls of another processor, for responses that use both.
    #[must_use]
    pub fn and(mut self, other: Stalls) -> Stalls {
        self.period = self.period.max(other.period);
        self.found.extend(other.found);
        self.found.sort_by_key(|stall| stall.due);
        self
    }

    /// Compares responses, in the order of their releases, with a bound. Without a bound, no response exceeds it.
    pub fn judge(&self, responses: &[Response], bound: Option<Duration>) -> Judged {
        let mut judged = Judged::default();
        let mut first = 0;
        for Response { release, time } in responses {
            let end = *release + *time;
            while self.found.get(first).is_some_and(|stall| stall.woke < *release) {
                first += 1;
            }
            let begins = |stall: &Stall| stall.due.saturating_sub(self.period);
            let during = self.found[first..].iter().take_while(|stall| begins(stall) < end);
            let (mut stalled, mut counted) = (Duration::ZERO, *release);
            for stall in during {
                // The period before the sentinel was due may overlap the previous stall, which is counted once.
                let until = stall.woke.min(end);
                stalled += until.saturating_sub(begins(stall).max(counted));
                counted = counted.max(until);
            }
            if stalled.is_zero() {
                judged.undisturbed += 1;
                judged.undisturbed_max = judged.undisturbed_max.max(*time);
            }
            if let Some(bound) = bound.filter(|bound| time > bound) {
                judged.beyond += 1;
                judged.explained += u64::from(time.saturating_sub(stalled) <= bound);
            }
        }
        judged
    }
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

    /// Returns stalls, each from the time at which the sentinel was due, in microseconds.
    fn stalls(found: &[(u64, u64)]) -> Stalls {
        let found = found.iter().map(|&(due, woke)| Stall { due: us(due), woke: us(woke) });
        Stalls { period: us(500), found: found.collect() }
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
        let during = stalls(&[(11_200, 13_090), (16_000, 16_400), (30_000, 40_000)]);
        let judged = during.judge(&responses, Some(us(200)));
        let expected = Judged { beyond: 2, explained: 1, undisturbed: 3, undisturbed_max: us(120) };
        assert_eq!(judged, expected);
        let unbounded = during.judge(&responses, None);
        assert_eq!((unbounded.beyond, unbounded.explained), (0, 0));
        let alone = stalls(&[]).judge(&responses, Some(us(100)));
        let expected =
            Judged { beyond: 3, explained: 0, undisturbed: 5, undisturbed_max: us(5_000) };
        assert_eq!(alone, expected);
        assert_eq!((during.count(), during.longest()), (3, us(10_000)));
    }

    #[test]
    fn several_stalls_together_explain_a_response() {
        let responses = [response(10_000, 4_000)];
        let both = stalls(&[(10_500, 12_000), (12_500, 13_950)]);
        assert_eq!(both.judge(&responses, Some(us(200))).explained, 1);
        let one = stalls(&[(10_500, 12_000)]);
        assert_eq!(one.judge(&responses, Some(us(200))).explained, 0);
    }

    #[test]
    fn the_time_before_a_stall_is_not_counted_twice() {
        // The second stall was due 100 us after the end of the first one, and cannot have begun before that end.
        let stalls = stalls(&[(10_500, 12_400), (12_500, 13_950)]);
        let explained = |time| stalls.judge(&[response(10_000, time)], Some(us(200))).explained;
        assert_eq!((explained(4_150), explained(4_400)), (1, 0));
    }

    #[test]
    fn a_response_on_two_processors_is_explained_by_stalls_of_either() {
        let one = stalls(&[(10_500, 12_400), (40_000, 41_000)]);
        let both = one.and(stalls(&[(11_000, 11_500), (13_000, 14_000)]));
        let explained = |time| both.judge(&[response(10_000, time)], Some(us(200))).explained;
        // From 10.0 to 12.4 ms and from 12.5 to 14 ms.
        assert_eq!((explained(4_100), explained(4_400)), (1, 0));
        assert_eq!(both.count(), 4);
    }

    #[test]
    fn the_sentinel_ends_when_the_experiment_is_over() {
        let over = AtomicBool::new(true);
        let watched = std::thread::scope(|scope| {
            scope.spawn(|| watch(0, us(500), &over)).join().expect("the sentinel does not panic")
        });
        // Without the privilege, or the processor, there is no sentinel.
        assert!(watched.is_ok_and(|stalls| stalls.count() == 0) || !is_permitted());
    }

    fn is_permitted() -> bool {
        let privileged = std::thread::spawn(|| {
            stay_on(0)?;
            schedule::set_current(ThreadPriority { class: SchedulingClass::Fifo, priority: 1 })
        });
        privileged.join().expect("it does not panic").is_ok()
    }
}
