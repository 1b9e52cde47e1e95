//! Concurrent requests of one connection.
//!
//! The thread that reads a connection runs its requests. If a client sends more while one of them runs (from several
//! threads that share the connection, or by asynchronous calls), another thread reads and runs the further ones:
//!
//! | the client | what happens | what it costs |
//! |---|---|---|
//! | waits for each answer | nothing | two atomic accesses |
//! | has sent more, and its requests are short | they are run one after another | one copy of the request, two locks |
//! | has sent more, and they take longer | the connection is handed on before each is run | waking a thread |
//! | sends more while one runs | `watching.rs` has another thread read on, and from then on as above | waking a thread |
//!
//! At most `MaxRequestsPerConnection` requests run concurrently; then the connection is not read until one has ended.
//! Oneway requests begin in the order of arrival: the connection is handed on only while one runs, not before.

use std::sync::Arc;

use oxorb_giop::{Inbox, Message, Response};

use super::assign;
use super::connection::Connection;
use super::dispatch::dispatch;
use super::serve::is_upcall;
use super::serving_context::{ServedConnection, ServingContext};
use super::session::SessionStep;
use super::share::SMALL;
use crate::threads::clock;
use crate::{Options, Orb};

impl Connection {
    /// Runs a request as [`run`](Self::run) does, if more input has arrived or may arrive at any time, or if another
    /// thread has read the request.
    #[cold]
    pub(super) fn run_among_others(&mut self, orb: &Orb, context: &ServingContext) -> SessionStep {
        let frame = self.inbox.frame();
        let (kind, id) = (frame.header.kind, frame.request_id());
        if context.detached.get() {
            self.run_announced(orb, context);
            if let Some(turn) = self.common.status.turn() {
                turn.finish(id);
            }
            return SessionStep::Close;
        }
        if !is_upcall(kind) {
            return self.dispatch_announced(orb, context);
        }
        let waits = self.waits(orb, context);
        let status = Arc::clone(&self.common.status);
        let others = self.inbox.mid_message() || status.under_way() > 0;
        status.comes(others);
        if self.inbox.is_cancelled(id) {
            // A cancelled request is not run, so the connection need not be prepared for another thread.
            return self.dispatch_announced(orb, context);
        }
        let handed_on = waits && status.is_shared() && self.hand_on(orb, context, id);
        if !handed_on {
            let rest = self.split_off(context, orb.options());
            *status.behind.lock() = Some(rest);
            context.running.set(status.begins(id));
        }
        let began = clock::monotonic_nanoseconds();
        let next = self.run_announced(orb, context);
        if waits {
            status.took(clock::monotonic_nanoseconds().saturating_sub(began));
        }
        if !context.take_back(&status) {
            return self.finished(context, id);
        }
        let rest = status.behind.lock().take();
        if let Some(rest) = rest {
            let mut single = std::mem::replace(&mut self.inbox, rest);
            single.discard();
            // No client's share counts this inbox, so the thread keeps it only if it is small.
            let kept = Some(single).filter(|single| single.memory() <= SMALL);
            context.single.replace(kept);
        }
        next
    }

    /// Runs the request that the inbox announces.
    fn run_announced(&mut self, orb: &Orb, context: &ServingContext) -> SessionStep {
        let (caller, inbox, sink) = self.parts(context);
        let frame = inbox.frame();
        context.request.set(Some(frame.request_id()));
        let next = dispatch(orb, inbox, &frame, caller, sink);
        context.request_ended();
        next
    }

    /// Serves the message that the inbox announces, which runs no servant.
    fn dispatch_announced(&mut self, orb: &Orb, context: &ServingContext) -> SessionStep {
        let (caller, inbox, sink) = self.parts(context);
        dispatch(orb, inbox, &inbox.frame(), caller, sink)
    }

    /// Reports whether the client waits for the answer to the announced request, so that another of its requests may
    /// begin before.
    fn waits(&mut self, orb: &Orb, context: &ServingContext) -> bool {
        let (mut caller, inbox, _) = self.parts(context);
        let frame = inbox.frame();
        let Ok(Message::Request(request)) = frame.message() else {
            return false;
        };
        let Ok(key) = request.target.object_key() else {
            return false;
        };
        let answers = request.response != Response::None;
        let contexts = !request.contexts.is_empty();
        if answers && contexts {
            assign::see_to_connection(orb, &mut caller, &request, key);
        }
        answers
    }

    /// Leaves only the announced request in the inbox; returns the messages after it.
    fn split_off(&mut self, context: &ServingContext, options: &Options) -> Inbox {
        let spare = context.single.take();
        let mut single = spare.unwrap_or_else(|| Inbox::new(&options.limits));
        self.inbox.split_to(&mut single);
        std::mem::replace(&mut self.inbox, single)
    }

    /// Hands the connection to another thread for reading before the announced request is run.
    /// Returns false if no thread is free, if the request is too short, or if the limit of
    /// concurrent requests is reached.
    fn hand_on(&mut self, orb: &Orb, context: &ServingContext, request: u32) -> bool {
        let status = Arc::clone(&self.common.status);
        if self.session.in_order || status.is_short() || !status.may_go_beside(orb.options()) {
            return false;
        }
        let served = context.served.borrow();
        let Some(ServedConnection { owner, .. }) = served.as_ref() else {
            return false;
        };
        if !owner.reserve_thread(orb) {
            return false;
        }
        let rest = self.split_off(context, orb.options());
        status.share();
        status.goes_beside(request);
        let (link, common) = (Arc::clone(&self.link), self.common.clone());
        let connection = Connection::of(self.id, link, rest, self.session, common, false);
        context.handed_over.set(true);
        owner.hand_on(orb.server(), connection);
        true
    }
}
