use std::fmt;
use std::path::PathBuf;

/// Why a scheduling service cannot be kept or served.
#[non_exhaustive]
pub enum Error {
    /// The state cannot be opened, read or written.
    State {
        /// Path of the file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The objects cannot be activated: the ORB serves schedules already, or was shut down.
    Poa(oxorb::PoaError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::State { path, why } => write!(f, "the state {}: {why}", path.display()),
            Error::Poa(error) => write!(f, "schedules cannot be served: {error}"),
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
            Error::State { .. } => None,
            Error::Poa(error) => Some(error),
        }
    }
}

impl From<oxorb::PoaError> for Error {
    fn from(error: oxorb::PoaError) -> Self {
        Error::Poa(error)
    }
}
