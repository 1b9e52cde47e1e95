//! Gateway between a channel and a federation.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use oxorb_event::rtec_event_channel_admin::{ConsumerQos, Observer, SupplierQos};
use oxorb_event::{ConsumerConnection, EventChannel, Filter, Key, asks_for, publishes};
use zenoh::Wait;
use zenoh::pubsub::Subscriber;
use zenoh::query::{ConsolidationMode, QueryTarget, Queryable};

use crate::interest::Wanted;
use crate::receiving::Receiving;
use crate::sending::Sending;
use crate::statistics::Counters;
use crate::wire::Sender;
use crate::{Federation, FederationError, FederationOptions, FederationStatistics};

/// Gateway between a local channel and a federation. All channels whose gateways have the same prefix share their
/// events. Dropping the gateway leaves the federation.
///
/// The gateway is a consumer and a supplier of the channel, and does not receive its own events. Like other gateways,
/// it decrements the `ttl` of each event that it sends, and does not send events whose `ttl` is 0. Events in a circle
/// of gateways therefore end. A push costs its supplier one copy of the event and one lock; a thread of the gateway
/// passes the event to zenoh.
pub struct ZenohGateway {
    inner: Arc<Inner>,
    channel: EventChannel,
    observer: u32,
    thread: Option<JoinHandle<()>>,
    consumer: Option<ConsumerConnection>,
    queryable: Option<Queryable<()>>,
}

/// Parts of a gateway that its thread uses.
struct Inner {
    federation: Federation,
    options: FederationOptions,
    sending: Arc<Sending>,
    receiving: Arc<Receiving>,
    counters: Arc<Counters>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Changed subscriptions that the thread has not processed.
    wanted: Option<Wanted>,
    subscriptions: usize,
    stopped: bool,
}

/// Zenoh subscribers by key and key expression.
type Declared = BTreeMap<(Key, String), Subscriber<()>>;

/// Time after which a rejected declaration is retried.
const AGAIN: Duration = Duration::from_secs(1);

/// Minimum time between two queries for the last events.
const SOONEST: Duration = Duration::from_millis(10);

