//! Messages of other protocols than GIOP.

use core::fmt;
use std::sync::Arc;

use oxorb_object::Version;

use crate::{
    Frame, FrameContext, Framing, Header, Limits, MessageType, Messaging, Table, Violation, Wire,
};

/// How the messages of one connection that does not speak GIOP are read: their messaging, and what it remembers of them.
///
/// All inboxes of a connection share it, also those that read one after another in different threads.
#[derive(Clone)]
pub struct Reading {
    messaging: &'static dyn Messaging,
    /// Octets of a header.
    start: usize,
    version: Version,
    framing: Option<Framing>,
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
            version: messaging.version(),
            framing: messaging.framing(),
            alone: Arc::new(FrameContext::new(messaging)),
            table: messaging.table(limits),
        })
    }

    /// Returns the messaging.
    pub fn messaging(&self) -> &'static dyn Messaging {
        self.messaging
    }

    /// Reads the header at the start of these octets if it is a usual one. `None` says nothing.
    #[inline]
    pub(super) fn usual(&self, octets: &[u8]) -> Option<Header> {
        let framing = self.framing.as_ref()?;
        framing.read(self.version, self.start as u8, octets)
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

    /// Shows a whole Request to the table, and keeps what it refers to.
    #[inline]
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
