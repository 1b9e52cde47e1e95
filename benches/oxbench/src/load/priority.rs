//! Priorities of the operating system, for those who have no ORB that sets them.

use oxorb_sys::schedule::{self, Class, Schedule};

use crate::Result;

/// Lets the calling thread run at that priority of SCHED_FIFO from now on; at 0 as the threads of the others do, in the class
/// that its process was started with.
pub(super) fn set(priority: i16) -> Result {
    if priority == 0 {
        return Ok(());
    }
    let schedule = Schedule { class: Class::Fifo, priority: priority.into() };
    schedule::set_current(schedule)
        .map_err(|error| format!("cannot run at SCHED_FIFO priority {priority}: {error}").into())
}

/// Whether this process may do so at all.
pub(crate) fn is_allowed() -> bool {
    std::thread::spawn(|| set(1).is_ok()).join().expect("does not panic")
}
