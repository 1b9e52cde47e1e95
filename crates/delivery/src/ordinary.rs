//! Scheduling of housekeeping threads, which do no urgent work.

use oxorb_sys::schedule::{self, ThreadPriority};

/// Moves the calling thread into SCHED_OTHER, whatever scheduling class and priority it inherited. Makes at most two
/// system calls.
///
/// Call this function at the start of threads that serve peers, timers or gateways. Otherwise such a thread inherits
/// the real-time priority of the thread that starts it.
///
/// ```
/// let thread = std::thread::spawn(oxorb_delivery::run_ordinary);
/// thread.join().expect("it never fails");
/// ```
pub fn run_ordinary() {
    if schedule::current().ok() != Some(ThreadPriority::default()) {
        // Ignore the error: the system always permits a change to ordinary scheduling.
        let _ = schedule::set_current(ThreadPriority::default());
    }
}
