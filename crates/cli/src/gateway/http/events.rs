//! Event channels, whose events clients receive.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use hyper::body::Bytes;
use oxorb::Orb;
use oxorb_dynamic::Dynamic;
use oxorb_dynamic::json::Shared;
use oxorb_sys::sync::{Mutex, MutexGuard};
use serde_json::json;

use super::event_filter::{CLIENT_WORK, Candidate, Decision, EventFilter, Kind, Received};
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

/// Maximum number of times at which a client that returns is given the events that have arrived while its filter was
/// applied to those before them.
const MOST_ROUNDS: usize = 8;

/// Number of checks between two calls that ask whether the connection still exists.
const CALLS_BETWEEN: u32 = 10;

/// Event channel, and the clients that receive its events. The gateway is connected to the channel as long as it has
/// clients for it, and for some time longer.
pub(super) struct Channel {
    pub(super) kind: Kind,
    reference: String,
    orb: Orb,
    source: Arc<Source>,
    /// Lock of the thread that passes an event on, so that every client receives events in their order. Filters are
    /// applied under this lock, so that nothing else may wait for it.
    order: Mutex<()>,
    state: Mutex<State>,
}

struct State {
    /// Clients of the channel. A change replaces all, so that filters are applied without the lock.
    listeners: Arc<[Arc<FilteredListener>]>,
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
    /// Address that stands for the client.
    client: IpAddr,
    listener: Listener,
    filter: EventFilter,
}

/// Events that a client wants to receive.
pub(super) struct Subscription<'t> {
    /// Address that [stands for the client](super::peers::client).
    pub(super) client: IpAddr,
    pub(super) filter: EventFilter,
    /// Id of the last event that the client has received.
    pub(super) last: Option<&'t str>,
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
            listeners: Arc::default(),
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
            order: Mutex::default(),
            state: Mutex::new(state),
        })
    }

    /// Adds a client. The first one starts the thread that connects to the channel. If the client names an event, its
    /// filter is applied to the events that it may have missed, which takes time. May wait for a lock.
    ///
    /// # Errors
    /// The gateway ends, or has no thread.
    pub(super) fn listen(
        self: &Arc<Self>,
        length: usize,
        wanted: Subscription<'_>,
    ) -> Result<Queue, Problem> {
        let unavailable = |why: &str| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why);
        let (mut state, missed) = match wanted.last {
            None => (self.state.lock(), None),
            Some(last) => {
                let (state, missed) = self.missed(last, &wanted.filter);
                (state, Some(missed))
            }
        };
        if state.is_closed {
            return Err(unavailable("the gateway is shutting down"));
        }
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
        let Subscription { client, filter, .. } = wanted;
        let new = Arc::new(FilteredListener { client, listener, filter });
        state.listeners = state.listeners.iter().cloned().chain([new]).collect();
        Ok(queue)
    }

    /// Returns the events after an id that pass a filter, and the lock under which these are all; `None` if one that
    /// could pass is no longer kept, or if events arrive faster than the filter can be applied. Applies the filter
    /// without the lock, for which events and other clients wait.
    fn missed(
        &self,
        last: &str,
        filter: &EventFilter,
    ) -> (MutexGuard<'_, State>, Option<Vec<Arc<Kept>>>) {
        let mut last = EventId::parse(last);
        let mut found = Vec::new();
        for _ in 0..MOST_ROUNDS {
            let state = self.state.lock();
            let new: Option<Vec<Arc<Kept>>> =
                last.and_then(|last| Some(state.history.after(last)?.cloned().collect()));
            match new {
                None => return (state, None),
                Some(new) if new.is_empty() => return (state, Some(found)),
                Some(new) => {
                    last = Some(state.history.last());
                    drop(state);
                    let passes = |kept: &Arc<Kept>| filter.passes(&Candidate::new(&kept.event));
                    found.extend(new.into_iter().filter(passes));
                }
            }
        }
        (self.state.lock(), None)
    }

    /// Ends the streams of all clients. The thread that looks after the connection then disconnects from the channel.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.listeners = Arc::default();
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
        let _order = self.order.lock();
        let (kept, listeners) = {
            let mut state = self.state.lock();
            let kept = state.history.add(event, |id| format!("id: {id}\n{lines}\n").into());
            (kept, Arc::clone(&state.listeners))
        };
        distribute(&kept, &listeners, CLIENT_WORK);
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
        if self.listeners.iter().any(|client| client.listener.has_left()) {
            let stay = self.listeners.iter().filter(|client| !client.listener.has_left());
            self.listeners = stay.cloned().collect();
        }
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
}

