//! Refusals of the service, and the exceptions that report them.

use std::fmt;
use std::time::Duration;

use oxorb::{CompletionStatus, SystemException, minor};
use oxorb_sched::Error;

use crate::rtec_scheduler as idl;
use crate::rtec_scheduler::scheduler::*;

/// Reason why the service refuses an operation. The exceptions that clients receive, which each
/// variant names, carry no data, so the details are known only here.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The schedule or the repository does not allow the operation.
    #[error(transparent)]
    Scheduling(#[from] Error),
    /// Earlier calls occupied the service for longer than
    /// [`Limits::patience`](crate::Limits::patience): SYNCHRONIZATION_FAILURE.
    #[error("other clients used the service for more than {0:?}")]
    Busy(Duration),
    /// A client registers an operation at run time that was not analysed: INTERNAL.
    #[error("{0:?} was not analysed; analyse again with all running operations")]
    NotAnalysed(String),
    /// The operations or dependencies exceed the [`Limits`](crate::Limits): IMP_LIMIT.
    #[error("the service has the maximum of {most} {what}")]
    TooMany {
        /// Name of the exceeded limit.
        what: &'static str,
        /// Value of the limit.
        most: usize,
    },
    /// The reference is for the application section: NO_PERMISSION.
    #[error(
        "the reference leads to the application section, but the operation belongs to the privileged section"
    )]
    Privileged,
    /// The service is served read-only, and the operation would change it: NO_PERMISSION.
    #[error("the service is read-only")]
    ReadOnly,
    /// The state could not be written, and nothing was changed: PERSIST_STORE.
    #[error("nothing was changed: {0}")]
    NotWritten(String),
    /// The state was written, or may have been, but may not survive a failure of the computer: PERSIST_STORE.
    #[error("the change may have been made: {0}")]
    Unsure(String),
}

impl Refusal {
    /// Returns the system exception for operations that declare no user exception for this reason.
    pub(crate) fn system(&self) -> SystemException {
        let no = CompletionStatus::No;
        match self {
            Refusal::Privileged => {
                SystemException::no_permission(minor::no_permission::PRIVILEGED, no)
            }
            Refusal::ReadOnly => {
                SystemException::no_permission(minor::no_permission::READ_ONLY, no)
            }
            Refusal::NotWritten(_) => {
                SystemException::persist_store(minor::persist_store::NOT_WRITTEN, no)
            }
            Refusal::Unsure(_) => SystemException::persist_store(
                minor::persist_store::NOT_SYNCED,
                CompletionStatus::Maybe,
            ),
            Refusal::TooMany { .. } | Refusal::Scheduling(Error::Full(_)) => {
                SystemException::imp_limit(minor::imp_limit::SCHEDULED, no)
            }
            _ => SystemException::bad_param(minor::bad_param::SCHEDULING, no),
        }
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Conversions from [`Refusal`] to the exceptions of each operation.
macro_rules! raises {
    ($($operation:ident: $($exception:ident)*;)*) => {$(
        impl From<Refusal> for $operation {
            fn from(refusal: Refusal) -> Self {
                match &refusal {
                    $(raises!(@pattern $exception) => $operation::$exception(idl::$exception {}),)*
                    _ => $operation::System(refusal.system()),
                }
            }
        }
    )*};
    (@pattern DuplicateName) => { Refusal::Scheduling(Error::DuplicateName(_)) };
    (@pattern UnknownTask) => {
        Refusal::Scheduling(
            Error::UnknownHandle(_)
            | Error::UnknownName(_)
            | Error::UnknownDependency { .. }
            | Error::NonVolatile(_),
        )
    };
    (@pattern NotScheduled) => { Refusal::Scheduling(Error::NotScheduled | Error::LeftOut(_)) };
    (@pattern UtilizationBoundExceeded) => {
        Refusal::Scheduling(Error::UtilizationBoundExceeded { .. })
    };
    (@pattern InsufficientThreadPriorityLevels) => {
        Refusal::Scheduling(Error::InsufficientThreadPriorityLevels { .. })
    };
    (@pattern TaskCountMismatch) => { Refusal::Scheduling(Error::TaskCountMismatch { .. }) };
    (@pattern UnknownPriorityLevel) => { Refusal::Scheduling(Error::UnknownPriorityLevel(_)) };
    (@pattern SynchronizationFailure) => { Refusal::Busy(_) };
    (@pattern Internal) => { Refusal::NotAnalysed(_) };
}

// The IDL compiler gives operations that raise the same exceptions one error type, named after the first of these
// operations.
raises! {
    CreateError: DuplicateName Internal SynchronizationFailure;
    LookupError: UnknownTask SynchronizationFailure;
    SetError: UnknownTask SynchronizationFailure;
    PriorityError: UnknownTask NotScheduled SynchronizationFailure;
    ComputeSchedulingError: UtilizationBoundExceeded InsufficientThreadPriorityLevels TaskCountMismatch
        SynchronizationFailure;
    GetRtInfoSetError: SynchronizationFailure;
    DispatchConfigurationError: NotScheduled UnknownPriorityLevel SynchronizationFailure;
    LastScheduledPriorityError: NotScheduled SynchronizationFailure;
}
