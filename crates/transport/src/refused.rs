//! Errors for rejected peers, and for messages that a transport cannot carry.

use std::fmt;
use std::io;

/// Error of a connection that one end refused during its setup, before it accepted any request: for
/// example, for lack of a trusted certificate.
///
/// It travels inside an [`io::Error`]. From [`Acceptor::accept`](crate::Acceptor::accept) it
/// concerns a client; from a link's [`read`](crate::Link::read) it means that the server refused
/// this end.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct RefusedConnection {
    /// Peer, for users.
    pub peer: String,
    /// Reason, as the rest of a sentence.
    pub why: String,
}

impl RefusedConnection {
    /// Returns the refusal inside an error, if any.
    pub fn of(error: &io::Error) -> Option<&RefusedConnection> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<RefusedConnection> for io::Error {
    fn from(refused: RefusedConnection) -> io::Error {
        io::Error::new(io::ErrorKind::ConnectionAborted, refused)
    }
}

impl fmt::Debug for RefusedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Error of a message that is larger than the transport can carry. Nothing of it was sent, and the
/// link may be used again.
///
/// It travels inside the [`io::Error`] of a [`WriteError`](crate::WriteError).
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the message has {octets} octets, but a datagram can have at most {most}: {advice}")]
pub struct Oversized {
    /// Size of the message in octets.
    pub octets: usize,
    /// Largest size of a message in octets.
    pub most: usize,
    /// Advice to the user, as the rest of a sentence.
    pub advice: &'static str,
}

impl Oversized {
    /// Returns the value inside an error, if any.
    pub fn of(error: &io::Error) -> Option<&Oversized> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<Oversized> for io::Error {
    fn from(oversized: Oversized) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, oversized)
    }
}

impl fmt::Debug for Oversized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Error of a message that requires a reply, on a link to a group, which carries no replies. Nothing
/// of the message was sent, and the link may be used again.
///
/// It travels inside the [`io::Error`] of a [`WriteError`](crate::WriteError).
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the call expects an answer, but a group sends none: make the operation a oneway with SyncScope::None or \
     WithTransport, or add an IIOP profile to the reference"
)]
pub struct Unanswered;

impl Unanswered {
    /// Reports whether an error is this one.
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Unanswered>())
    }
}

impl From<Unanswered> for io::Error {
    fn from(unanswered: Unanswered) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, unanswered)
    }
}

impl fmt::Debug for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
