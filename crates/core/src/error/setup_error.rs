//! Errors in the creation of an ORB or in listening.

use std::fmt;
use std::net::SocketAddr;

use oxorb_object::SystemException;
use oxorb_sched::table::Unenforceable;
use oxorb_transport::ListenError;

use super::preconnect_error::PreconnectError;
use super::raise;
use crate::interceptor::DuplicateInterceptor;
use crate::protocol::Mismatch;
use crate::{IncompatibleOptions, SettingError, ThreadpoolError, ThreadpoolId};

/// Error in the creation of an ORB or in listening.
///
/// `Debug` prints the same text as `Display`, so that a `main` which returns the error is readable.
#[non_exhaustive]
pub enum SetupError {
    /// Invalid argument or environment variable.
    Setting(SettingError),
    /// Invalid protocol, alone or in combination with others.
    Protocol(Mismatch),
    /// Two options that contradict each other.
    Incompatible(IncompatibleOptions),
    /// Threadpool of the configuration, by its name.
    Threadpool(String, Box<ThreadpoolError>),
    /// Configuration file or personality; the error names position and mistake.
    Configuration(Box<dyn std::error::Error + Send + Sync>),
    /// Endpoint that cannot be opened; the error suggests a remedy.
    Listen(ListenError),
    /// Unavailable port of a lane; such ports follow those of the ORB's own endpoints.
    LanePort {
        /// Threadpool.
        pool: ThreadpoolId,
        /// Lane, from 0.
        lane: usize,
        /// Endpoint whose port it follows.
        follows: String,
        /// Error of the endpoint; `None` if the port exceeds the highest number.
        error: Option<Box<ListenError>>,
    },
    /// Address for metrics at which the system does not let the ORB listen.
    Metrics {
        /// Address of the option Metrics.
        address: SocketAddr,
        /// Error of the system.
        error: std::io::Error,
    },
    /// The system provides no further thread or poller.
    Threads(std::io::Error),
    /// The addresses of this host cannot be determined.
    Interfaces(std::io::Error),
    /// Two interceptors of one kind have the same name.
    DuplicateInterceptor(DuplicateInterceptor),
    /// Exception that an interceptor raised while the ORB was created.
    Interceptor(SystemException),
    /// Table of the run-time scheduler that was analysed under a dispatching model which an ORB cannot enforce.
    Schedule(Unenforceable),
    /// Object of `-ORBPreconnect` that cannot be reached.
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
                    "; lane {lane} of threadpool {pool} uses the port after {follows} and those of earlier lanes: \
                     specify another port with -ORBLaneListenEndpoints {pool}:{lane}=iiop://:PORT, or let the system \
                     choose with port 0"
                )
            }
            SetupError::Metrics { address, error } => write!(
                f,
                "cannot listen for requests of metrics at {address}: {error}; each ORB needs its own port \
                 (-ORBMetrics; port 0 selects any free port)"
            ),
            SetupError::Threads(error) => write!(
                f,
                "the system cannot start a thread that serves requests: {error}; raise the limit on processes (ulimit \
                 -u) or use fewer workers"
            ),
            SetupError::Interfaces(error) => write!(
                f,
                "cannot find the addresses of this host: {error}; name one with \
                 -ORBListenEndpoints iiop://HOST:PORT"
            ),
            SetupError::DuplicateInterceptor(error) => error.fmt(f),
            SetupError::Interceptor(exception) => {
                write!(f, "an interceptor prevents the creation of the ORB: {exception}")
            }
            SetupError::Schedule(error) => {
                write!(f, "the ORB cannot enforce the table of its schedule: {error}")
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
            SetupError::Metrics { error, .. }
            | SetupError::Threads(error)
            | SetupError::Interfaces(error) => Some(error),
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
    /// Converts the error for code that only handles CORBA exceptions.
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::ShutDown => raise::ORB_SHUT_DOWN,
            SetupError::Threads(_) => raise::NO_THREAD,
            _ => raise::CANNOT_LISTEN,
        }
    }
}
