//! Errors in the creation of a bridge or gateway, or of its objects.

use std::fmt;

use crate::poa::PoaError;
use crate::{ResolveError, SetupError};

/// Failure to create a bridge or gateway, or an object of it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ORB that sends in the other byte order could not be created.
    #[error("creating an ORB of the bridge failed: {0}")]
    Setup(#[source] Box<SetupError>),
    /// The ORB of a side of a gateway could not be created, or cannot listen. The text names the side.
    #[error("the side {0} of the gateway: {1}")]
    Side(&'static str, #[source] Box<SetupError>),
    /// The bridge's object adapters, or an object in them, could not be created.
    #[error("creating an object of the bridge failed: {0}")]
    Poa(#[from] PoaError),
    /// A target's reference could not be resolved.
    #[error("the target {0}: {1}")]
    Target(String, #[source] Box<ResolveError>),
    /// A target of a gateway is an object of the gateway itself.
    #[error("the target {0} leads back to the gateway; specify the object behind the gateway")]
    Itself(String),
    /// The reference of a target is longer than a gateway accepts.
    #[error("the reference of the target of {0} is longer than the 16 KiB that a gateway accepts")]
    TooLong(String),
    /// The gateway has no object of this name.
    #[error("the gateway has no object named {0}; open it first")]
    Unknown(String),
    /// The key with which a gateway signs references is unusable.
    #[error("the key of the gateway: {0}")]
    Key(String),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
