//! Jobs for the threads of a lane: what is not a request and shall run there all the same.
//!
//! Jobs wait in the queue of what is handed on, which a lane's threads look at anyway: lanes without jobs pay nothing for
//! them.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use super::handed_on::{Handed, NotQueued};
use super::lane::Lane;
use crate::Serving;
use crate::main_thread::{Job, TakesJobs};

/// Most handlers, tasks and handed-on connections that wait before a lane refuses further handlers.
const MOST: usize = 65_536;

impl TakesJobs for Lane {
    fn offer(&self, job: Job) -> Result<(), Job> {
        self.run(job, MOST).map_err(|(_, job)| job)
    }
}

impl Lane {
    /// Runs `job` in a thread of the lane; the job counts among at most `most` that wait. Drops it
    /// if the lane ends first.
    ///
    /// # Errors
    /// The job is given back: too many wait, the lane has ended, or its threads take connections alone.
    pub(crate) fn run(&self, job: Job, most: usize) -> Result<(), (NotQueued, Job)> {
        if self.plan.serving == Serving::ThreadPerConnection {
            return Err((NotQueued::Closed, job));
        }
        match self.handed_on.offer(Handed::Job(job), most) {
            Ok(()) => {
                self.wake_somebody();
                Ok(())
            }
            Err((refused, Handed::Job(job))) => Err((refused, job)),
            Err((_, Handed::Connection(_))) => unreachable!("a job was offered"),
        }
    }

    /// Whether one thread alone serves, from the start of the lane to its end.
    ///
    /// # Errors
    /// The reason why not.
    pub(crate) fn is_one_thread(&self) -> Result<(), &'static str> {
        match self.plan.serving {
            Serving::Reader if self.polls_alone() => Ok(()),
            Serving::Reader if self.plan.static_threads > 1 => {
                Err("its lane has several static threads: give it one (static_threads)")
            }
            Serving::Reader if self.plan.dynamic_threads > 0 => {
                Err("its lane has dynamic threads: leave them out (dynamic_threads)")
            }
            Serving::Reader => Err(
                "another thread reads or lends itself where its lane is busy: leave out request buffering and borrowing \
                 (buffering, allow_borrowing)",
            ),
            _ => {
                Err("its lane hands requests on: let the thread that reads serve (Serving::Reader)")
            }
        }
    }

    /// Runs a job; one that panics ends alone.
    pub(super) fn run_job(job: Job) {
        let _ = panic::catch_unwind(AssertUnwindSafe(job));
    }

    /// Drops the jobs that wait, and refuses further ones.
    pub(super) fn end_jobs(self: &Arc<Self>) {
        let jobs = self.handed_on.close(|handed| matches!(handed, Handed::Job(_)));
        drop(jobs);
    }
}
