//! Admission of requests whose replies are expected to be large: they run once the replies are affordable.
//!
//! A reply that exceeds its client's limit is lost, although its operation was run. Therefore an operation that sent
//! this client a large reply before reserves the octets in advance (`large_replies.rs`), and its request waits, up to
//! `ReplyWait`, while the client has not read earlier replies. Only a connection's own thread waits; a lane's threads
//! serve other clients, so lanes refuse such a request at once. Oneways, and operations with short replies, wait only
//! once unread replies reach the limit.

use std::sync::Arc;

use oxorb_giop::{MessageType, Request, Response};

use super::client::Client;
use super::connection::{Connection, PAUSE};
use super::connection_owner::ConnectionOwner;
use super::large_replies;
use super::reply_memory::{self, ReplyMemory};
use super::session::SessionStep;
use crate::Incident;
use crate::error::raise;
use crate::shared::Shared;
use crate::threads::clock;
use crate::threads::sync::thread;

/// Reservation for the large reply of one request.
pub(super) struct Expected {
    client: Arc<Client>,
    /// Operation, as a hash of [`large_replies::hash`].
    operation: u32,
    memory: Option<ReplyMemory>,
}

impl Expected {
    /// Records the size of the reply, and returns the reservation to the sender of the reply.
    pub(super) fn came(mut self, octets: usize) -> Option<ReplyMemory> {
        reply_memory::remember(&self.client, self.operation, octets);
        self.memory.take()
    }
}

impl Drop for Expected {
    /// Records that the reply was small, so that the next reply of the operation is expected to be smaller.
    fn drop(&mut self) {
        if self.memory.is_some() {
            reply_memory::remember(&self.client, self.operation, 0);
        }
    }
}

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
        let operation = hash(&request);
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
            memory => Room::Found(Some(Expected { client: Arc::clone(client), operation, memory })),
        }
    }
}

/// Returns a hash of the object key and operation of a request.
pub(super) fn hash(request: &Request<'_>) -> u32 {
    let key = request.target.object_key().unwrap_or_default();
    large_replies::hash(key, request.operation.as_bytes())
}
