//! Messages of other protocols than GIOP.

use crate::prelude::*;
use alloc::sync::Arc;
use core::fmt;

use crate::alias_table::AliasTable;
use crate::{AliasAt, Frame, FrameContext, Header, MessageType, Messaging, Violation, Wire};
use oxorb_cdr::ByteOrder;

/// Reader of the messages of a connection that does not use GIOP: its messaging, and the state of
/// its aliases.
///
/// All inboxes of a connection share it, including those that successively read in different
/// threads.
#[derive(Clone)]
pub struct Reading {
    messaging: &'static dyn Messaging,
    /// Length of a header, in octets.
    start: usize,
    usual: Option<Usual>,
    /// Context of messages without an alias.
    alone: Arc<FrameContext>,
    aliases: Option<Arc<AliasTable>>,
}

impl Reading {
    /// Returns the reader for messages of `wire` on a new connection; `None` for GIOP, which needs
    /// none.
    pub fn of(wire: Wire) -> Option<Self> {
        let messaging = wire.messaging()?;
        Some(Self {
            messaging,
            start: messaging.start(),
            usual: Usual::of(messaging),
            alone: Arc::new(FrameContext::new(messaging)),
            aliases: AliasTable::of(messaging).map(Arc::new),
        })
    }

    /// Returns the messaging.
    pub fn messaging(&self) -> &'static dyn Messaging {
        self.messaging
    }

    /// Parses the header at the start of these octets if it is a common one; `None` if it may be
    /// another.
    #[inline(always)]
    pub(super) fn usual(&self, octets: &[u8]) -> Option<Header> {
        self.usual.as_ref()?.read(octets)
    }

    /// Parses the header at the start of these octets, once enough of them have arrived.
    pub(super) fn header(&self, octets: &[u8]) -> Option<Result<Header, Violation>> {
        let start = octets.get(..self.start)?;
        Some(self.messaging.header(start))
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reading").field(&self.messaging.name()).finish()
    }
}

/// Form of the most common headers: those of Requests and Replies in native byte order.
#[derive(Clone, Copy)]
struct Usual {
    /// Mask of the bits of the first eight octets that are the same in all of them.
    mask: u64,
    /// Values of these bits.
    same: u64,
    /// Position of the bit that is set in Replies and clear in Requests.
    kind: u8,
    /// Position of the lowest bit of the size.
    size: u8,
    /// Minimum size.
    least: u8,
    /// Header of a Request of size 0, of which each read header is a copy with its own kind and size.
    header: Header,
    alias: Option<AliasPlace>,
}

impl Usual {
    /// Returns the form of common headers; `None` if the messaging must parse each header.
    fn of(messaging: &dyn Messaging) -> Option<Self> {
        let framing = messaging.framing().filter(|framing| framing.request.is_multiple_of(2))?;
        let place = |at: u8| 8 * (at & 7);
        let octet = |at: u8, octet: u8| u64::from(octet) << place(at);
        let kind = framing.kind_at;
        let flag = u8::from(ByteOrder::NATIVE.flag());
        let order = framing.order_at;
        Some(Self {
            mask: octet(kind, !MessageType::REPLY.0) | order.map_or(0, |at| octet(at, u8::MAX)),
            same: octet(kind, framing.request) | order.map_or(0, |at| octet(at, flag)),
            kind: place(kind),
            size: place(framing.size_at),
            least: framing.least,
            header: Header {
                version: messaging.version(),
                order: ByteOrder::NATIVE,
                more_fragments: false,
                kind: MessageType::REQUEST,
                len: messaging.start() as u8,
                size: 0,
            },
            alias: framing.alias.map(AliasPlace::of),
        })
    }

    #[inline(always)]
    fn read(&self, octets: &[u8]) -> Option<Header> {
        let word = u64::from_le_bytes(*octets.first_chunk()?);
        if word & self.mask != self.same {
            return None;
        }
        // All positions are below 64. The masks show this to the compiler, so that it omits the checks of the shifts.
        let size = (word >> (self.size & 63)) as u32;
        let size = match ByteOrder::NATIVE {
            ByteOrder::Little => size,
            ByteOrder::Big => size.swap_bytes(),
        };
        (size >= u32::from(self.least)).then_some(Header {
            kind: MessageType((word >> (self.kind & 63)) as u8 & MessageType::REPLY.0),
            size,
            ..self.header
        })
    }
}

/// State of an inbox for a protocol other than GIOP.
pub(super) struct Other {
    pub(super) reading: Reading,
    /// Context of the announced message.
    pub(super) announced: Arc<FrameContext>,
}

