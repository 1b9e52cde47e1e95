//! Priorities of the operating system, for those who have no ORB that sets them.

use oxorb_sys::schedule::{self, Class, Schedule};

use crate::Result;

/// Lets the calling thread run at that priority of SCHED_FIFO from now on; at 0 like any other thread.
pub(super) fn set(priority: i16) -> Result {
    let schedule = Schedule {
        class: match priority {
            0 => Class::Other,
            _ => Class::Fifo,
        },
        priority: priority.into(),
    };
    schedule::set_current(schedule)
        .map_err(|error| format!("cannot run at SCHED_FIFO priority {priority}: {error}").into())
}

/// Whether this process may do so at all.
pub(super) fn is_allowed() -> bool {
    std::thread::spawn(|| set(1).is_ok())
        .join()
        .expect("does not panic")
}
