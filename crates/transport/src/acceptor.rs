//! Where peers connect.

use std::fmt;
use std::io;

use crate::{Endpoint, Link, Protocol, tcp};

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

    /// What was asked for, with the port that was really taken.
    fn endpoint(&self) -> &Endpoint;
}

/// Listens on `endpoint`. Resolves a host name, so it may block; off the request path.
///
/// # Errors
/// [`ListenError`]: says which address could not be had, why, and what may be done.
pub fn listen(endpoint: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
    match endpoint.protocol {
        Protocol::Iiop => Ok(Box::new(tcp::TcpAcceptor::listen(endpoint)?)),
    }
}

/// An endpoint on which nobody can listen now.
pub struct ListenError {
    /// The endpoint asked for.
    pub endpoint: Endpoint,
    /// The address on which it failed, `host:port`.
    pub address: String,
    /// Why.
    pub error: io::Error,
}

impl ListenError {
    /// What the user may do about it, when there is something to say.
    pub fn advice(&self) -> Option<&'static str> {
        Some(match self.error.kind() {
            io::ErrorKind::AddrInUse => {
                "another process listens there: stop it, or choose another port (0 lets the system choose)"
            }
            io::ErrorKind::AddrNotAvailable => {
                "no interface of this host has that address: choose one of its own, or leave the host empty for all"
            }
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need a privilege (CAP_NET_BIND_SERVICE): choose a higher port"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot listen on {} (endpoint {}): {}",
            self.address, self.endpoint, self.error
        )?;
        match self.advice() {
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
