//! Simulations of a set from the critical instant on, their numbers and their pictures.
//!
//! [`construct`] builds the timeline as TAO's scheduling service did for Figures 19 to 21 of paper 3: no clock advances, jobs
//! are put into gaps and evict one another. [`run`] is an event-driven simulation. They differ;
//! `docs/experiments/schedulers.md` says where. [`enforce`] runs the table of a schedule in the queues of the ORB.

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
pub use event::{Late, Options, Release, releases, run};
pub use gantt::gantt;
pub use statistics::{Overall, TaskStatistics, overall, statistics};

use std::fmt;

use crate::overheads::NoProgress;
use crate::time::{Nanos, Show};

/// A stretch of time in which one job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Place in [`Timeline::jobs`].
    pub job: usize,
    /// Begin of the slice.
    pub from: Nanos,
    /// End of the slice.
    pub to: Nanos,
}

/// Job and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Place of its task in the set.
    pub task: usize,
    /// Counted from 0 for each task.
    pub number: u64,
    /// Time of its release: by time, or by the end of those that send it events.
    pub release: Nanos,
    /// Time at which it should be done.
    pub deadline: Nanos,
    /// Time at which it first ran; `None` if it was dropped.
    pub began: Option<Nanos>,
    /// Time at which it was done; `None` if it was dropped.
    pub done: Option<Nanos>,
}

impl Job {
    /// Returns the time from release to completion.
    pub fn latency(&self) -> Option<Nanos> {
        Some(self.done? - self.release)
    }

    /// Returns the time that was left to the deadline when it was done.
    pub fn laxity(&self) -> Option<i64> {
        Some(self.deadline as i64 - self.done? as i64)
    }

    /// Whether it was done too late or never: a miss as paper 3 has it in 4.3.
    pub fn missed(&self) -> bool {
        self.done.is_none_or(|done| done > self.deadline)
    }

    /// Whether it could not be in time any more when it was dispatched: a miss as paper 3 has it in 4.1.
    pub fn missed_at_dispatch(&self, wcet: Nanos) -> bool {
        self.began.is_none_or(|began| began + wcet > self.deadline)
    }
}

/// Timeline: what ran when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    /// All jobs of the frame, by the moment at which time releases them, and then by task.
    pub jobs: Vec<Job>,
    /// Slices by time.
    pub slices: Vec<Slice>,
    /// Jobs were released before this.
    pub frame: Nanos,
}

impl Timeline {
    /// Returns when the last job was done.
    pub fn end(&self) -> Nanos {
        self.slices.last().map_or(0, |slice| slice.to)
    }
}

/// Why a simulation did not take place.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A task without a period.
    #[error("{0} has no period, so nothing releases it")]
    NoPeriod(String),
    /// More jobs than are simulated.
    #[error(
        "{jobs} jobs are released in the frame and {most} are the most; simulate a shorter one"
    )]
    TooManyJobs {
        /// Number of jobs that there would be.
        jobs: u64,
        /// Number of jobs that are simulated at most.
        most: u64,
    },
    /// The times of the frame overflow.
    #[error("a frame of {} overflows", Show(*.0))]
    TooLong(Nanos),
    /// All jobs of the frame together take more than 36 years.
    #[error("all jobs of the frame together take more than 36 years; simulate a shorter one")]
    TooMuchWork,
    /// Jobs evicted each other without end while a timeline was constructed.
    #[error("jobs evict each other without end")]
    NoEnd,
    /// Overheads under which no job would end.
    #[error(transparent)]
    NoProgress(NoProgress),
    /// Laxity would be looked at more often than is simulated.
    #[error(
        "laxity would be looked at more than {most} times, each {} while a job runs; simulate a shorter frame, or a longer step",
        Show(*.step)
    )]
    TooManyLooks {
        /// Interval at which it is examined while a job runs.
        step: Nanos,
        /// Looks at most.
        most: u64,
    },
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
