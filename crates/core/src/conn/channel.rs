//! Messages over a link: the only code that reads messages from a link, and the only code that writes encoded ones to
//! it. The encoders and buffers of messages come from here, too.
//!
//! Five kinds of thread receive: a caller that waits for its own reply, a reader of calls that share a connection, a
//! caller that also reads for others, a server thread, and a server thread that looks ahead. All call
//! [`LinkReceiver::next`], and differ in their treatment of its events.

use std::io::{self, IoSlice};
use std::time::Duration;

use oxorb_cdr::{Dialect, Encoded, Encoder};
use oxorb_giop::{Fragments, Inbox, Wire};
use oxorb_transport::{Link, WriteError};

use super::ConnectionEnd;
use crate::Options;

/// Time limit of a read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Does not read.
    Not,
    /// Reads what is available, without waiting.
    Now,
    /// Reads within the read timeout of the link.
    Limited,
}

/// Result of a read from a connection.
pub(crate) enum Event {
    /// A complete message, which the inbox announces.
    // The variant does not contain the message header, so that an event fits into two registers.
    Message,
    /// Octets of incomplete messages.
    Octets {
        octets: usize,
        /// Whether as many octets were read as requested, so that more may be available.
        all: bool,
    },
    /// The time limit passed without octets.
    Silence,
    /// A signal ended the read early.
    Interrupted,
}

/// Receiving half of a connection, in the thread that reads it.
pub(crate) struct LinkReceiver<'c> {
    pub(crate) link: &'c dyn Link,
    pub(crate) inbox: &'c mut Inbox,
}

impl LinkReceiver<'_> {
    /// Returns the next message and drops the one before; if none is complete, reads once, with one system call. `wait`
    /// returns the limit of the read, and is called only if no complete message is buffered.
    ///
    /// # Errors
    /// [`ConnectionEnd::Malformed`], [`ConnectionEnd::Vanished`], [`ConnectionEnd::Unreadable`], and those of `wait`.
    #[inline(always)]
    pub(crate) fn next(
        &mut self,
        wait: impl FnOnce(&mut Inbox) -> Result<Wait, ConnectionEnd>,
    ) -> Result<Event, ConnectionEnd> {
        match self.inbox.poll() {
            Ok(None) => {}
            Ok(Some(_)) => return Ok(Event::Message),
            Err(violation) => return Err(ConnectionEnd::Malformed(violation)),
        }
        let wait = wait(self.inbox)?;
        self.read(wait)
    }

    /// Reads once, with one system call, if no complete message is buffered.
    ///
    /// # Errors
    /// [`ConnectionEnd::Vanished`], [`ConnectionEnd::Unreadable`].
    #[inline(always)]
    pub(crate) fn read(&mut self, wait: Wait) -> Result<Event, ConnectionEnd> {
        if let Some(most) = self.inbox.borrows()
            && wait != Wait::Not
            && let Some(lent) = self.borrow(most, wait == Wait::Limited)
        {
            return lent;
        }
        let (buffer, room) = self.inbox.room();
        let read = match wait {
            Wait::Limited => self.link.read(buffer, room),
            Wait::Now => self.link.read_now(buffer, room),
            Wait::Not => return Ok(Event::Silence),
        };
        match read {
            Ok(0) => Err(ConnectionEnd::Vanished),
            Ok(octets) => Ok(Event::Octets { octets, all: octets == room }),
            Err(error) => unread(error),
        }
    }
}

impl LinkReceiver<'_> {
    /// Lends the inbox up to `most` of the next octets, if the link lends them; `None` if they have
    /// to be read.
    #[cold]
    fn borrow(&mut self, most: usize, waits: bool) -> Option<Result<Event, ConnectionEnd>> {
        match self.link.lender()?.lease(most, waits) {
            Ok(lease) => {
                let lease = lease?;
                let octets = lease.len();
                let whole = self.inbox.lend(lease);
                // If the lease ends within a message, the rest of the message was written together with it and can be
                // leased at once.
                Some(Ok(Event::Octets { octets, all: !whole }))
            }
            Err(error) => Some(unread(error)),
        }
    }
}

/// Converts an error of a read.
#[cold]
fn unread(error: io::Error) -> Result<Event, ConnectionEnd> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(Event::Interrupted),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Ok(Event::Silence),
        _ => Err(ConnectionEnd::Unreadable(error)),
    }
}

impl Options {
    /// Returns an encoder for one message that reuses a buffer.
    // This function is inlined, because an encoder is large: making it takes no more instructions than moving it.
    #[inline(always)]
    pub(crate) fn encoder<'a>(&self, buffer: Vec<u8>, dialect: Dialect) -> Encoder<'a> {
        Encoder::new(buffer, self.byte_order, dialect).gather_above(self.gather_above)
    }

