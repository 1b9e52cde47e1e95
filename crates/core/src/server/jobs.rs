//! Jobs for the threads of a lane: work other than requests.
//!
//! Jobs share the queue of handed-on connections, which a lane's threads check anyway: lanes without jobs pay nothing
//! for them.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use super::handed_on::{Handed, NotQueued};
use super::lane::Lane;
use crate::Serving;
use crate::threads::{TakesJobs, ThreadJob};

/// Maximum number of queued handlers, tasks and handed-on connections; beyond it a lane refuses further handlers.
const MOST: usize = 65_536;

impl TakesJobs for Lane {
    fn offer(&self, job: ThreadJob) -> Result<(), ThreadJob> {
        self.run(job, MOST).map_err(|(_, job)| job)
    }
}

impl Lane {
    /// Queues `job` for a thread of the lane, among at most `most` queued entries. Drops the job if
    /// the lane ends first.
    ///
    /// # Errors
    /// Returns the job if too many are queued, the lane has ended, or its threads only serve connections.
    pub(crate) fn run(&self, job: ThreadJob, most: usize) -> Result<(), (NotQueued, ThreadJob)> {
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

    /// Checks that a single thread serves, from the start of the lane to its end.
    ///
    /// # Errors
    /// The reason why it is not a single thread.
    pub(crate) fn is_one_thread(&self) -> Result<(), &'static str> {
        match self.plan.serving {
            Serving::Reader if self.polls_alone() => Ok(()),
            Serving::Reader if self.plan.static_threads > 1 => {
                Err("its lane has several static threads: configure one (static_threads)")
            }
            Serving::Reader if self.plan.dynamic_threads > 0 => {
                Err("its lane has dynamic threads: omit them (dynamic_threads)")
            }
            Serving::Reader => Err(
                "other threads serve requests of the lane while it is busy: remove request buffering and borrowing \
                 (buffering, allow_borrowing)",
            ),
            _ => Err(
                "its lane passes requests to other threads: let the reading thread serve them (Serving::Reader)",
            ),
        }
    }

    /// Runs a job; a panic ends only the job.
    pub(super) fn run_job(job: ThreadJob) {
        let _ = panic::catch_unwind(AssertUnwindSafe(job));
    }

    /// Drops the queued jobs, and refuses further ones.
    pub(super) fn end_jobs(self: &Arc<Self>) {
        let jobs = self.handed_on.close(|handed| matches!(handed, Handed::Job(_)));
        drop(jobs);
    }
}