impl Other {
    pub(super) fn new(reading: Reading) -> Self {
        Self { announced: Arc::clone(&reading.alone), reading }
    }

    /// Returns the violation by a message that exceeds a limit.
    #[cold]
    pub(super) fn oversized(&self, octets: &[u8], limit: Violation) -> Violation {
        let start = octets.get(..self.reading.messaging.start()).unwrap_or_default();
        self.reading.messaging.oversized(start, limit)
    }

    /// Sets the context of a complete message with a common header, if it is known. Returns `false`
    /// if the message may define a new alias, so that [`arrived`](Self::arrived) must process it.
    #[inline(always)]
    pub(super) fn refers(&mut self, header: Header, bytes: &[u8]) -> bool {
        let Some(aliases) = &self.reading.aliases else {
            return true;
        };
        if header.kind != MessageType::REQUEST {
            return true;
        }
        let place = (self.reading.usual.as_ref()).and_then(|usual| usual.alias.as_ref());
        let number = place.and_then(|place| place.read(bytes));
        let Some(known) = number.and_then(|number| aliases.get(number)) else {
            return false;
        };
        // Consecutive messages often have the same context. No reference count needs to change then.
        if !Arc::ptr_eq(known, &self.announced) {
            replace(&mut self.announced, known);
        }
        true
    }

    /// Passes a complete Request to the aliases, and sets its context.
    pub(super) fn arrived(&mut self, header: Header, bytes: &[u8]) -> Result<(), Violation> {
        if header.kind != MessageType::REQUEST {
            return Ok(());
        }
        let Some(aliases) = &self.reading.aliases else {
            return Ok(());
        };
        let frame = Frame { header, bytes, context: Some(&self.reading.alone), gap: None };
        let known = aliases.learn(&frame)?.unwrap_or(&self.reading.alone);
        if !Arc::ptr_eq(known, &self.announced) {
            self.announced = Arc::clone(known);
        }
        Ok(())
    }

    /// Returns the context of a Request of which only the beginning has arrived: no alias is
    /// stored, and a Request with an undefined alias contains the names in full.
    pub(super) fn context_of(&self, bytes: &[u8]) -> &Arc<FrameContext> {
        let place = (self.reading.usual.as_ref()).and_then(|usual| usual.alias.as_ref());
        let number = place.and_then(|place| place.read(bytes));
        let known = number.and_then(|number| self.reading.aliases.as_ref()?.get(number));
        known.unwrap_or(&self.reading.alone)
    }

    /// Returns the context of a message that is only peeked at.
    pub(super) fn alone(&self) -> &Arc<FrameContext> {
        &self.reading.alone
    }

    /// Copies the state to `to`, for an inbox that holds the announced message.
    pub(super) fn split_to(&self, to: &mut Option<Box<Self>>) {
        let split = Self { reading: self.reading.clone(), announced: Arc::clone(&self.announced) };
        match to {
            Some(to) => **to = split,
            None => *to = Some(Box::new(split)),
        }
    }

    pub(super) fn memory(&self) -> usize {
        let aliases = self.reading.aliases.as_ref();
        aliases.map_or(0, |aliases| aliases.memory())
    }
}

/// Position of the alias in common Requests, in the manner of [`Usual`].
#[derive(Clone, Copy)]
struct AliasPlace {
    /// Bits of the second eight octets that are set if object key and operation follow in full.
    names: u64,
    /// Position of the lowest bit of the number.
    number: u8,
}

impl AliasPlace {
    fn of(at: AliasAt) -> Self {
        let place = |at: u8| 8 * (at & 7);
        Self { names: u64::from(at.names) << place(at.names_at), number: place(at.number_at) }
    }

    /// Returns the alias of a Request, unless the Request contains names in full or is too short to
    /// have an alias.
    #[inline(always)]
    fn read(&self, request: &[u8]) -> Option<u16> {
        let [_, _, _, _, _, _, _, _, rest @ ..] = request.first_chunk::<16>()?;
        let word = u64::from_le_bytes(*rest);
        if word & self.names != 0 {
            return None;
        }
        // The position is below 64. The mask shows this to the compiler, so that it omits the check of the shift.
        let number = (word >> (self.number & 63)) as u16;
        Some(match ByteOrder::NATIVE {
            ByteOrder::Little => number,
            ByteOrder::Big => number.swap_bytes(),
        })
    }
}

/// Replaces the context, which changes reference counts.
#[inline(never)]
fn replace(announced: &mut Arc<FrameContext>, known: &Arc<FrameContext>) {
    *announced = Arc::clone(known);
}
