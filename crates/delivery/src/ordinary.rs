//! Scheduling of housekeeping threads, which do no urgent work.

use oxorb_sys::schedule::{self, Schedule};

/// Moves the calling thread into SCHED_OTHER, regardless of the scheduling class and priority that it inherited. Two
/// system calls at most.
///
/// Call this function first in threads that serve peers, timers or gateways: otherwise a thread started by an urgent
/// thread would be as urgent.
///
/// ```
/// let thread = std::thread::spawn(oxorb_delivery::run_ordinary);
/// thread.join().expect("it never fails");
/// ```
pub fn run_ordinary() {
    if schedule::current().ok() != Some(Schedule::default()) {
        // Lowering the schedule is always allowed.
        let _ = schedule::set_current(Schedule::default());
    }
}
