//! The receiving half of a connection: the only code that reads a link.
//!
//! Five loops receive, each with business of its own between two reads: a caller that waits, a reader thread, a leader, a
//! server thread, and one that looks ahead. What they share is here: one read, and what its end means.

use std::io;

use oxorb_giop::{Header, Inbox};
use oxorb_transport::Link;

use super::Ended;

/// How long a read may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It returns at once.
    Now,
    /// As long as the read timeout of the link lets it.
    Limited,
}

/// Result of a read after which the connection goes on.
pub(crate) enum Read {
    Octets {
        octets: usize,
        /// Whether there may be more: as many came as were asked for.
        all: bool,
    },
    /// Nothing came in time.
    TimedOut,
    /// A signal ended the read early.
    Interrupted,
}

/// Next thing that a connection brings.
pub(crate) enum Event {
    Message(Header),
    /// Octets, but no whole message yet.
    Partial,
    /// Nothing now.
    Nothing,
}

/// The receiving half of a connection, while somebody reads it.
pub(crate) struct Receiver<'c> {
    pub(crate) link: &'c dyn Link,
    pub(crate) inbox: &'c mut Inbox,
}

impl Receiver<'_> {
    /// Returns the header of the next message if all of it is there, and drops the one before.
    ///
    /// # Errors
    /// [`Ended::Malformed`].
    #[inline(always)]
    pub(crate) fn announced(&mut self) -> Result<Option<Header>, Ended> {
        self.inbox.poll().map_err(Ended::Malformed)
    }

    /// Reads once: one system call.
    ///
    /// # Errors
    /// [`Ended::Vanished`], [`Ended::Unreadable`].
    #[inline(always)]
    pub(crate) fn read(&mut self, wait: Wait) -> Result<Read, Ended> {
        let (buffer, room) = self.inbox.room();
        let read = match wait {
            Wait::Limited => self.link.read(buffer, room),
            Wait::Now => self.link.read_now(buffer, room),
        };
        match read {
            Ok(0) => Err(Ended::Vanished),
            Ok(octets) => Ok(Read::Octets {
                octets,
                all: octets == room,
            }),
            Err(error) => unread(error),
        }
    }

    /// Returns the next message, after one read if it is not there yet.
    ///
    /// # Errors
    /// Those of [`announced`](Self::announced) and [`read`](Self::read).
    pub(crate) fn next(&mut self, wait: Wait) -> Result<Event, Ended> {
        if let Some(header) = self.announced()? {
            return Ok(Event::Message(header));
        }
        match self.read(wait)? {
            Read::Octets { .. } => Ok(match self.announced()? {
                Some(header) => Event::Message(header),
                None => Event::Partial,
            }),
            Read::TimedOut | Read::Interrupted => Ok(Event::Nothing),
        }
    }
}

/// Returns what an error of a read means for the connection.
#[cold]
fn unread(error: io::Error) -> Result<Read, Ended> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(Read::Interrupted),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Ok(Read::TimedOut),
        _ => Err(Ended::Unreadable(error)),
    }
}
