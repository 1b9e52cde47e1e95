//! Why there is no ORB, or none that listens.

use std::fmt;

use oxorb_object::SystemException;
use oxorb_sched::table::Unenforceable;
use oxorb_transport::ListenError;

use crate::interceptor::DuplicateInterceptor;
use crate::preconnect_error::PreconnectError;
use crate::protocol::Mismatch;
use crate::{Incompatible, SettingError, ThreadpoolError, ThreadpoolId, raise};

/// Why an ORB cannot be made or cannot listen.
///
/// `Debug` prints what `Display` does, so that a `main` which returns it is
/// readable.
#[non_exhaustive]
pub enum SetupError {
    /// An argument or environment variable.
    Setting(SettingError),
    /// A protocol that cannot be, alone or beside others.
    Protocol(Mismatch),
    /// Two options that contradict each other.
    Incompatible(Incompatible),
    /// A threadpool of the configuration, by its name.
    Threadpool(String, Box<ThreadpoolError>),
    /// A configuration file or personality; says where and what.
    Configuration(Box<dyn std::error::Error + Send + Sync>),
    /// An endpoint that cannot be opened; says what to do about it.
    Listen(ListenError),
    /// The port of a lane, which follows those of the ORB's own endpoints, cannot be had.
    LanePort {
        /// The threadpool.
        pool: ThreadpoolId,
        /// The lane, from 0.
        lane: usize,
        /// The endpoint whose port it follows.
        follows: String,
        /// Why it cannot be opened; `None`: there is no port so high.
        error: Option<Box<ListenError>>,
    },
    /// The system gives no further thread, or no poller.
    Threads(std::io::Error),
    /// The system does not tell under which addresses it is reached.
    Interfaces(std::io::Error),
    /// Two interceptors of one kind have the same name.
    DuplicateInterceptor(DuplicateInterceptor),
    /// An interceptor raised this exception while the ORB was made.
    Interceptor(SystemException),
    /// The run-time scheduler's table was analysed under a dispatching model that an ORB does not enforce.
    Schedule(Unenforceable),
    /// An object of `-ORBPreconnect` that cannot be reached.
    Preconnect(Box<PreconnectError>),
    /// The ORB was shut down.
    ShutDown,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Setting(error) => error.fmt(f),
            SetupError::Protocol(error) => error.fmt(f),
            SetupError::Incompatible(error) => error.fmt(f),
            SetupError::Threadpool(name, error) => write!(f, "threadpool {name}: {error}"),
            SetupError::Configuration(error) => error.fmt(f),
            SetupError::Listen(error) => error.fmt(f),
            SetupError::LanePort { pool, lane, follows, error } => {
                match error {
                    Some(error) => error.fmt(f)?,
                    None => f.write_str("ports end at 65535")?,
                }
                let pool = pool.0;
                write!(
                    f,
                    "; lane {lane} of threadpool {pool} takes the port that follows {follows} and those of earlier \
                     lanes: name another one with -ORBLaneListenEndpoints {pool}:{lane}=iiop://:PORT, or have the \
                     system choose with port 0 there"
                )
            }
            SetupError::Threads(error) => write!(
                f,
                "the system gives no thread to serve requests: {error}; raise the limit on \
                 processes (ulimit -u) or use fewer workers"
            ),
            SetupError::Interfaces(error) => write!(
                f,
                "cannot find the addresses of this host: {error}; name one with \
                 -ORBListenEndpoints iiop://HOST:PORT"
            ),
            SetupError::DuplicateInterceptor(error) => error.fmt(f),
            SetupError::Interceptor(exception) => {
                write!(f, "an interceptor does not let the ORB be made: {exception}")
            }
            SetupError::Schedule(error) => {
                write!(f, "the ORB does not enforce the table of its schedule: {error}")
            }
            SetupError::Preconnect(error) => error.fmt(f),
            SetupError::ShutDown => f.write_str("the ORB was shut down"),
        }
    }
}

impl fmt::Debug for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SetupError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SetupError::Setting(error) => Some(error),
            SetupError::Protocol(error) => Some(error),
            SetupError::Incompatible(error) => Some(error),
            SetupError::Threadpool(_, error) => Some(&**error),
            SetupError::Configuration(error) => Some(&**error),
            SetupError::Listen(error) => Some(error),
            SetupError::LanePort { error, .. } => {
                error.as_ref().map(|error| &**error as &(dyn std::error::Error + 'static))
            }
            SetupError::Threads(error) | SetupError::Interfaces(error) => Some(error),
            SetupError::DuplicateInterceptor(error) => Some(error),
            SetupError::Interceptor(exception) => Some(exception),
            SetupError::Schedule(error) => Some(error),
            SetupError::Preconnect(error) => Some(&**error),
            SetupError::ShutDown => None,
        }
    }
}

impl From<SettingError> for SetupError {
    fn from(error: SettingError) -> Self {
        SetupError::Setting(error)
    }
}

impl From<SetupError> for SystemException {
    /// Converts the error for code that only knows CORBA exceptions.
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::ShutDown => raise::ORB_SHUT_DOWN,
            SetupError::Threads(_) => raise::NO_THREAD,
            _ => raise::CANNOT_LISTEN,
        }
    }
}
