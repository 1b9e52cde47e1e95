//! Why a bridge does not stand.

use std::fmt;

use crate::{PoaError, ResolveError, SetupError};

/// A bridge, or an object of it, could not be made.
#[non_exhaustive]
pub enum Error {
    /// The ORB that sends in the other byte order.
    Setup(Box<SetupError>),
    /// The bridge's object adapters, or an object in them.
    Poa(PoaError),
    /// The reference of a target.
    Target(String, Box<ResolveError>),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Setup(error) => write!(f, "the bridge's ORB for foreign byte orders: {error}"),
            Error::Poa(error) => write!(f, "an object of the bridge: {error}"),
            Error::Target(url, error) => write!(f, "the target {url}: {error}"),
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
            Error::Setup(error) => Some(error),
            Error::Poa(error) => Some(error),
            Error::Target(_, error) => Some(error),
        }
    }
}

impl From<PoaError> for Error {
    fn from(error: PoaError) -> Error {
        Error::Poa(error)
    }
}
