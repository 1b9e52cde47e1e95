//! Event channels, whose events clients receive.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use hyper::body::Bytes;
use oxorb::Orb;
use oxorb_dynamic::Dynamic;
use oxorb_dynamic::json::Shared;
use oxorb_sys::sync::Mutex;
use serde_json::json;

use super::event_filter::{Candidate, EventFilter, Kind, Received};
use super::event_source::Connection;
use super::history::{EventId, History, Kept};
use super::limits::{EVENTS_OCTETS, LINGER, LimitArgs};
use super::listener::{Listener, Queue, message, queue};
use super::problem::Problem;
use crate::types::{Known, Source};

/// Time between two checks of a connection to a channel.
const LOOK: Duration = Duration::from_millis(500);

/// Time between two checks of whether a thread has ended.
const WAIT: Duration = Duration::from_millis(10);

/// Number of checks between two calls that ask whether the connection still exists.
const CALLS_BETWEEN: u32 = 10;

/// Event channel, and the clients that receive its events. The gateway is connected to the channel as long as it has
/// clients for it, and for some time longer.
pub(super) struct Channel {
    pub(super) kind: Kind,
    reference: String,
    orb: Orb,
    source: Arc<Source>,
    state: Mutex<State>,
}

struct State {
    listeners: Vec<FilteredListener>,
    history: History,
    connection: Option<Connection>,
    /// Time since which there is no client.
    left: Option<Instant>,
    /// Whether a thread looks after the connection.
    is_kept: bool,
    /// Number of threads that look after connections or end them.
    keepers: usize,
    /// Whether the gateway ends.
    is_closed: bool,
    /// Reason for the loss of the connection, once clients were told.
    lost: Option<String>,
}

/// Client of a channel.
struct FilteredListener {
    listener: Listener,
    filter: EventFilter,
}

/// Events that a client wants to receive.
pub(super) struct Subscription<'t> {
    pub(super) filter: EventFilter,
    /// Id of the last event that the client has received.
    pub(super) last: Option<&'t str>,
}

/// Events that a client has missed.
struct Missed {
    /// Events that pass its filter.
    events: Vec<Arc<Kept>>,
    /// Id of the last event to which the filter was applied.
    until: EventId,
}

impl Channel {
    /// Creates a channel without a connection.
    pub(super) fn new(
        kind: Kind,
        reference: &str,
        orb: &Orb,
        source: &Arc<Source>,
        limits: &LimitArgs,
    ) -> Arc<Channel> {
        let state = State {
            listeners: Vec::new(),
            history: History::new(limits.events_history(), limits.max_history()),
            connection: None,
            left: None,
            is_kept: false,
            keepers: 0,
            is_closed: false,
            lost: None,
        };
        Arc::new(Channel {
            kind,
            reference: reference.to_owned(),
            orb: orb.clone(),
            source: Arc::clone(source),
            state: Mutex::new(state),
        })
    }

