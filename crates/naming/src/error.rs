use std::fmt;
use std::path::PathBuf;

/// Why a naming service cannot be kept or served.
#[non_exhaustive]
pub enum Error {
    /// The store cannot be opened, read or written.
    Store {
        /// File of the store; empty for one in memory.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The objects cannot be activated: the ORB serves names already, or was shut down.
    Poa(oxorb::PoaError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Store { path, why } if path.as_os_str().is_empty() => {
                write!(f, "the names in memory: {why}")
            }
            Error::Store { path, why } => write!(f, "the store {}: {why}", path.display()),
            Error::Poa(error) => write!(f, "names cannot be served: {error}"),
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
        }
    }
}

impl From<oxorb::PoaError> for Error {
    fn from(error: oxorb::PoaError) -> Self {
        Error::Poa(error)
    }
}
