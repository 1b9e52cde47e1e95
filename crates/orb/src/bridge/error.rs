//! Why a bridge does not stand.

use std::fmt;

use crate::{PoaError, ResolveError, SetupError};

/// A bridge, or an object of it, could not be made.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ORB that sends in the other byte order.
    #[error("the bridge's ORB for foreign byte orders: {0}")]
    Setup(#[source] Box<SetupError>),
    /// The bridge's object adapters, or an object in them.
    #[error("an object of the bridge: {0}")]
    Poa(#[from] PoaError),
    /// The reference of a target.
    #[error("the target {0}: {1}")]
    Target(String, #[source] Box<ResolveError>),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
