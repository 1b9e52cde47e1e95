//! Errors in the creation and destruction of threadpools.

use std::fmt;

use oxorb_object::{CompletionStatus, SystemException, minor};
use oxorb_rt::Priority;

use crate::SetupError;
use crate::ThreadpoolId;
use crate::error::raise;

/// Error in the creation or destruction of a threadpool.
///
/// `Debug` prints the same text as `Display`, so that a `main` which returns the error is readable.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ThreadpoolError {
    /// BAD_PARAM: a parameter is invalid, for this reason.
    #[error("{0}")]
    BadParameter(&'static str),
    /// DATA_CONVERSION: the priority of a lane has no native one.
    #[error(
        "the priority mapping has no native priority for {0}, or one that the scheduling class does not \
         have; choose another with -ORBPriorityMapping or -ORBSchedPolicy"
    )]
    Priority(Priority),
    /// The ORB has no such threadpool (InvalidThreadpool).
    #[error("there is no threadpool {} (InvalidThreadpool)", .0.0)]
    Unknown(ThreadpoolId),
    /// An endpoint or a thread is not available.
    #[error("{0}")]
    Setup(SetupError),
    /// Any other exception.
    #[error(transparent)]
    System(SystemException),
}

impl fmt::Debug for ThreadpoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<SetupError> for ThreadpoolError {
    fn from(error: SetupError) -> Self {
        ThreadpoolError::Setup(error)
    }
}

impl From<ThreadpoolError> for SystemException {
    /// Converts the error for code that only handles CORBA exceptions.
    fn from(error: ThreadpoolError) -> Self {
        match error {
            ThreadpoolError::BadParameter(_) | ThreadpoolError::Unknown(_) => {
                SystemException::bad_param(minor::bad_param::REALTIME, CompletionStatus::No)
            }
            ThreadpoolError::Priority(_) => raise::NO_NATIVE_PRIORITY,
            ThreadpoolError::Setup(error) => error.into(),
            ThreadpoolError::System(exception) => exception,
        }
    }
}
