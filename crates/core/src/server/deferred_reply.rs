//! Path of the later answer to one request.

use std::sync::Arc;

use oxorb_giop::Wire;
use oxorb_transport::Link;

use super::Sink;
use super::client::Client;
use super::connection::ConnectionShared;
use super::side::ServerSide;
use crate::conn::{CollocatedReply, ConnectionEnd, Mailbox, ReplyForwarder, Turn};

/// Destination of a later answer.
pub(crate) enum DeferredReply {
    Link(OverLink),
    Mailbox(Arc<Mailbox>),
}

/// Share of the connection of a request. While it exists the connection is not closed in order, so that neither client
/// nor shutdown abandons the answer.
pub(crate) struct OverLink {
    pub(super) side: Arc<ServerSide>,
    /// Number of the connection in the registry.
    pub(super) connection: u64,
    /// Id of the request.
    pub(super) request: u32,
    /// Wire format of the request.
    pub(super) wire: Wire,
    pub(super) link: Arc<dyn Link>,
    pub(super) common: ConnectionShared,
    pub(super) turn: Arc<Turn>,
    /// Client among whose running requests the request counts.
    pub(super) counted: Option<Arc<Client>>,
}

impl DeferredReply {
    /// Returns a sink for the answer, which [`end`](Self::end) delivers.
    pub(crate) fn sink(&self) -> Sink {
        match self {
            DeferredReply::Link(way) => {
                let sink = Sink::to_shared(Arc::clone(&way.link), Arc::clone(&way.turn));
                sink.of(&way.common.status)
            }
            DeferredReply::Mailbox(_) => Sink::to_memory(Vec::new()),
        }
    }

    /// Delivers the answer in `sink`, which this deferred reply returned.
    pub(crate) fn end(self, sink: Sink) {
        match self {
            DeferredReply::Link(way) if sink.broken() => way.link.close(),
            DeferredReply::Link(_) => {}
            DeferredReply::Mailbox(mailbox) => {
                if let CollocatedReply::Reply(message) = sink.into_memory() {
                    mailbox.deliver(message);
                }
            }
        }
    }

    /// Sends an answer that was encoded elsewhere.
    fn deliver(self, message: Vec<u8>) {
        let mut sink = self.sink();
        sink.send_whole(message);
        self.end(sink);
    }

    /// Reports whether the answer is no longer awaited.
    pub(crate) fn is_cancelled(&self) -> bool {
        match self {
            DeferredReply::Link(way) => way.turn.is_cancelled(way.request),
            DeferredReply::Mailbox(mailbox) => mailbox.is_closed(),
        }
    }
}

impl ReplyForwarder for DeferredReply {
    fn deliver(self: Box<Self>, message: Vec<u8>) {
        DeferredReply::deliver(*self, message);
    }

    fn is_cancelled(&self) -> bool {
        DeferredReply::is_cancelled(self)
    }
}

impl Drop for OverLink {
    fn drop(&mut self) {
        self.turn.finish(self.request);
        if let Some(client) = &self.counted {
            client.end();
        }
        let registry = &self.side.registry;
        let status = &self.common.status;
        if !registry.leave_answered(status) {
            return;
        }
        // The connection has already ended, and only this answer kept it open.
        if self.side.is_closing() || status.was_told_to_end() {
            let mut sink = Sink::to_shared(Arc::clone(&self.link), Arc::clone(&self.turn));
            sink.part(self.wire);
        }
        if let Some(calls) = status.calls() {
            calls.end(ConnectionEnd::Here);
        }
        self.link.close();
        registry.remove(self.connection);
    }
}
