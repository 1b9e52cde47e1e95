use std::fmt;
use std::io;
use std::net::SocketAddr;

use crate::JoinError;

/// Reason why a gateway cannot begin.
#[non_exhaustive]
pub enum GatewayError {
    /// A socket cannot be made, bound, or joined to a group.
    Socket {
        /// The address that it was for.
        address: SocketAddr,
        /// The step that failed.
        what: &'static str,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A channel refuses it as consumer or supplier, or is not reached.
    Channel(JoinError),
    /// A channel refuses it, or is not reached.
    Call(oxorb::SystemException),
    /// The gateway's own objects cannot be activated.
    Poa(oxorb::PoaError),
    /// A thread could not be begun.
    Thread(io::Error),
}

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket { address, what, error } => write!(
                f,
                "event gateway: {what} {address}: {error}; check the address, the interface and the port"
            ),
            Self::Channel(error) => write!(f, "event gateway: {error}"),
            Self::Call(error) => write!(f, "event gateway: the channel does not take it: {error}"),
            Self::Poa(error) => write!(f, "event gateway: {error}"),
            Self::Thread(error) => write!(f, "event gateway: no thread for it: {error}"),
        }
    }
}

impl fmt::Debug for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for GatewayError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Socket { error, .. } | Self::Thread(error) => Some(error),
            Self::Channel(error) => Some(error),
            Self::Call(error) => Some(error),
            Self::Poa(error) => Some(error),
        }
    }
}
