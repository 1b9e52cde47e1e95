//! Event channels of the OMG's Event and Notification Services, whose events clients receive.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use hyper::body::Bytes;
use oxorb::{Any, Interface as _, Orb, SystemException};
use oxorb_dynamic::Dynamic;
use oxorb_dynamic::json::Shared;
use oxorb_notify::cos_event_channel_admin::{EventChannelRef, ProxyPushSupplierRef};
use oxorb_notify::cos_event_comm::push_consumer::PushError;
use oxorb_notify::cos_event_comm::{PushConsumer, PushConsumerRef};
use oxorb_sys::sync::Mutex;
use serde_json::json;

use super::listener::{Listener, Queue, message, queue};
use super::problem::{Problem, without_note};
use crate::types::{Known, Source};

/// Time between two checks of a connection to a channel.
const LOOK: Duration = Duration::from_millis(500);

/// Time between two checks of whether a thread has ended.
const WAIT: Duration = Duration::from_millis(10);

/// Number of checks between two calls that ask whether the connection still exists.
const CALLS_BETWEEN: u32 = 10;

/// Event channel, and the clients that receive its events. The gateway is connected to the channel as long as it has
/// clients for it.
pub(super) struct Channel {
    reference: String,
    orb: Orb,
    source: Arc<Source>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    listeners: Vec<Listener>,
    connection: Option<Connection>,
    /// Whether a thread looks after the connection.
    is_kept: bool,
    /// Number of threads that look after connections or end them.
    keepers: usize,
    /// Whether the gateway ends.
    is_closed: bool,
    /// Reason for the loss of the connection, once clients were told.
    lost: Option<String>,
}

/// Connection to a channel.
struct Connection {
    proxy: ProxyPushSupplierRef,
    consumer: PushConsumerRef,
}

impl Channel {
    /// Creates a channel without a connection.
    pub(super) fn new(reference: &str, orb: &Orb, source: &Arc<Source>) -> Arc<Channel> {
        Arc::new(Channel {
            reference: reference.to_owned(),
            orb: orb.clone(),
            source: Arc::clone(source),
            state: Mutex::default(),
        })
    }

    /// Adds a client. The first one starts the thread that connects to the channel.
    ///
    /// # Errors
    /// The gateway ends, or has no thread.
    pub(super) fn listen(self: &Arc<Self>, length: usize) -> Result<Queue, Problem> {
        let unavailable = |why: &str| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why);
        let (listener, queue) = queue(length);
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(unavailable("the gateway ends"));
        }
        match (&state.connection, &state.lost) {
            (Some(_), _) => listener.send(&connected()),
            (None, Some(reason)) => listener.send(&lost(reason)),
            (None, None) => {}
        }
        if !state.is_kept {
            let channel = Arc::clone(self);
            let keeper = std::thread::Builder::new().name("oxorb-http-event".to_owned());
            let started = keeper.spawn(move || {
                channel.keep();
                channel.state.lock().keepers -= 1;
            });
            started.map_err(|_| unavailable("no thread can be started"))?;
            state.is_kept = true;
            state.keepers += 1;
        }
        state.listeners.push(listener);
        Ok(queue)
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
        while let Some(proxy) = self.proxy() {
            looks = looks.wrapping_add(1);
            match proxy {
                None => match self.connect() {
                    Ok(connection) => self.connected(connection),
                    Err(why) => self.lost(&why),
                },
                Some(proxy) if looks.is_multiple_of(CALLS_BETWEEN) => {
                    if !matches!(proxy.reference().non_existent(), Ok(false)) {
                        self.lost("the event channel does not know this gateway any more");
                    }
                }
                Some(_) => {}
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Returns the connection to look after, or `Some(None)` if one is needed. If no client is left, disconnects and
    /// returns `None`.
    fn proxy(&self) -> Option<Option<ProxyPushSupplierRef>> {
        let connection = {
            let mut state = self.state.lock();
            state.listeners.retain(|listener| !listener.has_left());
            if !state.is_closed && !state.listeners.is_empty() {
                return Some(state.connection.as_ref().map(|connection| connection.proxy.clone()));
            }
            state.is_kept = false;
            state.lost = None;
            state.connection.take()
        };
        if let Some(connection) = connection {
            self.disconnect(&connection);
        }
        None
    }

    fn connect(self: &Arc<Self>) -> Result<Connection, String> {
        // The text of this error contains addresses behind the gateway.
        let unreachable = |_| "the event channel cannot be reached".to_owned();
        let nil = || "the event channel serves no consumers".to_owned();
        let failed = |why: SystemException| without_note(&why).to_string();
        let channel: EventChannelRef = self.orb.resolve(&self.reference).map_err(unreachable)?;
        let admin = channel.for_consumers().map_err(failed)?.ok_or_else(nil)?;
        let proxy = admin.obtain_push_supplier().map_err(failed)?.ok_or_else(nil)?;
        let consumer = self.orb.root_poa().activate(Consumer(Arc::downgrade(self)));
        let consumer: PushConsumerRef =
            consumer.map_err(|_| "the gateway cannot receive events".to_owned())?;
        let connection = Connection { proxy, consumer };
        match connection.proxy.connect_push_consumer(Some(&connection.consumer)) {
            Ok(()) => Ok(connection),
            Err(_) => {
                // The call may have timed out after the channel had connected the consumer.
                self.disconnect(&connection);
                Err("the event channel does not connect this gateway".to_owned())
            }
        }
    }

    fn disconnect(&self, connection: &Connection) {
        // The channel may no longer exist, and the consumer is inactive after the end of the ORB.
        let _ = connection.proxy.disconnect_push_supplier();
        let _ = self.orb.root_poa().deactivate(&connection.consumer);
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
            self.disconnect(&connection);
        }
    }

    /// Removes the connection after its loss. Clients are told at most once.
    fn lost(&self, reason: &str) {
        let mut state = self.state.lock();
        let connection = state.connection.take();
        if state.lost.is_none() {
            state.lost = Some(reason.to_owned());
            state.tell(&lost(reason));
        }
        drop(state);
        if let Some(connection) = connection {
            let _ = self.orb.root_poa().deactivate(&connection.consumer);
        }
    }

    /// Sends an event to all clients.
    fn spread(&self, event: &Any) {
        let data = self.data(event);
        self.state.lock().tell(&data);
    }

    fn data(&self, event: &Any) -> Bytes {
        let value = Dynamic::Any(event.clone());
        let known = Known { source: &self.source, orb: &self.orb, defaults: false };
        let shared = Shared::new([&value]).with_names(&known);
        match serde_json::to_string(&shared.json(&value)) {
            // The text contains no line break, which would end the message.
            Ok(json) => format!("data: {json}\n\n").into(),
            Err(error) => message("unreadable", &json!({ "reason": error.to_string() })),
        }
    }
}

impl State {
    fn tell(&self, message: &Bytes) {
        self.listeners.iter().for_each(|listener| listener.send(message));
    }
}

fn connected() -> Bytes {
    message("connected", &json!({}))
}

fn lost(reason: &str) -> Bytes {
    message("lost", &json!({ "reason": reason }))
}

/// Consumer of one connection to a channel.
struct Consumer(Weak<Channel>);

impl PushConsumer for Consumer {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        if let Some(channel) = self.0.upgrade() {
            channel.spread(data);
        }
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        if let Some(channel) = self.0.upgrade() {
            channel.lost("the event channel has disconnected this gateway");
        }
        Ok(())
    }
}