impl ZenohGateway {
    /// Joins a channel to a federation. Does not wait for other channels.
    ///
    /// # Errors
    /// [`FederationError`]: the channel refuses the gateway, a size is 0, the prefix is invalid, or a thread cannot be
    /// started.
    pub fn start(
        channel: &EventChannel,
        federation: &Federation,
        options: FederationOptions,
    ) -> Result<ZenohGateway, FederationError> {
        let session = federation.session();
        let sender = new_sender(federation);
        let counters = Arc::<Counters>::default();
        let all = publishes([(0, 0)]);
        let all = SupplierQos { is_gateway: true, ..all };
        let supplier = channel.connect_supplier(None, &all);
        let supplier = supplier.map_err(FederationError::Channel)?;
        let sending = Arc::new(Sending::start(session, sender, &options, &counters)?);
        let everything = ConsumerQos { is_gateway: true, ..asks_for(&Filter::ALL) };
        let consumer = channel.connect_consumer(sending.clone(), &everything);
        let consumer = consumer.map_err(FederationError::Channel)?;
        supplier.keep_from(&consumer);
        let receiving = Receiving::start(supplier, sender, &options, &counters)?;
        let inner = Arc::new(Inner {
            federation: federation.clone(),
            options,
            sending,
            receiving: Arc::new(receiving),
            counters,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let queryable = inner.declare_queryable()?;
        let observer = channel.append_observer(Arc::new(Watcher(Arc::clone(&inner))));
        let observer = observer.map_err(FederationError::Channel)?;
        let mut gateway = ZenohGateway {
            inner: Arc::clone(&inner),
            channel: channel.clone(),
            observer,
            thread: None,
            consumer: Some(consumer),
            queryable,
        };
        let builder = thread::Builder::new().name("event-federation".into());
        let thread = builder.spawn(move || inner.run());
        gateway.thread = Some(thread.map_err(FederationError::Thread)?);
        Ok(gateway)
    }

    /// Returns the statistics.
    pub fn statistics(&self) -> FederationStatistics {
        FederationStatistics {
            subscriptions: self.inner.lock().subscriptions,
            neighbours: self.inner.federation.neighbours(),
            sending: self.inner.sending.counts(),
            receiving: self.inner.receiving.counts(),
            ..self.inner.counters.read()
        }
    }
}

impl Drop for ZenohGateway {
    /// Sends waiting events for at most one second, and refuses further ones.
    fn drop(&mut self) {
        self.channel.remove_observer(self.observer);
        self.inner.lock().stopped = true;
        self.inner.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        drop(self.consumer.take());
        self.inner.sending.stop();
        drop(self.queryable.take());
        self.inner.receiving.stop();
    }
}

impl std::fmt::Debug for ZenohGateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ZenohGateway").field(&self.statistics()).finish()
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A poisoned lock can be used, because a panic under it leaves no partial change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn declare_queryable(&self) -> Result<Option<Queryable<()>>, FederationError> {
        let publishing = Arc::clone(self.sending.publishing());
        let name = format!("{}/**", self.options.prefix);
        let session = self.federation.session();
        if self.options.latest == 0 {
            // Without the queryable, nothing else would check the prefix before the gateway starts.
            let taken = zenoh::key_expr::KeyExpr::try_from(name);
            return taken.map(|_| None).map_err(refused);
        }
        let declared = session.declare_queryable(name);
        let declared = declared.callback(move |query| publishing.answer(&query));
        declared.wait().map(Some).map_err(refused)
    }

    /// Keeps zenoh's subscriptions equal to those of the consumers, until the gateway is dropped.
    fn run(&self) {
        let mut declared = Declared::new();
        // Subscriptions that must be retried because zenoh rejected a part of them.
        let mut again = None;
        loop {
            let limit = match (&again, self.options.latest) {
                (Some(_), _) => AGAIN,
                // Nothing is due, so wait for a change. The duration is arbitrary.
                (None, 0) => Duration::from_secs(3_600),
                (None, _) => self.options.refresh.max(SOONEST),
            };
            let idle = |state: &mut State| state.wanted.is_none() && !state.stopped;
            let waited = self.changed.wait_timeout_while(self.lock(), limit, idle);
            let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if state.stopped {
                return;
            }
            let wanted = state.wanted.take().or_else(|| again.take());
            drop(state);
            match wanted {
                Some(wanted) => again = self.subscribe(&mut declared, wanted),
                None if self.options.latest > 0 => {
                    declared.keys().for_each(|(key, name)| self.refresh(*key, name));
                }
                None => {}
            }
            self.lock().subscriptions = declared.len();
        }
    }

    /// Declares new subscriptions and undeclares those without consumers. Returns `wanted` if zenoh rejected a part of
    /// it.
    fn subscribe(&self, declared: &mut Declared, wanted: Wanted) -> Option<Wanted> {
        let expressions = wanted.expressions();
        self.receiving.set_wanted(wanted.clone());
        declared.retain(|one, _| expressions.contains(one));
        let mut complete = true;
        for (key, name) in expressions {
            if declared.contains_key(&(key, name.clone())) {
                continue;
            }
            let receiving = Arc::clone(&self.receiving);
            let expression = format!("{}/{name}", self.options.prefix);
            let subscriber = self.federation.session().declare_subscriber(expression);
            let subscriber = subscriber.callback(move |sample| receiving.take(key, &sample));
            let Ok(subscriber) = subscriber.wait() else {
                complete = false;
                continue;
            };
            if self.options.latest > 0 {
                self.refresh(key, &name);
            }
            declared.insert((key, name), subscriber);
        }
        (!complete).then_some(wanted)
    }

    /// Queries other gateways for the last events of topics. Replies that arrive after the time limit are lost until
    /// the next query.
    fn refresh(&self, key: Key, name: &str) {
        let receiving = Arc::clone(&self.receiving);
        let expression = format!("{}/{name}", self.options.prefix);
        let request = self.federation.session().get(expression);
        let request = request.target(QueryTarget::All).consolidation(ConsolidationMode::None);
        let request = request.timeout(self.options.refresh).callback(move |reply| {
            if let Ok(sample) = reply.result() {
                receiving.take(key, sample);
            }
        });
        // Ignore the error: the query fails only if the session is closed.
        let _ = request.wait();
    }
}

/// Observer that records the subscriptions of the channel's consumers.
struct Watcher(Arc<Inner>);

impl Observer for Watcher {
    fn update_consumer(&self, subscriptions: &ConsumerQos) -> oxorb::Result<()> {
        self.0.lock().wanted = Some(Wanted::new(subscriptions));
        self.0.changed.notify_all();
        Ok(())
    }

    fn update_supplier(&self, _publications: &SupplierQos) -> oxorb::Result<()> {
        Ok(())
    }
}

/// Returns a random identity for a new gateway: hashes of the host's identity with random seeds.
fn new_sender(federation: &Federation) -> Sender {
    use std::hash::{BuildHasher as _, RandomState};
    let host = federation.session().zid().to_string();
    // The seeds of each `RandomState` are random and differ between gateways and processes.
    let [one, other] = [RandomState::new(), RandomState::new()].map(|state| state.hash_one(&host));
    let mut sender = Sender::default();
    sender[..8].copy_from_slice(&one.to_ne_bytes());
    sender[8..].copy_from_slice(&other.to_ne_bytes());
    sender
}

fn refused(why: zenoh::Error) -> FederationError {
    FederationError::Declare(why.to_string())
}
