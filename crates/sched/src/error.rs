//! Refusals of the service, each with the exception of the IDL that says so.

use std::fmt;

use crate::graph::Cycle;
use crate::repository::Handle;
use crate::task::Utilization;

/// Why the service refused.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An info of this name is there already.
    DuplicateName(String),
    /// The handle is that of no info.
    UnknownHandle(Handle),
    /// The name is that of no info.
    UnknownName(String),
    /// The one operation does not depend on the other, or not with this kind and number of calls.
    UnknownDependency {
        /// Operation that should depend.
        dependent: Handle,
        /// Operation that it should depend on.
        on: Handle,
    },
    /// The operation keeps what was set: it is non-volatile, and `reset` does not change it.
    NonVolatile(String),
    /// A schedule was not computed yet, or something changed since.
    NotScheduled,
    /// The schedule leaves this operation out: it is disabled, or nothing says how often it runs.
    LeftOut(String),
    /// Operations call each other in a ring, so that no time bounds them.
    Cycles(Vec<Cycle>),
    /// The critical operations alone need more than the processor has.
    UtilizationBoundExceeded {
        /// Utilisation of the critical operations.
        critical: Utilization,
    },
    /// The strategy needs more thread priorities than there are.
    InsufficientThreadPriorityLevels {
        /// Number of priorities that it needs.
        needed: usize,
        /// Number of priorities that there are.
        available: usize,
    },
    /// The operations that register at run time are not those that were analysed.
    TaskCountMismatch {
        /// Operations of the table.
        analysed: usize,
        /// Operations that registered.
        registered: usize,
    },
    /// The schedule has no level with this preemption priority.
    UnknownPriorityLevel(i32),
    /// A number that follows from what was declared, and is too large.
    Overflow {
        /// The operation.
        operation: String,
        /// The number.
        what: &'static str,
    },
    /// A value out of range.
    Invalid(String),
    /// The repository is as large as it was allowed to get.
    Full(usize),
}

impl Error {
    /// The exception of `RtecScheduler` that carries it; `BAD_PARAM` is a system exception.
    pub fn exception(&self) -> &'static str {
        match self {
            Error::DuplicateName(_) => "DUPLICATE_NAME",
            Error::UnknownHandle(_)
            | Error::UnknownName(_)
            | Error::UnknownDependency { .. }
            | Error::NonVolatile(_) => "UNKNOWN_TASK",
            Error::NotScheduled | Error::LeftOut(_) => "NOT_SCHEDULED",
            Error::Cycles(_) => "CYCLIC_DEPENDENCIES",
            Error::UtilizationBoundExceeded { .. } => "UTILIZATION_BOUND_EXCEEDED",
            Error::InsufficientThreadPriorityLevels { .. } => "INSUFFICIENT_THREAD_PRIORITY_LEVELS",
            Error::TaskCountMismatch { .. } => "TASK_COUNT_MISMATCH",
            Error::UnknownPriorityLevel(_) => "UNKNOWN_PRIORITY_LEVEL",
            Error::Overflow { .. } | Error::Invalid(_) => "BAD_PARAM",
            Error::Full(_) => "INTERNAL",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::DuplicateName(name) => write!(f, "an operation called {name:?} exists already"),
            Error::UnknownHandle(handle) => write!(f, "no operation has the handle {handle}"),
            Error::UnknownName(name) => write!(f, "no operation is called {name:?}"),
            Error::UnknownDependency { dependent, on } => write!(
                f,
                "the operation with handle {dependent} does not depend on {on} with this kind and number of calls"
            ),
            Error::NonVolatile(name) => write!(
                f,
                "{name} is non-volatile, and reset does not change it; use set, or enable it as volatile first"
            ),
            Error::NotScheduled => {
                write!(f, "nothing is scheduled yet; compute the schedule first")
            }
            Error::LeftOut(name) => write!(
                f,
                "the schedule leaves {name} out: it is disabled, or neither it nor its callers have a period"
            ),
            Error::Cycles(cycles) => {
                let rings: Vec<String> = cycles.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "operations call each other in a ring: {}; let one operation stand for the ring, with the time of all",
                    rings.join("; ")
                )
            }
            Error::UtilizationBoundExceeded { critical } => {
                write!(f, "the critical operations alone need {critical} of the processor")
            }
            Error::InsufficientThreadPriorityLevels { needed, available } => write!(
                f,
                "the schedule needs {needed} thread priorities and {available} are there; give a wider range or a \
                 strategy with fewer levels"
            ),
            Error::TaskCountMismatch { analysed, registered } => write!(
                f,
                "{analysed} operations were analysed and {registered} registered; analyse again with what runs"
            ),
            Error::UnknownPriorityLevel(level) => {
                write!(f, "the schedule has no preemption priority {level}")
            }
            Error::Overflow { operation, what } => write!(f, "{operation}: {what} overflows"),
            Error::Invalid(why) => f.write_str(why),
            Error::Full(most) => write!(f, "there is room for {most} operations"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
