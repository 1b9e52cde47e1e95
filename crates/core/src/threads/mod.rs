//! Threads of an ORB, their priorities, locks and time. All threads are started here, with a declared class and
//! priority.

mod by_priority;
pub(crate) mod clock;
mod confinement;
pub mod lock;
mod main_thread;
pub(crate) mod rt;
pub(crate) mod sync;
pub(crate) mod within;

pub(crate) use by_priority::{ByPriority, Ends};
pub(crate) use confinement::{Confines, at_end, lane_of_this_thread};
pub use main_thread::MainThreadQueueFull;
pub(crate) use main_thread::{MainThread, TakesJobs, ThreadJob};

use std::io;
use std::sync::Arc;

use oxorb_rt::Priority;
use oxorb_sys::schedule::ThreadPriority;
use oxorb_sys::thread::{ThreadPurpose, ThreadRegistry, allowed_cpus};

use self::rt::Scheduling;
use self::sync::attributed::{Builder, Thread};

/// Starts and lists the threads of one ORB.
///
/// Class, priority and processors are set explicitly, so that nothing depends on the starting thread.
pub(crate) struct Threads {
    registry: Arc<ThreadRegistry>,
    scheduling: Arc<Scheduling>,
    /// Processors of the thread that created the ORB.
    cpus: Vec<usize>,
}

impl Threads {
    pub(crate) fn new(scheduling: &Arc<Scheduling>) -> Arc<Threads> {
        Arc::new(Threads {
            registry: Arc::default(),
            scheduling: Arc::clone(scheduling),
            cpus: allowed_cpus().unwrap_or_default(),
        })
    }

    pub(crate) fn registry(&self) -> &Arc<ThreadRegistry> {
        &self.registry
    }

    /// Reports whether threads have native real-time priorities.
    pub(crate) fn are_real_time(&self) -> bool {
        self.scheduling.is_real_time()
    }

    pub(crate) fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Returns a builder of a thread with the native priority of `priority`; `None` for the lowest of the ORB's class.
    pub(crate) fn builder(
        &self,
        purpose: ThreadPurpose,
        name: impl Into<String>,
        priority: Option<Priority>,
    ) -> Builder {
        self.builder_at(purpose, name, self.scheduling.declared(priority))
    }

    /// Returns a builder of a thread with an explicit class and priority.
    pub(crate) fn builder_at(
        &self,
        purpose: ThreadPurpose,
        name: impl Into<String>,
        schedule: ThreadPriority,
    ) -> Builder {
        Builder::new(name).cpus(&self.cpus).schedule(schedule).listed(&self.registry, purpose)
    }

    /// Starts a thread with the CORBA priority `priority` and its native one; `None` for no CORBA priority and the
    /// lowest native one of the ORB's class.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        purpose: ThreadPurpose,
        name: impl Into<String>,
        priority: Option<Priority>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Thread<T>> {
        let number = self.scheduling.number();
        self.builder(purpose, name, priority).spawn(move || {
            if let Some(priority) = priority {
                rt::declare(number, priority);
            }
            work()
        })
    }
}