    /// Returns a buffer for the next message, made from that of the last one. The memory of a large message is not kept
    /// for the life of the connection.
    #[inline]
    pub(crate) fn keep(&self, buffer: Vec<u8>) -> Vec<u8> {
        if buffer.capacity() > self.limits.kept_capacity {
            return Vec::new();
        }
        buffer
    }
}

/// Reports whether a message is sent in one piece under this fragment size.
#[inline]
fn fits(message: &[u8], fragment_size: Option<usize>) -> bool {
    fragment_size.is_none_or(|size| message.len() <= size)
}

/// Writes the content of an encoder as [`write_message`] does, and returns the encoder's buffer.
///
/// `left` returns the time limit of a further fragment; `None` for the limit of the first.
// This function is inlined, and makes no `Encoded` for a contiguous message, because moving the large encoder would
// cost as much as everything else.
#[inline(always)]
pub(crate) fn send_encoded(
    link: &dyn Link,
    e: Encoder<'_>,
    wire: Wire,
    fragment_size: Option<usize>,
    left: impl Fn() -> Option<Duration>,
) -> (Result<(), WriteError>, Vec<u8>) {
    match e.contiguous() {
        Some(message) if fits(message, fragment_size) => {
            let sent = link.write(&mut [IoSlice::new(message)]);
            (sent, e.into_buffer())
        }
        _ => send_pieces(link, e.finish(), wire, fragment_size, &left),
    }
}

/// Does what [`send_encoded`] does, for an encoder that stays in place.
#[inline(always)]
pub(crate) fn send_written(
    link: &dyn Link,
    e: &mut Encoder<'_>,
    wire: Wire,
    fragment_size: Option<usize>,
) -> (Result<(), WriteError>, Vec<u8>) {
    match e.contiguous() {
        Some(message) if fits(message, fragment_size) => {
            let sent = link.write(&mut [IoSlice::new(message)]);
            (sent, e.take_buffer())
        }
        _ => send_pieces(link, e.take(), wire, fragment_size, &|| None),
    }
}

#[inline(never)]
fn send_pieces(
    link: &dyn Link,
    message: Encoded<'_>,
    wire: Wire,
    fragment_size: Option<usize>,
    left: &dyn Fn() -> Option<Duration>,
) -> (Result<(), WriteError>, Vec<u8>) {
    let sent = write_message_within(link, &message, wire, fragment_size, left);
    (sent, message.into_buffer())
}

/// Writes one message: in one piece, or in fragments if it is larger than `fragment_size` octets
/// and the protocol supports fragments.
pub(crate) fn write_message(
    link: &dyn Link,
    message: &Encoded<'_>,
    wire: Wire,
    fragment_size: Option<usize>,
) -> Result<(), WriteError> {
    write_message_within(link, message, wire, fragment_size, &|| None)
}

/// Does what [`write_message`] does. `left` returns the time limit of a further fragment, zero if it has expired;
/// `None` for the limit of the first. Changes the write timeout of the link for several fragments.
#[inline]
pub(crate) fn write_message_within(
    link: &dyn Link,
    message: &Encoded<'_>,
    wire: Wire,
    fragment_size: Option<usize>,
    left: &dyn Fn() -> Option<Duration>,
) -> Result<(), WriteError> {
    if message.is_contiguous() && fits(message.contiguous(), fragment_size) {
        return link.write(&mut [IoSlice::new(message.contiguous())]);
    }
    write_pieces(link, message, wire, fragment_size, left)
}

/// Writes a message that refers to memory elsewhere, or is too large for one piece.
#[inline(never)]
fn write_pieces(
    link: &dyn Link,
    message: &Encoded<'_>,
    wire: Wire,
    fragment_size: Option<usize>,
    left: &dyn Fn() -> Option<Duration>,
) -> Result<(), WriteError> {
    let mut slices = [IoSlice::new(&[]); Encoded::MAX_SLICES];
    let slices = message.io_slices(&mut slices);
    let fragments = fragment_size
        .filter(|size| message.len() > *size && !wire.needs().no_fragments && link.facts().stream)
        .and_then(|size| Fragments::new(slices, size).ok());
    let Some(fragments) = fragments else {
        return link.write(slices);
    };
    let mut written = 0;
    for piece in fragments {
        let mut slots = [IoSlice::new(&[]); Fragments::MAX_SLICES];
        let piece = piece.slices(slices, &mut slots);
        let octets: usize = piece.iter().map(|slice| slice.len()).sum();
        let sent = match left().filter(|_| written > 0) {
            Some(left) if left.is_zero() => {
                Err(WriteError { written: 0, error: io::ErrorKind::TimedOut.into() })
            }
            Some(left) => {
                let _ = link.set_write_timeout(Some(left));
                link.write(piece)
            }
            None => link.write(piece),
        };
        // The earlier fragments were sent even if this one fails, so they count as written.
        sent.map_err(|failed| WriteError { written: written + failed.written, ..failed })?;
        written += octets;
    }
    Ok(())
}
