//! Simulations of a set from the critical instant on, their statistics and pictures.
//!
//! [`construct`] builds the timeline as TAO's scheduling service did for Figures 19 to 21 of paper
//! 3: there is no clock, and jobs are put into gaps and evict one another. [`run`] is an
//! event-driven simulation. `docs/experiments/schedulers.md` explains where they differ.
//! [`enforce`] runs the table of a schedule in the queues of the ORB.

mod bars;
mod construction;
mod csv;
mod enforced;
mod event;
mod gantt;
mod gates;
mod statistics;
pub mod table_1;

pub use bars::{Bars, bars};
pub use construction::construct;
pub use csv::{jobs_csv, summary_csv};
pub use enforced::enforce;
pub use event::{LatePolicy, Release, SimulationOptions, releases, run};
pub use gantt::gantt;
pub use statistics::{Overall, TaskStatistics, overall, statistics};

use std::fmt;

use crate::overheads::NoProgress;
use crate::time::{Nanos, Show};

/// Interval in which one job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Index in [`Timeline::jobs`].
    pub job: usize,
    /// Beginning of the slice.
    pub from: Nanos,
    /// End of the slice.
    pub to: Nanos,
}

/// Simulated job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Index of the job's task in the set.
    pub task: usize,
    /// Number of the job, counted from 0 for each task.
    pub number: u64,
    /// Time of the job's release, at its period or at the end of its senders.
    pub release: Nanos,
    /// Absolute deadline.
    pub deadline: Nanos,
    /// Time at which the job began; `None` if it was dropped.
    pub began: Option<Nanos>,
    /// Time at which the job ended; `None` if it was dropped.
    pub done: Option<Nanos>,
}

impl Job {
    /// Returns the time from release to completion.
    pub fn latency(&self) -> Option<Nanos> {
        Some(self.done? - self.release)
    }

    /// Returns the time from its end to the deadline; negative if late.
    pub fn laxity(&self) -> Option<i64> {
        Some(self.deadline as i64 - self.done? as i64)
    }

    /// Reports whether the job ended late or never: a miss as defined in paper 3, 4.3.
    pub fn missed(&self) -> bool {
        self.done.is_none_or(|done| done > self.deadline)
    }

    /// Reports whether the job could not be in time any more when dispatched: a miss as defined in
    /// paper 3, 4.1.
    pub fn missed_at_dispatch(&self, wcet: Nanos) -> bool {
        self.began.is_none_or(|began| began + wcet > self.deadline)
    }
}

/// Timeline of a simulation: jobs, and when they ran.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    /// All jobs of the frame, ordered by their nominal release, then by task.
    pub jobs: Vec<Job>,
    /// Slices in order of time.
    pub slices: Vec<Slice>,
    /// End of the frame: all jobs are released before it.
    pub frame: Nanos,
}

impl Timeline {
    /// Returns the end of the last job.
    pub fn end(&self) -> Nanos {
        self.slices.last().map_or(0, |slice| slice.to)
    }
}

/// Reason why a simulation is refused.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// A task has no period.
    #[error("{0} has no period, so nothing releases it")]
    NoPeriod(String),
    /// More jobs than can be simulated.
    #[error(
        "{jobs} jobs are released in the frame, but the limit is {most}; simulate a shorter frame"
    )]
    TooManyJobs {
        /// Number of jobs in the frame.
        jobs: u64,
        /// Maximum number of simulated jobs.
        most: u64,
    },
    /// The times of the frame overflow.
    #[error("a frame of {} overflows", Show(*.0))]
    TooLong(Nanos),
    /// All jobs of the frame together take more than 36 years.
    #[error("all jobs of the frame together take more than 36 years; simulate a shorter frame")]
    TooMuchWork,
    /// Jobs evicted each other endlessly during the construction of a timeline.
    #[error("jobs evict each other without end")]
    NoEnd,
    /// Overheads under which no job would end.
    #[error(transparent)]
    NoProgress(NoProgress),
    /// Laxity would have to be evaluated more often than can be simulated.
    #[error(
        "laxity would be checked more than {most} times, every {} while a job runs; simulate a shorter frame, or a \
         longer step",
        Show(*.step)
    )]
    TooManyLooks {
        /// Interval of evaluation while a job runs.
        step: Nanos,
        /// Maximum number of evaluations.
        most: u64,
    },
}

impl fmt::Debug for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