/// Sends an event to the clients whose filters it passes. The filters of one client address may take `most` steps;
/// beyond them, the event is counted as dropped.
fn distribute(kept: &Kept, listeners: &[Arc<FilteredListener>], most: usize) {
    let candidate = Candidate::new(&kept.event);
    let mut work = HashMap::new();
    for FilteredListener { client, listener, filter } in listeners.iter().map(Arc::as_ref) {
        if listener.has_left() {
            continue;
        }
        match filter.decide(&candidate, work.entry(*client).or_insert(most)) {
            Decision::Passes => listener.send(&kept.message),
            Decision::Fails => {}
            Decision::Unknown => listener.miss(),
        }
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::task::{Context, Poll, Waker};

    use clap::Parser as _;
    use oxorb::{Any, Interface as _};

    use super::*;

    #[derive(clap::Parser)]
    struct Limits {
        #[command(flatten)]
        limits: LimitArgs,
    }

    fn next(queue: &mut Queue) -> Option<Bytes> {
        match queue.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(next) => next,
            Poll::Pending => None,
        }
    }

    fn filter(query: &str) -> EventFilter {
        let filter = EventFilter::parse(Some(query), Kind::Untyped);
        filter.unwrap_or_else(|problem| panic!("{problem:?}"))
    }

    #[test]
    fn filters_of_one_client_address_share_steps() {
        let kept = History::new(1, usize::MAX)
            .add(Received::Untyped(Any::new(7_i32)), |_| Bytes::from_static(b"seven"));
        let wanted = "filter=$%20%3E%205";
        let mut left = CLIENT_WORK;
        filter(wanted).decide(&Candidate::new(&kept.event), &mut left);
        let steps = CLIENT_WORK - left;
        let (mut listeners, mut queues) = (Vec::new(), Vec::new());
        for (client, query) in [(1, wanted), (1, wanted), (1, wanted), (1, ""), (2, wanted)] {
            let (listener, queue) = queue(10, EVENTS_OCTETS);
            let (client, filter) = (IpAddr::from([10, 0, 0, client]), filter(query));
            listeners.push(Arc::new(FilteredListener { client, listener, filter }));
            queues.push(queue);
        }
        distribute(&kept, &listeners, 2 * steps);
        let seven = Some(kept.message.clone());
        let first: Vec<_> = queues.iter_mut().map(next).collect();
        assert_eq!(first, [seven.clone(), seven.clone(), None, seven.clone(), seven.clone()]);
        // The client is told of the event that it may have missed.
        distribute(&kept, &listeners, CLIENT_WORK);
        assert!(next(&mut queues[2]).is_some_and(|told| told.starts_with(b"event: dropped")));
        assert_eq!(next(&mut queues[2]), seven);
    }

    #[test]
    fn a_client_is_added_while_filters_are_applied() {
        let limit = Duration::from_secs(60);
        let orb = Orb::builder().build().unwrap();
        let nobody = "corbaloc::127.0.0.1:1/Nobody";
        let repository = orb.string_to_object(nobody).unwrap().unchecked_narrow();
        let source = Arc::new(Source::Repository(repository));
        let limits = Limits::parse_from(["gateway"]).limits;
        let of = Channel::new(Kind::Untyped, nobody, &orb, &source, &limits);
        // As the thread that passes another event on.
        let order = of.order.lock();
        let spreading = Arc::clone(&of);
        let spread = std::thread::spawn(move || {
            spreading.spread(Received::Untyped(Any::new(7_i32)));
        });
        let (told, added) = channel();
        let joining = Arc::clone(&of);
        let join = std::thread::spawn(move || {
            let client = IpAddr::from([127, 0, 0, 1]);
            let wanted = Subscription { client, filter: EventFilter::All, last: None };
            told.send(joining.listen(10, wanted).ok()).unwrap();
        });
        let mut queue = added.recv_timeout(limit).expect("no lock is held").expect("a queue");
        drop(order);
        spread.join().unwrap();
        join.join().unwrap();
        let mut messages = std::iter::from_fn(|| next(&mut queue));
        assert!(messages.any(|message| message.starts_with(b"id: ")));
        of.close();
        of.wait(Instant::now() + limit);
        orb.shutdown(true).unwrap();
    }
}
