//! Time of a context switch between two threads.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};
use oxorb_sys::{futex, thread};

use crate::doctor::hold::Ends;
use oxorb_terminal::statistics::{Latencies, Percentiles};

/// Priority of both threads: above ordinary ones, and below lanes.
const PRIORITY: i32 = 5;

/// Longest sleep, so that a lost wake-up cannot block the measurement.
const LIMIT: Duration = Duration::from_millis(100);

/// Makes two threads on one processor wake each other alternately. Each sample is half of a round: a wake-up, a system
/// call that sleeps, and the switch.
pub(super) fn measure(time: Duration, ends: &Ends) -> Percentiles {
    let cpu = thread::allowed_cpus().ok().and_then(|all| all.last().copied());
    let (turn, over) = (AtomicU32::new(0), AtomicBool::new(false));
    let ready = || {
        if let Some(cpu) = cpu {
            let _ = thread::pin_current_thread(cpu);
        }
        // Without the privilege, both threads keep their ordinary priority. Other threads may then take processor time,
        // which shows in the largest samples.
        let _ = schedule::set_current(ThreadPriority {
            class: SchedulingClass::Fifo,
            priority: PRIORITY,
        });
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            ready();
            while !over.load(Ordering::Acquire) {
                futex::sleep(&turn, 0, LIMIT);
                if turn.swap(0, Ordering::AcqRel) == 1 {
                    futex::wake(&turn);
                }
            }
        });
        let measuring = scope.spawn(|| {
            ready();
            let mut times = Latencies::new();
            let end = Instant::now() + time;
            let mut before = Instant::now();
            while before < end && !ends.came() {
                turn.store(1, Ordering::Release);
                futex::wake(&turn);
                while turn.load(Ordering::Acquire) == 1 {
                    futex::sleep(&turn, 1, LIMIT);
                }
                let after = Instant::now();
                times.record((after - before) / 2);
                before = after;
            }
            over.store(true, Ordering::Release);
            turn.store(1, Ordering::Release);
            futex::wake(&turn);
            times.percentiles()
        });
        measuring.join().unwrap_or_default()
    })
}
