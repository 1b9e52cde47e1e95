use std::fmt;

/// Why a channel cannot be served.
#[non_exhaustive]
pub enum Error {
    /// The objects cannot be activated: the ORB serves a channel of this name already, or was shut down.
    Poa(oxorb::PoaError),
    /// The channel was destroyed.
    Destroyed,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Poa(error) => write!(f, "the event channel cannot be served: {error}"),
            Error::Destroyed => f.write_str("the event channel was destroyed"),
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
            Error::Poa(error) => Some(error),
            Error::Destroyed => None,
        }
    }
}

impl From<oxorb::PoaError> for Error {
    fn from(error: oxorb::PoaError) -> Self {
        Error::Poa(error)
    }
}
