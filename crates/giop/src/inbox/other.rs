//! Messages of other protocols than GIOP.

use core::fmt;
use std::sync::Arc;

use crate::{Frame, FrameContext, Header, Limits, MessageType, Messaging, Table, Violation, Wire};
use oxorb_cdr::ByteOrder;

/// How the messages of one connection that does not speak GIOP are read: their messaging, and what it remembers of them.
///
/// All inboxes of a connection share it, also those that read one after another in different threads.
#[derive(Clone)]
pub struct Reading {
    messaging: &'static dyn Messaging,
    /// Octets of a header.
    start: usize,
    usual: Option<Usual>,
    /// Context of messages that refer to nothing.
    alone: Arc<FrameContext>,
    table: Option<Arc<dyn Table>>,
}

impl Reading {
    /// Returns how messages of `wire` are read on a new connection. `None` for GIOP, which needs no help.
    pub fn of(wire: Wire, limits: &Limits) -> Option<Self> {
        let messaging = wire.messaging()?;
        Some(Self {
            messaging,
            start: messaging.start(),
            usual: Usual::of(messaging),
            alone: Arc::new(FrameContext::new(messaging)),
            table: messaging.table(limits),
        })
    }

    /// Returns the messaging.
    pub fn messaging(&self) -> &'static dyn Messaging {
        self.messaging
    }

    /// Reads the header at the start of these octets if it is a usual one. `None` says nothing.
    #[inline(always)]
    pub(super) fn usual(&self, octets: &[u8]) -> Option<Header> {
        self.usual.as_ref()?.read(octets)
    }

    /// Reads the header at the start of these octets, once enough of them are there.
    pub(super) fn header(&self, octets: &[u8]) -> Option<Result<Header, Violation>> {
        let start = octets.get(..self.start)?;
        Some(self.messaging.header(start))
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reading")
            .field(&self.messaging.name())
            .finish()
    }
}

/// Headers that nearly all messages have: those of Requests and Replies in the byte order of this machine.
#[derive(Clone, Copy)]
struct Usual {
    /// Bits of the first eight octets that are the same in all of them.
    mask: u64,
    /// What these bits are.
    same: u64,
    /// Place of the bit that Replies have and Requests have not.
    kind: u8,
    /// Place of the first bit of the size.
    size: u8,
    /// Smallest size.
    least: u8,
    /// Header of a Request without octets.
    header: Header,
}

impl Usual {
    /// Returns how usual headers are read. `None`: the messaging is asked for each.
    fn of(messaging: &dyn Messaging) -> Option<Self> {
        let framing = messaging
            .framing()
            .filter(|framing| framing.request.is_multiple_of(2))?;
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
        })
    }

    #[inline(always)]
    fn read(&self, octets: &[u8]) -> Option<Header> {
        let word = u64::from_le_bytes(*octets.first_chunk()?);
        if word & self.mask != self.same {
            return None;
        }
        // The places become shifts: nothing is left to check.
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

/// What an inbox holds for a protocol other than GIOP.
pub(super) struct Other {
    pub(super) reading: Reading,
    /// Context of the announced message.
    pub(super) announced: Arc<FrameContext>,
}

impl Other {
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            announced: Arc::clone(&reading.alone),
            reading,
        }
    }

    /// Returns what is wrong with a message that is larger than a limit allows.
    #[cold]
    pub(super) fn oversized(&self, octets: &[u8], limit: Violation) -> Violation {
        let start = octets
            .get(..self.reading.messaging.start())
            .unwrap_or_default();
        self.reading.messaging.oversized(start, limit)
    }

    /// Keeps what a whole message refers to, if no table is needed for that, or the table knows it. `false`: it may have
    /// [arrived](Self::arrived) with something new.
    #[inline(always)]
    pub(super) fn refers(&mut self, header: Header, bytes: &[u8]) -> bool {
        match &self.reading.table {
            Some(table) if header.kind == MessageType::REQUEST => {
                let Some(known) = table.known(bytes, header.order) else {
                    return false;
                };
                // Messages that follow each other often refer to the same: then nothing is counted.
                if !Arc::ptr_eq(known, &self.announced) {
                    replace(&mut self.announced, known);
                }
                true
            }
            _ => true,
        }
    }

    /// Shows a whole Request to the table, and keeps what it refers to.
    pub(super) fn arrived(&mut self, header: Header, bytes: &[u8]) -> Result<(), Violation> {
        if header.kind != MessageType::REQUEST {
            return Ok(());
        }
        let Some(table) = &self.reading.table else {
            return Ok(());
        };
        let frame = Frame {
            header,
            bytes,
            context: Some(&self.reading.alone),
        };
        let known = table.arrived(&frame)?.unwrap_or(&self.reading.alone);
        // Messages that follow each other often refer to the same: then nothing is counted.
        if !Arc::ptr_eq(known, &self.announced) {
            self.announced = Arc::clone(known);
        }
        Ok(())
    }

    /// Returns the context of a message that is only looked at.
    pub(super) fn alone(&self) -> &Arc<FrameContext> {
        &self.reading.alone
    }

    /// Makes `to` that of an inbox which holds the announced message.
    pub(super) fn split_to(&self, to: &mut Option<Box<Self>>) {
        let split = Self {
            reading: self.reading.clone(),
            announced: Arc::clone(&self.announced),
        };
        match to {
            Some(to) => **to = split,
            None => *to = Some(Box::new(split)),
        }
    }

    pub(super) fn memory(&self) -> usize {
        let table = self.reading.table.as_ref();
        table.map_or(0, |table| table.memory())
    }
}

/// Counts references.
#[inline(never)]
fn replace(announced: &mut Arc<FrameContext>, known: &Arc<FrameContext>) {
    *announced = Arc::clone(known);
}
