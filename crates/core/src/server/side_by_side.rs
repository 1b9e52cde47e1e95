//! Requests of one connection, side by side.
//!
//! The thread that reads a connection runs its requests. Where a client sends more while one of them runs (several
//! threads that share the connection, asynchronous calls), another thread reads on, and runs what comes:
//!
//! | the client | what happens | what it costs |
//! |---|---|---|
//! | waits for each answer | nothing | two atomic accesses |
//! | has sent more, and its requests are short | they are run one after another | one copy of the request, two locks |
//! | has sent more, and they take longer | the connection is handed on before each is run | waking a thread |
//! | sends more while one runs | `takeover.rs` has another thread read on, and from then on as above | waking a thread |
//!
//! At most `MaxRequestsPerConnection` run so; then the connection is not read until one has ended. Oneway requests begin
//! in the order in which they came: the connection is handed on only while one runs, not before.

use std::sync::Arc;

use oxorb_giop::{Inbox, Message, MessageType, Response};

use super::connection::Connection;
use super::dispatch::{Next, dispatch};
use super::share::SMALL;
use super::stand_in::{Desk, UNPOISONED};
use super::status::Status;
use super::{Sink, assign};
use crate::Options;
use crate::Orb;

impl Desk {
    /// Serves the message that the inbox announces.
    #[inline(always)]
    pub(super) fn run(&self, orb: &Orb, status: &Status, sink: &mut Sink) -> Next {
        let inbox = self.inbox.borrow();
        let announced = inbox.as_ref().expect("a connection is being served");
        let frame = announced.frame();
        if announced.mid_message() || status.is_shared() || !is_upcall(frame.header.kind) {
            drop(inbox);
            return self.run_among_others(orb, status, sink);
        }
        if self.detached.get() {
            drop(inbox);
            return self.run_detached(orb, status, sink);
        }
        self.running.set(status.begins(frame.request_id()));
        let next = self.upcall(orb, announced, &frame, sink);
        match self.take_back(status) {
            true => next,
            false => self.finished(status, frame.request_id()),
        }
    }

    /// From now on nobody takes the connection over. Whether this thread still has it.
    #[inline]
    pub(super) fn take_back(&self, status: &Status) -> bool {
        match self.running.replace(0) {
            0 => !self.handed_over.get(),
            word if status.ends(word) => true,
            _ => {
                self.handed_over.set(true);
                false
            }
        }
    }

    #[cold]
    fn finished(&self, status: &Status, request: u32) -> Next {
        status.goes_no_more(request);
        self.needs_no_stand_in();
        Next::Close
    }

    /// A request that another thread has read.
    #[cold]
    fn run_detached(&self, orb: &Orb, status: &Status, sink: &mut Sink) -> Next {
        let inbox = self.inbox.borrow();
        let announced = inbox.as_ref().expect("a connection is being served");
        self.upcall(orb, announced, &announced.frame(), sink);
        if let (Some(id), Some(turn)) = (self.request_id(), status.turn()) {
            turn.finish(id);
        }
        Next::Close
    }

    /// Runs a request as [`run`](Self::run) does, where more has arrived or may at any time.
    #[cold]
    fn run_among_others(&self, orb: &Orb, status: &Status, sink: &mut Sink) -> Next {
        if self.detached.get() {
            return self.run_detached(orb, status, sink);
        }
        let (kind, id) = {
            let inbox = self.inbox();
            let frame = inbox.frame();
            (frame.header.kind, frame.request_id())
        };
        if !is_upcall(kind) {
            let inbox = self.inbox.borrow();
            let announced = inbox.as_ref().expect("a connection is being served");
            return dispatch(orb, announced, &announced.frame(), self, sink);
        }
        let waits = self.waits(orb);
        let others = self.inbox().mid_message() || status.under_way() > 0;
        status.comes(others);
        if self.inbox().is_cancelled(id) {
            // Whoever runs it looks at nothing but the request itself.
            let inbox = self.inbox.borrow();
            let announced = inbox.as_ref().expect("a connection is being served");
            return dispatch(orb, announced, &announced.frame(), self, sink);
        }
        let handed_on = waits && status.is_shared() && self.hand_on(orb, status, id);
        if !handed_on {
            let rest = self.split_off(orb.options());
            *status.behind.lock().expect(UNPOISONED) = rest;
            self.running.set(status.begins(id));
        }
        let began = oxorb_sys::clock::monotonic_nanoseconds();
        let next = {
            let inbox = self.inbox.borrow();
            let announced = inbox.as_ref().expect("a connection is being served");
            self.upcall(orb, announced, &announced.frame(), sink)
        };
        if waits {
            status.took(oxorb_sys::clock::monotonic_nanoseconds().saturating_sub(began));
        }
        if !self.take_back(status) {
            return self.finished(status, id);
        }
        let rest = status.behind.lock().expect(UNPOISONED).take();
        if rest.is_some() {
            let mut single = self.inbox.replace(rest);
            if let Some(single) = &mut single {
                single.discard();
            }
            // No client's: it stays with the thread.
            self.single
                .replace(single.filter(|single| single.memory() <= SMALL));
        }
        next
    }

    /// Whether the client waits for the answer to the request that is announced, so that another one of its may begin
    /// before.
    fn waits(&self, orb: &Orb) -> bool {
        let inbox = self.inbox();
        let Ok(Message::Request(request)) = inbox.frame().message() else {
            return false;
        };
        let Ok(key) = request.target.object_key() else {
            return false;
        };
        let answers = request.response != Response::None;
        let contexts = !request.contexts.is_empty();
        if answers && contexts {
            assign::see_to_connection(orb, self, &request, key);
        }
        answers
    }

    /// Leaves the request that is announced on the desk alone; gives what follows it.
    fn split_off(&self, options: &Options) -> Option<Inbox> {
        let spare = self.single.take();
        let mut single = spare.unwrap_or_else(|| Inbox::new(&options.limits));
        self.inbox().split_to(&mut single);
        self.inbox.replace(Some(single))
    }

    /// Has another thread read the connection before the request that is announced is run. False: nobody is there for
    /// that, or it would not be worth while, or as many run as may.
    fn hand_on(&self, orb: &Orb, status: &Status, request: u32) -> bool {
        if self.session().in_order || status.is_short() || !status.may_go_beside(orb.options()) {
            return false;
        }
        let served = self.served.borrow();
        let Some(served) = served.as_ref() else {
            return false;
        };
        if !served.home.reserve_thread(orb) {
            return false;
        }
        let rest = self
            .split_off(orb.options())
            .expect("a connection is being served");
        status.share();
        status.goes_beside(request);
        let connection = Connection::of(
            served.id,
            Arc::clone(&served.link),
            rest,
            self.session(),
            served.lines.clone(),
            false,
        );
        self.handed_over.set(true);
        served.home.hand_on(orb, connection);
        true
    }
}

/// Whether it makes an upcall.
#[inline]
fn is_upcall(kind: MessageType) -> bool {
    kind == MessageType::REQUEST || kind == MessageType::LOCATE_REQUEST
}
