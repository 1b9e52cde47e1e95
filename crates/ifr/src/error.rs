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
    /// Change of a store that was made, or may have been made, but may not survive a failure of the computer. Check the
    /// disk, and make the change again; this is safe, because a change that was made before has no effect.
    Unsure {
        /// Path of the file.
        path: PathBuf,
        /// Reason why the change is not certain.
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
            Error::Unsure { path, why } => write!(
                f,
                "the store {}: the change was made, or may have been made, but may not survive a failure of the \
                 computer: {why}; check the disk and what is loaded (`oxorb ifr ls`), then make the change again",
                path.display()
            ),
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
            Error::Store { .. } | Error::Unsure { .. } => None,
            Error::Poa(error) => Some(error),
        }
    }
}

impl From<oxorb::poa::PoaError> for Error {
    fn from(error: oxorb::poa::PoaError) -> Self {
        Error::Poa(error)
    }
}
