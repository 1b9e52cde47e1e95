//! Work that only the thread of [`Orb::run`](crate::Orb::run) does.

use std::cell::Cell;
use std::collections::VecDeque;

use crate::lock::Mutex;

/// Something that the main thread is to do.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Threads that take jobs: those of a lane.
pub(crate) trait TakesJobs: Send + Sync {
    /// Offers `job` to the threads; gives it back if they have ended or too much waits for them.
    fn offer(&self, job: Job) -> Result<(), Job>;
}

/// Jobs that wait for the main thread of an ORB.
#[derive(Default)]
pub(crate) struct MainThread(Mutex<VecDeque<Job>>);

/// More waits already than may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

thread_local! {
    /// The ORB whose main thread this is, by address; 0: none.
    static MAIN: Cell<usize> = const { Cell::new(0) };
}

/// Guard of the main thread of an ORB.
pub(crate) struct AsMain(usize);

impl MainThread {
    pub(crate) fn push(&self, job: Job, most: usize) -> Result<(), Busy> {
        let mut jobs = self.0.lock();
        if jobs.len() >= most {
            return Err(Busy);
        }
        jobs.push_back(job);
        Ok(())
    }

    pub(crate) fn pop(&self) -> Option<Job> {
        self.0.lock().pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Forgets what waits; who waits for it learns that.
    pub(crate) fn clear(&self) {
        let jobs = std::mem::take(&mut *self.0.lock());
        drop(jobs);
    }

    /// Makes this thread the main one.
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
