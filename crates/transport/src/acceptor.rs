//! Acceptors, to which peers connect.

use std::fmt;
use std::io;

use crate::{Endpoint, Link};

/// A listening endpoint.
///
/// # Obligations of an implementation
///
/// 1. [`accept`](Acceptor::accept) gives each peer that connected, once, in the order they came.
/// 2. A peer that is gone again before it was accepted is no error of the acceptor.
/// 3. [`close`](Acceptor::close) wakes every thread blocked in `accept`; peers are refused from
///    then on. Links accepted before live on.
pub trait Acceptor: Send + Sync {
    /// Waits for a peer.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotConnected`] when the acceptor is closed: stop. With a [`Refused`](crate::Refused) inside, a peer
    /// was not let in: accept again. Anything else is a
    /// shortage (descriptors, memory): wait a moment, then accept again.
    fn accept(&self) -> io::Result<Box<dyn Link>>;

    /// Stops listening, for good. May be called any number of times. [`accept`](Self::accept) still hands out the peers that
    /// had connected by then, so that they can be told; of a transport with a handshake, those that had finished it.
    fn close(&self);

    /// Makes the system pick the acceptor of a [group](crate::Transport::listen_in_group) by the
    /// DSCP of a client's first packet. `marks`: DSCP and number of an acceptor, the first match
    /// counts; `otherwise`: the acceptor of all other clients.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the transport has no groups; what the system says.
    fn steer_by_mark(&self, marks: &[(u8, u32)], otherwise: u32) -> io::Result<()> {
        let _ = (marks, otherwise);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the endpoint asked for, with the place that was really taken: the port that the system
    /// chose, for one.
    fn endpoint(&self) -> &Endpoint;
}

/// An endpoint on which nobody can listen now.
pub struct ListenError {
    /// The endpoint asked for.
    pub endpoint: Box<Endpoint>,
    /// The address on which it failed, in the transport's own notation.
    pub address: String,
    /// Why.
    pub error: io::Error,
    /// Sentence about what the user may do, when there is something to say.
    pub advice: Option<&'static str>,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot listen on {} (endpoint {}): {}",
            self.address, self.endpoint, self.error
        )?;
        match self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ListenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
