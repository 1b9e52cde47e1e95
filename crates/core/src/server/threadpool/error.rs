//! Why there is no threadpool.

use std::fmt;

use oxorb_object::{CompletionStatus, SystemException, minor};
use oxorb_rt::Priority;

use crate::ThreadpoolId;
use crate::{SetupError, raise};

/// Why a threadpool cannot be had, or not be ended.
///
/// `Debug` prints what `Display` does, so that a `main` which returns it is readable.
#[non_exhaustive]
pub enum ThreadpoolError {
    /// BAD_PARAM: what is wrong.
    BadParameter(&'static str),
    /// DATA_CONVERSION: the priority of a lane has no native one.
    Priority(Priority),
    /// The ORB has no such threadpool (InvalidThreadpool).
    Unknown(ThreadpoolId),
    /// The threadpool gets no endpoint or no thread.
    Setup(SetupError),
    /// Anything else.
    System(SystemException),
}

impl fmt::Display for ThreadpoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThreadpoolError::BadParameter(why) => f.write_str(why),
            ThreadpoolError::Priority(priority) => write!(
                f,
                "the priority mapping has no native priority for {priority}, or one that the scheduling class does not \
                 have; choose another with -ORBPriorityMapping or -ORBSchedPolicy"
            ),
            ThreadpoolError::Unknown(ThreadpoolId(id)) => {
                write!(f, "there is no threadpool {id} (InvalidThreadpool)")
            }
            ThreadpoolError::Setup(error) => error.fmt(f),
            ThreadpoolError::System(exception) => exception.fmt(f),
        }
    }
}

impl fmt::Debug for ThreadpoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ThreadpoolError {}

impl From<SetupError> for ThreadpoolError {
    fn from(error: SetupError) -> Self {
        ThreadpoolError::Setup(error)
    }
}

impl From<ThreadpoolError> for SystemException {
    /// Converts the error for code that only knows CORBA exceptions.
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
