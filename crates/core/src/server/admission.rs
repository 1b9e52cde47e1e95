//! Admission of requests whose replies are expected to be large: they run once the replies are affordable.
//!
//! A reply that exceeds its client's limit is lost, although its operation was run. Therefore an operation that sent
//! this client a large reply before reserves the octets in advance (`large_replies.rs`), and its request waits, up to
//! `ReplyWait`, while the client has not read earlier replies. Only a connection's own thread waits; a lane's threads
//! serve other clients, so lanes refuse such a request at once. Oneways, and operations with short replies, wait only
//! once unread replies reach the limit.

use oxorb_giop::{MessageType, Request, Response};

use super::connection::{Connection, PAUSE};
use super::connection_owner::ConnectionOwner;
use super::reply_memory::{self, Expected, ReplyMemory};
use super::session::SessionStep;
use crate::Incident;
use crate::error::raise;
use crate::shared::Shared;
use crate::threads::clock;
use crate::threads::sync::thread;

/// Result of an attempt to reserve for a request's reply.
enum Room {
    Found(Option<Expected>),
    /// The client has to read replies first.
    None,
}

impl Connection {
    /// Reserves for the reply to the request that the inbox announces, or waits for it. `Err` if the request was
    /// refused.
    #[cold]
    pub(super) fn admit(
        &mut self,
        shared: &Shared,
        owner: &ConnectionOwner,
    ) -> Result<(), SessionStep> {
        let mut since = None;
        loop {
            match self.seek(shared) {
                Room::Found(expected) => {
                    self.sink.expect(expected);
                    return Ok(());
                }
                Room::None => {}
            }
            let began = *since.get_or_insert_with(|| {
                let client = self.common.status.client.as_ref();
                let octets = client.map_or(0, |client| client.share.replies());
                let what = || format!("the client has not received replies of {octets} octets");
                shared.note(Incident::RepliesNotTaken, || self.link.peer(), what);
                clock::now()
            });
            let waits = matches!(owner, ConnectionOwner::Thread(_)) && !shared.is_closing();
            if !waits || clock::since(began) >= shared.options.reply_wait {
                let goes_on = self.refuse(shared, raise::TOO_MANY_REPLIES);
                return Err(if goes_on { SessionStep::Message } else { SessionStep::Close });
            }
            thread::sleep(PAUSE);
        }
    }

    fn seek(&self, shared: &Shared) -> Room {
        let Some(client) = &self.common.status.client else {
            return Room::Found(None);
        };
        let frame = self.inbox.frame();
        if frame.header.kind != MessageType::REQUEST {
            return Room::Found(None);
        }
        // A malformed request is reported by the thread that runs it.
        let Ok(request) = Request::parse(&frame) else {
            return Room::Found(None);
        };
        if request.response == Response::None {
            return Room::Found(None);
        }
        let operation = reply_memory::operation(&request);
        let octets = client.share.large.expected(operation);
        let limit = shared.options.max_reply_octets_per_client;
        if octets == 0 {
            return match limit.is_some_and(|limit| client.share.replies() >= limit) {
                true => Room::None,
                false => Room::Found(None),
            };
        }
        match ReplyMemory::expect(client, octets, &shared.options) {
            None => Room::None,
            memory => Room::Found(Some(Expected::new(client, operation, memory))),
        }
    }
}
