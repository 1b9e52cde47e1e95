//! Jobs that only the thread of [`Orb::run`](crate::Orb::run) executes.

use std::cell::Cell;
use std::collections::VecDeque;

use super::lock::Mutex;

/// Work for the main thread.
pub(crate) type ThreadJob = Box<dyn FnOnce() + Send>;

/// Threads that execute jobs, such as those of a lane.
pub(crate) trait TakesJobs: Send + Sync {
    /// Passes `job` to the threads; returns it if they have ended or their queue is full.
    fn offer(&self, job: ThreadJob) -> Result<(), ThreadJob>;
}

/// Queue of jobs for the main thread of an ORB.
#[derive(Default)]
pub(crate) struct MainThread(Mutex<VecDeque<ThreadJob>>);

/// Error of a full queue of the main thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MainThreadQueueFull;

thread_local! {
    /// Address of the [`MainThread`] that the calling thread serves; 0 for none.
    static MAIN: Cell<usize> = const { Cell::new(0) };
}

/// Guard of the main thread of an ORB.
pub(crate) struct AsMain(usize);

impl MainThread {
    pub(crate) fn push(&self, job: ThreadJob, most: usize) -> Result<(), MainThreadQueueFull> {
        let mut jobs = self.0.lock();
        if jobs.len() >= most {
            return Err(MainThreadQueueFull);
        }
        jobs.push_back(job);
        Ok(())
    }

    pub(crate) fn pop(&self) -> Option<ThreadJob> {
        self.0.lock().pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Drops the queued jobs, which notifies the threads that wait for them.
    pub(crate) fn clear(&self) {
        let jobs = std::mem::take(&mut *self.0.lock());
        drop(jobs);
    }

    /// Makes the calling thread the main thread.
    pub(crate) fn enter(&self) -> AsMain {
        AsMain(MAIN.replace(std::ptr::from_ref(self) as usize))
    }

    pub(crate) fn is_here(&self) -> bool {
        MAIN.get() == std::ptr::from_ref(self) as usize
    }
}

impl Drop for AsMain {
    fn drop(&mut self) {
        MAIN.set(self.0);
    }
}
