//! Refusals of the service, each with the exception of the IDL that says so.

use std::fmt;

use crate::graph::Cycle;
use crate::repository::Handle;
use crate::task::Utilization;

/// Why the service refused.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An info of this name is there already.
    #[error("an operation called {0:?} exists already")]
    DuplicateName(String),
    /// The handle is that of no info.
    #[error("no operation has the handle {0}")]
    UnknownHandle(Handle),
    /// The name is that of no info.
    #[error("no operation is called {0:?}")]
    UnknownName(String),
    /// The one operation does not depend on the other, or not with this kind and number of calls.
    #[error(
        "the operation with handle {dependent} does not depend on {on} with this kind and number of calls"
    )]
    UnknownDependency {
        /// Operation that should depend.
        dependent: Handle,
        /// Operation that it should depend on.
        on: Handle,
    },
    /// The operation keeps what was set: it is non-volatile, and `reset` does not change it.
    #[error(
        "{0} is non-volatile, and reset does not change it; use set, or enable it as volatile first"
    )]
    NonVolatile(String),
    /// A schedule was not computed yet, or something changed since.
    #[error("nothing is scheduled yet; compute the schedule first")]
    NotScheduled,
    /// The schedule leaves this operation out: it is disabled, or nothing says how often it runs.
    #[error(
        "the schedule leaves {0} out: it is disabled, or neither it nor its callers have a period"
    )]
    LeftOut(String),
    /// Operations call each other in a ring, so that no time bounds them.
    #[error(
        "operations call each other in a ring: {}; let one operation stand for the ring, with the time of all",
        rings(.0)
    )]
    Cycles(Vec<Cycle>),
    /// The critical operations alone need more than the processor has.
    #[error("the critical operations alone need {critical} of the processor")]
    UtilizationBoundExceeded {
        /// Utilisation of the critical operations.
        critical: Utilization,
    },
    /// The strategy needs more thread priorities than there are.
    #[error(
        "the schedule needs {needed} thread priorities and {available} are there; give a wider range or a \
         strategy with fewer levels"
    )]
    InsufficientThreadPriorityLevels {
        /// Number of priorities that it needs.
        needed: usize,
        /// Number of priorities that there are.
        available: usize,
    },
    /// The operations that register at run time are not those that were analysed.
    #[error(
        "{analysed} operations were analysed and {registered} registered; analyse again with what runs"
    )]
    TaskCountMismatch {
        /// Operations of the table.
        analysed: usize,
        /// Operations that registered.
        registered: usize,
    },
    /// The schedule has no level with this preemption priority.
    #[error("the schedule has no preemption priority {0}")]
    UnknownPriorityLevel(i32),
    /// A number that follows from what was declared, and is too large.
    #[error("{operation}: {what} overflows")]
    Overflow {
        /// The operation.
        operation: String,
        /// The number.
        what: &'static str,
    },
    /// A value out of range.
    #[error("{0}")]
    Invalid(String),
    /// The repository is as large as it was allowed to get.
    #[error("there is room for {0} operations")]
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

fn rings(cycles: &[Cycle]) -> String {
    let rings: Vec<String> = cycles.iter().map(ToString::to_string).collect();
    rings.join("; ")
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
