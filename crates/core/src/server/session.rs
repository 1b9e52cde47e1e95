//! Session of a connection: its knowledge of the client, and whether the connection continues.

use std::sync::{Arc, Weak};

use oxorb_cdr::Dialect;
use oxorb_giop::{Answer, Incoming, MessageType, Request, Violation, Wire};
use oxorb_object::{
    CodeSetContext, CommunicationClass, CompletionStatus, Qos, ServiceContexts, SystemException,
};
use oxorb_transport::Link;

use super::Sink;
use super::connection::ConnectionShared;
use super::lane::Lane;
use super::serving_context::ServingContext;
use crate::error::raise;

/// Knowledge of a connection about its client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Session {
    text: Incoming,
    /// Whether this side opened the connection and offered it for requests.
    pub(crate) opened_here: bool,
    /// Whether an offer of the client to accept requests was refused, and the refusal reported.
    pub(crate) refused: bool,
    /// Whether the connection is a message stream, whose requests run one after another in the order of
    /// arrival.
    pub(super) in_order: bool,
}

/// Connection whose message is served, and the thread that serves it.
pub(crate) struct Caller<'c> {
    pub(crate) link: &'c Arc<dyn Link>,
    pub(crate) common: &'c ConnectionShared,
    pub(crate) session: &'c mut Session,
    pub(super) context: &'c ServingContext,
}

/// Continuation of a connection after a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionStep {
    Message,
    Close,
    /// The inbox still announces the message, because no thread may serve it yet.
    Held,
    /// A reply to a call of this side.
    Reply,
    /// The peer ends the connection with a message of this type.
    Over(MessageType),
}

/// Answers octets that are not a message of the protocol, if the protocol has a message for that.
pub(crate) fn refuse(violation: &Violation, wire: Wire, sink: &mut Sink) {
    if violation.answer() == Answer::MessageError
        && let Some(error) = wire.error()
    {
        sink.send_octets(&error);
    }
}

/// Reports whether a request belongs to a message stream.
pub(super) fn is_stream(contexts: &ServiceContexts<'_>) -> bool {
    Qos::of(contexts).is_some_and(|qos| qos.class == CommunicationClass::MessageStream)
}

impl Session {
    /// Returns the session of a connection with these rules for text until others are negotiated.
    #[cold]
    pub(super) fn speaking(dialect: Dialect) -> Session {
        Session { text: Incoming::of(dialect), ..Session::default() }
    }

    /// Returns the session of a connection that this side opened, and over which requests may
    /// arrive.
    pub(super) fn of_our_own() -> Session {
        Session { opened_here: true, ..Session::default() }
    }
}

impl Caller<'_> {
    /// Returns the lane that the connection returns to when it is silent, and its number there.
    pub(crate) fn lane(&self) -> Option<(Weak<Lane>, u64)> {
        self.context.lane()
    }

    /// Reports whether the client has cancelled a request that waited for its thread.
    #[inline]
    pub(super) fn has_cancelled(&self, id: u32) -> bool {
        let waited = self.context.detached.get();
        waited && (self.common.status.turn()).is_some_and(|turn| turn.was_cancelled(id))
    }

    /// Replaces the session for every thread that reads the connection.
    pub(crate) fn set_session(&mut self, session: Session) {
        *self.session = session;
        *self.common.status.session.lock() = session;
    }

    /// Makes the requests of a message stream run in order, from the first one on.
    pub(super) fn keep_order(&mut self, contexts: &ServiceContexts<'_>) {
        if !self.session.in_order && is_stream(contexts) {
            self.set_session(Session { in_order: true, ..*self.session });
        }
    }

    /// Returns the encoding of text in this request, as negotiated by the client in this or an
    /// earlier request of the connection.
    // This function is inlined, because one of its two callers runs for each request.
    #[inline(always)]
    pub(super) fn dialect(
        &mut self,
        request: &Request<'_>,
        giop_minor: u8,
    ) -> Result<Dialect, SystemException> {
        if !request.contexts.is_empty() {
            self.hear(&request.contexts, giop_minor)?;
        }
        self.session.text.dialect(giop_minor)
    }

    /// Follows the announcement of code sets among the contexts of a request, if there is one.
    fn hear(
        &mut self,
        contexts: &ServiceContexts<'_>,
        giop_minor: u8,
    ) -> Result<(), SystemException> {
        let Some(context) = contexts.find(oxorb_object::context_id::CODE_SETS) else {
            return Ok(());
        };
        let said = CodeSetContext::parse(context.data)
            .map_err(|violation| violation.to_exception(CompletionStatus::No))?;
        let text = self.session.text.hear(said, giop_minor);
        let text = text.map_err(|_| raise::CODE_SETS_CHANGED)?;
        if text != self.session.text {
            self.set_session(Session { text, ..*self.session });
        }
        Ok(())
    }
}
