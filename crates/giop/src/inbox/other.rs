//! Messages of other protocols than GIOP.

use std::sync::Arc;

use crate::{Frame, FrameContext, Header, Limits, Messaging, Table, Violation, Wire};

/// What an inbox holds for a protocol other than GIOP.
pub(super) struct Other {
    messaging: &'static dyn Messaging,
    /// Context of messages that refer to nothing.
    alone: Arc<FrameContext>,
    /// Context of the announced message.
    announced: Arc<FrameContext>,
    table: Option<Box<dyn Table>>,
}

impl Other {
    /// Returns what an inbox holds for `wire`; nothing for GIOP.
    pub(super) fn of(wire: Wire, limits: &Limits) -> Option<Box<Self>> {
        let messaging = wire.messaging()?;
        let alone = Arc::new(FrameContext::new(messaging));
        Some(Box::new(Self {
            messaging,
            announced: Arc::clone(&alone),
            alone,
            table: messaging.table(limits),
        }))
    }

    pub(super) fn messaging(&self) -> &'static dyn Messaging {
        self.messaging
    }

    /// Reads the header at the start of these octets, once enough of them are there.
    pub(super) fn header(&self, octets: &[u8]) -> Option<Result<Header, Violation>> {
        Some(self.messaging.header(octets.get(..self.messaging.start())?))
    }

    /// Shows a whole message to the table, and keeps what it refers to.
    pub(super) fn arrived(&mut self, header: Header, bytes: &[u8]) -> Result<(), Violation> {
        let Some(table) = &mut self.table else {
            return Ok(());
        };
        let frame = Frame {
            header,
            bytes,
            context: Some(&self.alone),
        };
        let known = table.arrived(&frame)?;
        self.announced = known.unwrap_or_else(|| Arc::clone(&self.alone));
        Ok(())
    }

    /// Context of the announced message.
    pub(super) fn announced(&self) -> &Arc<FrameContext> {
        &self.announced
    }

    /// Context of a message that is only looked at.
    pub(super) fn alone(&self) -> &Arc<FrameContext> {
        &self.alone
    }

    /// Makes `to` that of an inbox which holds the announced message only.
    pub(super) fn split_to(&self, to: &mut Option<Box<Self>>) {
        let (alone, announced) = (Arc::clone(&self.alone), Arc::clone(&self.announced));
        let split = Self {
            messaging: self.messaging,
            alone,
            announced,
            table: None,
        };
        match to {
            Some(to) => **to = split,
            None => *to = Some(Box::new(split)),
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.table.as_ref().map_or(0, |table| table.memory())
    }
}
