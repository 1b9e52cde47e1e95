//! Errors of the scheduling service, and the exception of the IDL for each.

use std::fmt;

use crate::graph::Cycle;
use crate::repository::Handle;
use crate::task::Utilization;

/// Error of the scheduling service.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation of this name exists already.
    #[error("the operation {0:?} already exists")]
    DuplicateName(String),
    /// Handle of no operation.
    #[error("no operation has the handle {0}")]
    UnknownHandle(Handle),
    /// Name of no operation.
    #[error("there is no operation {0:?}")]
    UnknownName(String),
    /// The first operation does not depend on the second with this kind and number of calls.
    #[error(
        "the operation with handle {dependent} does not depend on {on} with this kind and number of calls"
    )]
    UnknownDependency {
        /// Dependent operation.
        dependent: Handle,
        /// Operation on which the dependent one was expected to depend.
        on: Handle,
    },
    /// The operation is non-volatile, and `reset` does not change it.
    #[error(
        "{0} is non-volatile, so reset does not change it; use set, or enable it as volatile first"
    )]
    NonVolatile(String),
    /// The schedule was not computed since the last change.
    #[error("nothing is scheduled yet; compute the schedule first")]
    NotScheduled,
    /// The schedule leaves this operation out: it is disabled, or its rate is unknown.
    #[error("the schedule omits {0}: it is disabled, or neither it nor its callers have a period")]
    LeftOut(String),
    /// Operations call each other in a cycle, so that their time is unbounded.
    #[error(
        "operations call each other in a cycle: {}; replace the cycle by one operation with the time of all",
        rings(.0)
    )]
    Cycles(Vec<Cycle>),
    /// The critical operations alone need more than the whole processor.
    #[error("the critical operations alone need {critical} of the processor")]
    UtilizationBoundExceeded {
        /// Utilisation of the critical operations.
        critical: Utilization,
    },
    /// The strategy needs more thread priorities than available.
    #[error(
        "the schedule needs {needed} thread priorities, but {available} are available; specify a wider range, or a \
         strategy with fewer levels"
    )]
    InsufficientThreadPriorityLevels {
        /// Number of priorities needed.
        needed: usize,
        /// Number of priorities available.
        available: usize,
    },
    /// The operations registered at run time are not the analysed ones.
    #[error(
        "{analysed} operations were analysed, but {registered} are registered; analyse the running operations again"
    )]
    TaskCountMismatch {
        /// Number of operations in the table.
        analysed: usize,
        /// Number of operations registered.
        registered: usize,
    },
    /// The schedule has no level with this preemption priority.
    #[error("the schedule has no preemption priority {0}")]
    UnknownPriorityLevel(i32),
    /// A number computed from the declarations is too large.
    #[error("{operation}: {what} overflows")]
    Overflow {
        /// Name of the operation.
        operation: String,
        /// Name of the number.
        what: &'static str,
    },
    /// A value is out of range, as the sentence explains.
    #[error("{0}")]
    Invalid(String),
    /// The repository has reached its limit.
    #[error("there can be at most {0} operations")]
    Full(usize),
}

impl Error {
    /// Returns the name of the `RtecScheduler` exception that reports this error; `BAD_PARAM` is a
    /// system exception.
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
