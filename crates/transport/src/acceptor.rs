//! Where peers connect.

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
    /// [`io::ErrorKind::NotConnected`] when the acceptor is closed: stop. Anything else is a
    /// shortage (descriptors, memory): wait a moment, then accept again.
    fn accept(&self) -> io::Result<Box<dyn Link>>;

    /// Stops listening, for good. May be called any number of times.
    fn close(&self);

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
