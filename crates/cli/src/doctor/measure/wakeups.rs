//! Lateness of threads that sleep until a deadline.

use std::time::{Duration, Instant};

use oxorb_sys::clock::monotonic_nanoseconds as now;
use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec};

use super::report::Wakeups;
use crate::doctor::hold::Ends;
use oxorb_terminal::output::{Failed, because};
use oxorb_terminal::statistics::Latencies;

/// Time between two wake-ups of the least urgent thread, in nanoseconds; that of each further thread is slightly
/// longer, so that they do not all wake up together.
const PERIOD: u64 = 1_000_000;
const APART: u64 = 37_000;

/// Size in octets of the stack area that a thread touches before it is measured.
const STACK: usize = 64 << 10;

/// Measures a thread of each priority at the same time.
pub(super) fn measure(
    priorities: &[i32],
    time: Duration,
    ends: &Ends,
) -> Result<Vec<Wakeups>, Failed> {
    std::thread::scope(|scope| {
        let start = |(at, &priority): (usize, &i32)| {
            let period = PERIOD + at as u64 * APART;
            let thread = std::thread::Builder::new().name(format!("doctor-{priority}"));
            thread.spawn_scoped(scope, move || one(priority, period, time, ends))
        };
        let threads: Vec<_> = priorities.iter().enumerate().map(start).collect::<Result<_, _>>()?;
        let results = threads.into_iter().map(|thread| thread.join());
        let results: Result<Vec<_>, _> = results.collect();
        results.map_err(|_| because("a thread failed during the measurement"))
    })
}

fn one(priority: i32, period: u64, time: Duration, ends: &Ends) -> Wakeups {
    let wanted = match priority {
        0 => ThreadPriority::default(),
        priority => ThreadPriority { class: SchedulingClass::Fifo, priority },
    };
    let granted = schedule::set_current(wanted).is_ok();
    oxorb_sys::memory::prefault_stack(STACK);
    let mut late = Latencies::new();
    let end = Instant::now() + time;
    let mut next = now() + period;
    while Instant::now() < end && !ends.came() {
        sleep_until(next);
        let woken = now();
        late.record(Duration::from_nanos(woken.saturating_sub(next)));
        // A late thread skips the wake-ups that it missed.
        next = next.max(woken.saturating_sub(period)) + period;
    }
    Wakeups::new(priority, granted, &late)
}

/// Sleeps by the monotonic clock, which setting the time of day does not affect.
fn sleep_until(moment: u64) {
    let until = Timespec {
        tv_sec: (moment / 1_000_000_000).cast_signed(),
        tv_nsec: (moment % 1_000_000_000) as i64,
    };
    // A signal ends the sleep early; the loop then sleeps again.
    while now() < moment {
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &until);
    }
}
