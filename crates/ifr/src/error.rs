use std::fmt;
use std::path::PathBuf;

/// Reason why a repository cannot be filled, stored or served.
#[non_exhaustive]
pub enum Error {
    /// Invalid IDL, with the places of its errors.
    Idl(Box<oxorb_idl::Failed>),
    /// Store that cannot be opened, read or written.
    Store {
        /// Path of the file.
        path: PathBuf,
        /// Reason of the failure.
        why: String,
    },
    /// Objects that cannot be activated.
    Poa(oxorb::poa::PoaError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Idl(failed) => failed.fmt(f),
            Error::Store { path, why } => write!(f, "the store {}: {why}", path.display()),
            Error::Poa(error) => write!(f, "the repository cannot be served: {error}"),
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
            Error::Idl(failed) => Some(&**failed),
            Error::Store { .. } => None,
            Error::Poa(error) => Some(error),
        }
    }
}

impl From<oxorb::poa::PoaError> for Error {
    fn from(error: oxorb::poa::PoaError) -> Self {
        Error::Poa(error)
    }
}
