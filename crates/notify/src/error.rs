use std::fmt;
use std::path::PathBuf;

/// Reason for which an event service does not start.
#[non_exhaustive]
pub enum Error {
    /// The store cannot be opened, read or written.
    Store {
        /// File of the store.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// The ORB serves events already, or was shut down.
    Poa(oxorb::PoaError),
    /// The objects of the service cannot be served.
    System(oxorb::SystemException),
    /// Threads or timers do not start.
    Threads(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Poa(error) => write!(
                f,
                "the event service cannot be served: {error}; an ORB has one event service, and none after its shutdown"
            ),
            Error::Store { path, why } => {
                write!(f, "the store of events {}: {why}", path.display())
            }
            Error::System(error) => write!(f, "the event service cannot be served: {error}"),
            Error::Threads(error) => write!(f, "the event service gets no threads: {error}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Store { .. } => None,
            Error::Poa(error) => Some(error),
            Error::System(error) => Some(error),
            Error::Threads(error) => Some(&**error),
        }
    }
}

impl From<oxorb::PoaError> for Error {
    fn from(error: oxorb::PoaError) -> Self {
        Error::Poa(error)
    }
}

impl From<oxorb::SystemException> for Error {
    fn from(error: oxorb::SystemException) -> Self {
        Error::System(error)
    }
}
