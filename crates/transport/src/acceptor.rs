//! Acceptors, to which peers connect.

use std::fmt;
use std::io;

use crate::{Endpoint, Link};

/// Listening endpoint.
///
/// # Obligations of an implementation
///
/// 1. [`accept`](Acceptor::accept) returns each connected peer once, in the order of connecting.
/// 2. A peer that disconnects before it is accepted is not an error of the acceptor.
/// 3. [`close`](Acceptor::close) wakes every thread blocked in `accept`; later peers are refused.
///    Links accepted before stay open.
pub trait Acceptor: Send + Sync {
    /// Waits for a peer.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotConnected`] if the acceptor is closed; the caller must stop. If the error
    /// contains a [`RefusedConnection`](crate::RefusedConnection), a peer was rejected; the caller may accept again at
    /// once. Any other error is a shortage of descriptors or memory; the caller should wait a moment
    /// before it accepts again.
    fn accept(&self) -> io::Result<Box<dyn Link>>;

    /// Stops listening permanently. May be called any number of times. [`accept`](Self::accept)
    /// still returns the peers that have connected before, so that they can be notified. If the
    /// transport has a handshake, only peers that have finished it are returned.
    fn close(&self);

    /// Makes the system choose the acceptor of a [group](crate::Transport::listen_in_group) by the
    /// DSCP of a client's first packet. `marks` pairs DSCPs with the numbers of acceptors, of which
    /// the first match counts; `otherwise` is the acceptor of all other clients.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if the transport has no groups; errors of the system.
    fn steer_by_mark(&self, marks: &[(u8, u32)], otherwise: u32) -> io::Result<()> {
        let _ = (marks, otherwise);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the requested endpoint with the actual place, such as the port that the system
    /// chose.
    fn endpoint(&self) -> &Endpoint;
}

/// Error of listening on an endpoint.
#[derive(thiserror::Error)]
#[error(
    "cannot listen on {address} (endpoint {endpoint}): {error}{}",
    .advice.map(|advice| format!("; {advice}")).unwrap_or_default()
)]
pub struct ListenError {
    /// Requested endpoint.
    pub endpoint: Box<Endpoint>,
    /// Address on which it failed, in the transport's own notation.
    pub address: String,
    /// Cause.
    #[source]
    pub error: io::Error,
    /// Sentence of advice to the user; `None` if there is none.
    pub advice: Option<&'static str>,
}

impl fmt::Debug for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn errors_of_listening_name_the_endpoint_and_the_advice() {
        let endpoint = Endpoint::new(crate::tcp::SCHEME, ":2809");
        let error = |advice| ListenError {
            endpoint: Box::new(endpoint.clone()),
            address: "0.0.0.0:2809".to_owned(),
            error: io::Error::other("in use"),
            advice,
        };
        let text = "cannot listen on 0.0.0.0:2809 (endpoint tcp://:2809): in use";
        assert_eq!(error(None).to_string(), text);
        assert_eq!(error(Some("stop the other")).to_string(), format!("{text}; stop the other"));
        assert_eq!(error(None).source().expect("a cause").to_string(), "in use");
    }
}
