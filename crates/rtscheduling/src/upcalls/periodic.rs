//! Declaration of an upcall.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use oxorb::rt::Priority;
use oxorb::sched::Error as ScheduleError;

use super::{Criticality, Importance};

/// Longest period, deadline or offset.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Timing of an upcall.
#[derive(Debug, Clone)]
pub struct Periodic {
    /// Name of the operation in the schedule: by convention its scoped name. Unique among the
    /// upcalls of an ORB.
    pub name: String,
    /// Time between releases, from 1 microsecond to a day.
    pub period: Duration,
    /// Time from a release to the end of the call, at least 1 microsecond; `None` for the period.
    pub deadline: Option<Duration>,
    /// Time from the registration to the first release.
    pub offset: Duration,
    /// Longest execution, for the analysis; not enforced.
    pub worst_case: Duration,
    /// Cost of being late, for the analysis.
    pub criticality: Criticality,
    /// Order among upcalls that are otherwise equal, for the analysis.
    pub importance: Importance,
    /// Policy for calls that have not ended when the next one is released.
    pub overrun: Overrun,
}

impl Periodic {
    /// Returns the timing of an upcall whose deadline is its period, and whose overruns skip
    /// releases.
    pub fn new(name: impl Into<String>, period: Duration) -> Periodic {
        Periodic {
            name: name.into(),
            period,
            deadline: None,
            offset: Duration::ZERO,
            worst_case: Duration::ZERO,
            criticality: Criticality::default(),
            importance: Importance::default(),
            overrun: Overrun::Skip,
        }
    }

    pub(super) fn check(&self) -> Result<(), UpcallError> {
        let least = Duration::from_micros(1);
        let deadline = self.deadline.unwrap_or(self.period);
        for (what, time, least) in [
            ("period", self.period, least),
            ("deadline", deadline, least),
            ("offset", self.offset, Duration::ZERO),
        ] {
            if time < least || time > LONGEST {
                return Err(UpcallError::Time { name: self.name.clone(), what, time, least });
            }
        }
        Ok(())
    }
}

/// Policy for a call that has not ended when the next one is released.
#[derive(Clone)]
pub enum Overrun {
    /// Drops the releases that passed meanwhile: the next call is made at the next release.
    Skip,
    /// Makes the missed calls one after another. If more than this number of calls are overdue, the
    /// oldest are dropped.
    CatchUp(u32),
    /// Skips releases as `Skip` does, and makes calls at this lower priority until one ends before
    /// the next release.
    Demote(Priority),
    /// Skips releases as `Skip` does, and calls the function in the thread of the upcalls; it
    /// should return soon.
    Callback(Arc<dyn Fn(&Missed<'_>) + Send + Sync>),
}

impl fmt::Debug for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Overrun::Skip => f.write_str("Skip"),
            Overrun::CatchUp(most) => f.debug_tuple("CatchUp").field(most).finish(),
            Overrun::Demote(to) => f.debug_tuple("Demote").field(to).finish(),
            Overrun::Callback(_) => f.write_str("Callback"),
        }
    }
}

/// Call that had not ended when the next one was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed<'m> {
    /// Name of the upcall.
    pub name: &'m str,
    /// Time from the upcall's release to its end.
    pub response: Duration,
    /// Number of releases that passed meanwhile.
    pub releases: u64,
}

/// Reason why an upcall cannot be registered.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum UpcallError {
    /// A time is out of range.
    #[error("the {what} of upcall {name:?} is {time:?}, but must be from {least:?} to {LONGEST:?}")]
    Time {
        /// Name of the upcall.
        name: String,
        /// Name of the time.
        what: &'static str,
        /// Value of the time.
        time: Duration,
        /// Least allowed value.
        least: Duration,
    },
    /// The limit on upcalls is reached.
    #[error("the ORB has the maximum of {0} upcalls")]
    TooMany(usize),
    /// An upcall of this name exists.
    #[error("the upcall {0:?} already exists")]
    DuplicateName(String),
    /// The system provides no thread.
    #[error("no thread for upcalls of this priority can be started: {0}")]
    Thread(#[source] io::Error),
    /// The schedule has no priority for the operation.
    #[error("{0}")]
    Schedule(#[from] ScheduleError),
    /// The ORB's mapping has no CORBA priority for this native one.
    #[error(
        "no CORBA priority maps to native priority {0}, which the schedule assigns to the upcall (-ORBPriorityMapping)"
    )]
    NoPriority(i32),
    /// The ORB has ended.
    #[error("the ORB has ended")]
    Ended,
}

impl fmt::Debug for UpcallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
