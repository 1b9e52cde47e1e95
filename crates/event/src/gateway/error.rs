use std::fmt;
use std::io;
use std::net::SocketAddr;

use crate::JoinError;

/// Reason why a gateway cannot be started.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// A socket could not be created, bound or joined to a group.
    #[error(
        "event gateway: {what} {address}: {error}; check the address, the interface and the port"
    )]
    Socket {
        /// Address of the socket.
        address: SocketAddr,
        /// The step that failed.
        what: &'static str,
        /// Error of the operating system.
        #[source]
        error: io::Error,
    },
    /// A channel refuses the gateway as consumer or supplier, or the channel cannot be reached.
    #[error("event gateway: {0}")]
    Channel(#[source] JoinError),
    /// A call to a channel failed, because it refuses the gateway or cannot be reached.
    #[error("event gateway: the channel rejects it: {0}")]
    Call(#[source] oxorb::SystemException),
    /// The two channels are the same channel, which would receive each event repeatedly until the event's `ttl` is used
    /// up.
    #[error(
        "event gateway: the two channels are the same, so each event would return until its ttl ends; specify two \
         channels"
    )]
    SameChannel,
    /// The gateway's own objects cannot be activated.
    #[error("event gateway: {0}")]
    Poa(#[source] oxorb::poa::PoaError),
    /// A thread could not be started.
    #[error("event gateway: its thread cannot be started: {0}")]
    Thread(#[source] io::Error),
}

impl fmt::Debug for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
