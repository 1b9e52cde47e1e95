//! Peers that were not let in, and messages that a transport cannot carry.

use std::fmt;
use std::io;

/// A connection that one end refused while it was set up, before anything of what it carries was taken: for want of a
/// certificate that the other end trusts, for one.
///
/// It travels inside an [`io::Error`]. From [`Acceptor::accept`](crate::Acceptor::accept) it is about a client; from a link's
/// [`read`](crate::Link::read) it says that the server refused this end.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    /// The peer, for people.
    pub peer: String,
    /// Reason, as the rest of a sentence.
    pub why: String,
}

impl Refused {
    /// Returns what an error holds of it.
    pub fn of(error: &io::Error) -> Option<&Refused> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> io::Error {
        io::Error::new(io::ErrorKind::ConnectionAborted, refused)
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A message that has more octets than a transport carries in one piece. Nothing of it was sent, and the link may be used
/// again.
///
/// It travels inside the [`io::Error`] of a [`WriteError`](crate::WriteError).
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the message has {octets} octets, and a datagram at most {most}: {advice}")]
pub struct Oversized {
    /// Octets of the message.
    pub octets: usize,
    /// Most octets that one may have.
    pub most: usize,
    /// Advice to the user, as the rest of a sentence.
    pub advice: &'static str,
}

impl Oversized {
    /// Returns what an error holds of it.
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

/// A message that asks for an answer, over a link that brings none: one to a group. Nothing of it was sent, and the link may be
/// used again.
///
/// It travels inside the [`io::Error`] of a [`WriteError`](crate::WriteError).
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the call asks for an answer, and a group gives none: make it a oneway with SyncScope::None or WithTransport, or give \
     the reference an IIOP profile, too"
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
