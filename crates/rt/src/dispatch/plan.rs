//! Plan of a dispatching module.

use std::fmt;
use std::io;
use std::sync::Arc;

use oxorb_sched::Dispatching;
use oxorb_sched::queue::Missed;
use oxorb_sys::schedule::{Reservation, ReservationError, ThreadPriority};
use oxorb_sys::thread::ThreadRegistry;

/// Plan of a dispatching module.
///
/// ```
/// use oxorb_rt::dispatch::{ModulePlan, QueueStorage};
/// use oxorb_sched::{Dispatching, queue::Missed};
///
/// let mut plan = ModulePlan::new("50 Hz", Dispatching::Laxity);
/// plan.missed = Missed::Drop;
/// plan.storage = QueueStorage::List;
/// plan.capacity = 16;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModulePlan {
    /// Name of the module's threads, shown by tools.
    pub name: String,
    /// Order of the queue.
    pub dispatching: Dispatching,
    /// Treatment of late requests.
    pub missed: Missed,
    /// Data structure of the queue.
    pub storage: QueueStorage,
    /// Capacity of the queue, in requests; from 1. Its memory is allocated at the start.
    pub capacity: usize,
    /// Number of threads; from 1. Several threads serve one queue in parallel, which analysis of
    /// one processor does not cover.
    pub threads: usize,
    /// Maximum number of threads that [`DispatchingModule::reinforce`](crate::dispatch::DispatchingModule::reinforce)
    /// adds. Default 0.
    pub spares: usize,
    /// Scheduling of the threads.
    pub scheduling: ModuleThreads,
    /// Only processor of the threads; `None` for those in `cpus`.
    pub cpu: Option<usize>,
    /// Processors of the threads; empty for those of the thread that starts the module.
    pub cpus: Vec<usize>,
    /// Registry that lists the threads while they run.
    pub listed: Option<Arc<ThreadRegistry>>,
}

/// Data structure of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueStorage {
    /// Sorted list: fastest for a few requests, or for requests that arrive in order.
    List,
    /// Heap: O(log n) for any number of requests.
    #[default]
    Heap,
}

/// Scheduling of the threads of a module.
#[derive(Debug, Clone, Copy, Default)]
pub enum ModuleThreads {
    /// Scheduling class and priority of the thread that starts the module.
    #[default]
    Inherit,
    /// Explicit scheduling class and priority. If the process may not set them, the threads keep
    /// the class and priority that they have, and [`DispatchingModule::is_real_time`] returns false.
    ///
    /// [`DispatchingModule::is_real_time`]: crate::dispatch::DispatchingModule::is_real_time
    At(ThreadPriority),
    /// Reserved processor time (SCHED_DEADLINE) for each thread; the module does not start without
    /// it.
    Reserved(Reservation),
}

/// Reason why a module does not start.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ModuleStartError {
    /// The plan has a capacity or a number of threads of 0.
    #[error(
        "a dispatching module needs a capacity of at least one request, and at least one thread"
    )]
    Nothing,
    /// The system provides no thread, or none on this processor or at this priority.
    #[error("the threads of a dispatching module cannot be started: {0}")]
    Threads(#[source] io::Error),
    /// The kernel rejects the reservation; the error names the requested and the available time.
    #[error("{0}")]
    Reservation(#[source] ReservationError),
}

impl ModulePlan {
    /// Returns a plan with one thread of inherited class and priority, and a heap for 256 requests,
    /// which run even if late.
    pub fn new(name: impl Into<String>, dispatching: Dispatching) -> ModulePlan {
        ModulePlan {
            name: name.into(),
            dispatching,
            missed: Missed::default(),
            storage: QueueStorage::default(),
            capacity: 256,
            threads: 1,
            spares: 0,
            scheduling: ModuleThreads::default(),
            cpu: None,
            cpus: Vec::new(),
            listed: None,
        }
    }
}

impl fmt::Debug for ModuleStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<ModuleStartError> for io::Error {
    fn from(error: ModuleStartError) -> io::Error {
        match error {
            ModuleStartError::Threads(error) => error,
            other => io::Error::other(other.to_string()),
        }
    }
}
