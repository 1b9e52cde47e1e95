//! Errors in the creation of a bridge or of its objects.

use std::fmt;

use crate::poa::PoaError;
use crate::{ResolveError, SetupError};

/// Failure to create a bridge or an object of it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ORB that sends in the other byte order could not be created.
    #[error("the bridge's ORB for foreign byte orders: {0}")]
    Setup(#[source] Box<SetupError>),
    /// The bridge's object adapters, or an object in them, could not be created.
    #[error("an object of the bridge: {0}")]
    Poa(#[from] PoaError),
    /// A target's reference could not be resolved.
    #[error("the target {0}: {1}")]
    Target(String, #[source] Box<ResolveError>),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
