//! Plan of a dispatching module.

use std::fmt;
use std::io;
use std::sync::Arc;

use oxorb_sched::Dispatching;
use oxorb_sched::queue::Missed;
use oxorb_sys::schedule::{Reservation, ReservationError, Schedule};
use oxorb_sys::thread::Registry;

/// Plan of a dispatching module.
///
/// ```
/// use oxorb_rt::dispatch::{Plan, Storage};
/// use oxorb_sched::{Dispatching, queue::Missed};
///
/// let mut plan = Plan::new("50 Hz", Dispatching::Laxity);
/// plan.missed = Missed::Drop;
/// plan.storage = Storage::List;
/// plan.capacity = 16;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// Name of the module's threads, for tools.
    pub name: String,
    /// The order of its queue.
    pub dispatching: Dispatching,
    /// Treatment of requests that cannot be in time any more.
    pub missed: Missed,
    /// Data structure of the queue.
    pub storage: Storage,
    /// Most requests that wait; from 1. All their room is allocated at the start.
    pub capacity: usize,
    /// Number of threads; from 1. Several serve one queue side by side, which analysis of one
    /// processor does not know.
    pub threads: usize,
    /// Most threads that [`Module::reinforce`](crate::dispatch::Module::reinforce) adds. Default 0.
    pub spares: usize,
    /// Schedule of the threads.
    pub scheduling: Threads,
    /// The only processor of its threads; `None`: those in `cpus`.
    pub cpu: Option<usize>,
    /// The processors of its threads; empty: those of the thread that starts the module.
    pub cpus: Vec<usize>,
    /// The list that its threads are in while they run.
    pub listed: Option<Arc<Registry>>,
}

/// Data structure of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Storage {
    /// A sorted list: quickest for a few requests, or for those that come in order.
    List,
    /// A heap: O(log n) for any number.
    #[default]
    Heap,
}

/// Schedule of the threads of a module.
#[derive(Debug, Clone, Copy, Default)]
pub enum Threads {
    /// Schedule of the thread that starts the module.
    #[default]
    Inherit,
    /// A class and a priority; where the process may not have them, threads stay as they are, and
    /// [`Module::is_real_time`] says so.
    ///
    /// [`Module::is_real_time`]: crate::dispatch::Module::is_real_time
    At(Schedule),
    /// Processor time of its own (SCHED_DEADLINE) for each thread; a module that cannot have it
    /// does not start.
    Reserved(Reservation),
}

/// Why a module does not start.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The plan has no room for a request, or no thread.
    #[error("a dispatching module has room for a request and a thread at least")]
    Nothing,
    /// The system gives no thread, or no such processor or priority.
    #[error("the threads of a dispatching module cannot be had: {0}")]
    Threads(#[source] io::Error),
    /// The kernel cannot keep what was to be reserved: says how much was asked for and how much there is.
    #[error("{0}")]
    Reservation(#[source] ReservationError),
}

impl Plan {
    /// Returns a plan with a thread as it comes, and a heap for 256 requests, which run even if
    /// they are late.
    pub fn new(name: impl Into<String>, dispatching: Dispatching) -> Plan {
        Plan {
            name: name.into(),
            dispatching,
            missed: Missed::default(),
            storage: Storage::default(),
            capacity: 256,
            threads: 1,
            spares: 0,
            scheduling: Threads::default(),
            cpu: None,
            cpus: Vec::new(),
            listed: None,
        }
    }
}

impl fmt::Debug for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<StartError> for io::Error {
    fn from(error: StartError) -> io::Error {
        match error {
            StartError::Threads(error) => error,
            other => io::Error::other(other.to_string()),
        }
    }
}
