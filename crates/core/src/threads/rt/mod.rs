//! Real time: CORBA priorities of threads, and their mapping to the operating system.
//!
//! ```text
//! options.realtime (options/)    which scheduling class, which mapping
//!   -> Scheduling (scheduling.rs)  of one ORB: CORBA priority -> native priority -> kernel
//!        -> current.rs             of each thread: the priority it has now; raised for a call, restored after
//! ```
//!
//! Setting the priority that a thread already has costs one access to a thread-local variable, and
//! no system call.

mod current;
mod mutex;
mod options;
mod pool;
mod scheduling;

pub use current::RaisedPriority;
pub(crate) use current::{
    Lowered, Priorities, declare, know_schedule, lower, restore_demoted, thread_priority,
};
pub(crate) use mutex::NamedMutexes;
pub use mutex::{MutexNotFound, RtMutex, RtMutexGuard};
pub use options::{LaneEndpoints, LaneNumber, LaneScheduling, MappingChoice, RealTime};
pub use pool::{Serving, ThreadpoolId};
pub(crate) use scheduling::Scheduling;

#[cfg(test)]
mod tests;