    /// Adds a client. The first one starts the thread that connects to the channel. If the client names an event, its
    /// filter is applied to the events that it may have missed, which takes time.
    ///
    /// # Errors
    /// The gateway ends, or has no thread.
    pub(super) fn listen(
        self: &Arc<Self>,
        length: usize,
        wanted: Subscription<'_>,
    ) -> Result<Queue, Problem> {
        let unavailable = |why: &str| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why);
        let missed = wanted.last.map(|last| self.missed(last, &wanted.filter));
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(unavailable("the gateway is shutting down"));
        }
        let missed = missed.map(|found| found.and_then(|found| state.later(found, &wanted.filter)));
        let replayed = missed.iter().flatten().flatten();
        let octets: usize = replayed.clone().map(|kept| kept.message.len()).sum();
        // Two messages about the connection precede the events.
        let (listener, queue) =
            queue(length + replayed.clone().count() + 2, EVENTS_OCTETS + octets);
        match (&state.connection, &state.lost) {
            (Some(_), _) => listener.send(&connected()),
            (None, Some(reason)) => listener.send(&lost(reason)),
            (None, None) => {}
        }
        if matches!(missed, Some(None)) {
            listener.send(&gone());
        }
        replayed.for_each(|kept| listener.send(&kept.message));
        if !state.is_kept {
            let channel = Arc::clone(self);
            let keeper = std::thread::Builder::new().name("oxorb-http-event".to_owned());
            let started = keeper.spawn(move || {
                channel.keep();
                channel.state.lock().keepers -= 1;
            });
            started.map_err(|_| unavailable("no thread could be started"))?;
            state.is_kept = true;
            state.keepers += 1;
        }
        state.listeners.push(FilteredListener { listener, filter: wanted.filter });
        Ok(queue)
    }

    /// Returns the events after an id that pass a filter; `None` if one that could pass is no longer kept. Applies the
    /// filter without the lock, for which events and other clients wait.
    fn missed(&self, last: &str, filter: &EventFilter) -> Option<Missed> {
        let (mut events, until) = {
            let state = self.state.lock();
            let after = state.history.after(EventId::parse(last)?)?;
            (after.cloned().collect::<Vec<_>>(), state.history.last())
        };
        events.retain(|kept| filter.passes(&Candidate::new(&kept.event)));
        Some(Missed { events, until })
    }

    /// Ends the streams of all clients. The thread that looks after the connection then disconnects from the channel.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.listeners.clear();
    }

    /// Waits until the gateway is disconnected from the channel, but not beyond `end`.
    pub(super) fn wait(&self, end: Instant) {
        while self.state.lock().keepers > 0 && Instant::now() < end {
            std::thread::sleep(WAIT);
        }
    }

    /// Connects, and reconnects after failures, until no client is left.
    fn keep(self: &Arc<Self>) {
        let mut looks: u32 = 0;
        while let Some(connection) = self.connection() {
            looks = looks.wrapping_add(1);
            match connection {
                None => match self.connect() {
                    Ok(connection) => self.connected(connection),
                    Err(why) => self.lost(&why),
                },
                Some(connection) if looks.is_multiple_of(CALLS_BETWEEN) => {
                    if !connection.exists() {
                        self.lost("the event channel no longer has this gateway as a consumer");
                    }
                }
                Some(_) => {}
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Returns the connection to look after, or `Some(None)` if one is needed. If no client is left for some time,
    /// disconnects and returns `None`.
    fn connection(&self) -> Option<Option<Connection>> {
        let connection = {
            let mut state = self.state.lock();
            if state.is_needed() {
                return Some(state.connection.clone());
            }
            state.is_kept = false;
            state.lost = None;
            state.left = None;
            state.history.restart();
            state.connection.take()
        };
        if let Some(connection) = connection {
            connection.end(&self.orb);
        }
        None
    }

    fn connect(self: &Arc<Self>) -> Result<Connection, String> {
        // Events can arrive before the call that connects the consumer returns.
        self.state.lock().history.restart();
        Connection::open(self.kind, &self.orb, &self.reference, Arc::downgrade(self))
    }

    fn connected(&self, connection: Connection) {
        let unused = {
            let mut state = self.state.lock();
            match state.is_closed {
                true => Some(connection),
                false => {
                    state.lost = None;
                    state.tell(&connected());
                    state.connection.replace(connection)
                }
            }
        };
        if let Some(connection) = unused {
            connection.end(&self.orb);
        }
    }

    /// Removes the connection after its loss. Clients are notified at most once.
    pub(super) fn lost(&self, reason: &str) {
        let mut state = self.state.lock();
        let connection = state.connection.take();
        if state.lost.is_none() {
            state.lost = Some(reason.to_owned());
            state.tell(&lost(reason));
        }
        state.history.restart();
        drop(state);
        if let Some(connection) = connection {
            connection.forget(&self.orb);
        }
    }

    /// Sends an event to all clients whose filters it passes.
    pub(super) fn spread(&self, event: Received) {
        let lines = self.lines(&event);
        let mut state = self.state.lock();
        let kept = state.history.add(event, |id| format!("id: {id}\n{lines}\n").into());
        let candidate = Candidate::new(&kept.event);
        for client in &state.listeners {
            if client.filter.passes(&candidate) {
                client.listener.send(&kept.message);
            }
        }
    }

    /// Returns the lines of an event, without its id.
    fn lines(&self, event: &Received) -> String {
        let value = Dynamic::Any(event.value().clone());
        let known = Known { source: &self.source, orb: &self.orb, defaults: false };
        let shared = Shared::new([&value]).with_names(&known);
        // The text contains no line break, which would end the message.
        let json = match serde_json::to_string(&shared.json(&value)) {
            Ok(json) => json,
            Err(error) => {
                let reason = json!({ "reason": error.to_string() });
                return format!("event: unreadable\ndata: {reason}\n");
            }
        };
        match event {
            Received::Untyped(_) => format!("data: {json}\n"),
            Received::Realtime { event_type, source, payload, .. } => format!(
                "data: {{\"type\":{event_type},\"source\":{source},\"payload_octets\":{payload},\"value\":{json}}}\n"
            ),
        }
    }
}

impl State {
    fn tell(&self, message: &Bytes) {
        self.listeners.iter().for_each(|client| client.listener.send(message));
    }

    /// Reports whether the connection to the channel is needed: a client is connected, or has left recently and may
    /// name the last event that it has received when it returns.
    fn is_needed(&mut self) -> bool {
        self.listeners.retain(|client| !client.listener.has_left());
        if self.is_closed {
            return false;
        }
        if !self.listeners.is_empty() {
            self.left = None;
            return true;
        }
        let left = *self.left.get_or_insert_with(Instant::now);
        self.connection.is_some() && self.history.keeps() && left.elapsed() < LINGER
    }

    /// Adds the events that have arrived since others were found; `None` if one of them is no longer kept.
    fn later(&self, found: Missed, filter: &EventFilter) -> Option<Vec<Arc<Kept>>> {
        let Missed { mut events, until } = found;
        let after = self.history.after(until)?;
        events.extend(after.filter(|kept| filter.passes(&Candidate::new(&kept.event))).cloned());
        Some(events)
    }
}

fn connected() -> Bytes {
    message("connected", &json!({}))
}

fn lost(reason: &str) -> Bytes {
    message("lost", &json!({ "reason": reason }))
}

fn gone() -> Bytes {
    message("gone", &json!({ "reason": "events after this Last-Event-ID are no longer kept" }))
}
