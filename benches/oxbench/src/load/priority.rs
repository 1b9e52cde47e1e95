//! Priorities of the operating system, for programs without an ORB that sets them.

use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};

use crate::Result;

/// Sets the calling thread's SCHED_FIFO priority; 0 keeps the class that the process was started with, as for threads
/// of the other architectures.
pub(super) fn set(priority: i16) -> Result {
    if priority == 0 {
        return Ok(());
    }
    let schedule = ThreadPriority { class: SchedulingClass::Fifo, priority: priority.into() };
    schedule::set_current(schedule)
        .map_err(|error| format!("cannot run at SCHED_FIFO priority {priority}: {error}").into())
}

/// Reports whether this process may set priorities.
pub(crate) fn is_allowed() -> bool {
    std::thread::spawn(|| set(1).is_ok()).join().expect("does not panic")
}
