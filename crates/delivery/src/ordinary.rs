//! Threads that look after things, for nobody's urgent work.

use oxorb_sys::schedule::{self, Schedule};

/// Moves the calling thread into SCHED_OTHER, whatever the thread had that started it. Two system
/// calls at most.
///
/// For the first line of threads that look after peers, timers or gateways: one that an urgent thread happened to start would
/// be as urgent.
///
/// ```
/// let thread = std::thread::spawn(oxorb_delivery::run_ordinary);
/// thread.join().expect("it never fails");
/// ```
pub fn run_ordinary() {
    if schedule::current().ok() != Some(Schedule::default()) {
        // Less is always allowed.
        let _ = schedule::set_current(Schedule::default());
    }
}
