//! Requests whose replies are known to be large run once there is room for those.
//!
//! A reply that is made and finds no room is lost, though its operation was run. So an operation that answered this
//! client at length before takes its room ahead (`large_replies.rs`), and its request waits, at most `ReplyWait`, where
//! the client has not taken earlier replies. Only the connection's own thread waits; a lane's threads serve other
//! clients, so that lanes refuse such a request at once. Oneways, and operations that answer briefly, never wait before
//! the replies under way fill all that replies may take.

use std::sync::Arc;

use oxorb_giop::{MessageType, Request, Response};

use super::client::Client;
use super::connection::{Connection, PAUSE};
use super::home::Home;
use super::large_replies;
use super::owed::{self, Owed};
use super::session::Next;
use crate::clock;
use crate::shared::Shared;
use crate::sync::thread;
use crate::{Incident, raise};

/// Room for the large reply of one request.
pub(super) struct Expected {
    client: Arc<Client>,
    /// Operation as [`large_replies::hash`] names it.
    operation: u32,
    owed: Option<Owed>,
}

impl Expected {
    /// The reply is there. Gives up the room, for whoever sends it.
    pub(super) fn came(mut self, octets: usize) -> Option<Owed> {
        owed::remember(&self.client, self.operation, octets);
        self.owed.take()
    }
}

impl Drop for Expected {
    /// Notes that there was no large reply: the next one of the operation may be smaller, too.
    fn drop(&mut self) {
        if self.owed.is_some() {
            owed::remember(&self.client, self.operation, 0);
        }
    }
}

/// Room that a request needs before it is run.
enum Room {
    Found(Option<Expected>),
    /// The client has to take replies first.
    None,
}

impl Connection {
    /// Finds room for the reply to the request that the inbox announces, or waits for it. `Err`: it was refused.
    #[cold]
    pub(super) fn admit(&mut self, shared: &Shared, home: &Home) -> Result<(), Next> {
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
                let client = self.lines.status.client.as_ref();
                let octets = client.map_or(0, |client| client.share.replies());
                let what = || format!("replies of {octets} octets are not taken");
                shared.note(Incident::RepliesNotTaken, || self.link.peer(), what);
                clock::now()
            });
            let waits = matches!(home, Home::Thread(_)) && !shared.is_closing();
            if !waits || clock::since(began) >= shared.options.reply_wait {
                let goes_on = self.refuse(&shared.options, raise::TOO_MANY_REPLIES);
                return Err(if goes_on { Next::Message } else { Next::Close });
            }
            thread::sleep(PAUSE);
        }
    }

    fn seek(&self, shared: &Shared) -> Room {
        let Some(client) = &self.lines.status.client else {
            return Room::Found(None);
        };
        let frame = self.inbox.frame();
        if frame.header.kind != MessageType::REQUEST {
            return Room::Found(None);
        }
        // What is wrong with it is told by who runs it.
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
        match Owed::expect(client, octets, &shared.options) {
            None => Room::None,
            owed => Room::Found(Some(Expected { client: Arc::clone(client), operation, owed })),
        }
    }
}

/// Hash of what a request calls.
pub(super) fn hash(request: &Request<'_>) -> u32 {
    let key = request.target.object_key().unwrap_or_default();
    large_replies::hash(key, request.operation.as_bytes())
}
