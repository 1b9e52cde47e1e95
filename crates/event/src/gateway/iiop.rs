//! Gateway that passes events from one channel to another over GIOP. It passes only events to which consumers of the
//! destination subscribe.

mod links;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use oxorb::{Interface as _, Orb, SystemException};
use oxorb_sys::sync::{Condvar, Mutex, MutexGuard};

use super::GatewayError;
use crate::Key;
use crate::rtec_event_channel_admin::{
    ConsumerQos, EventChannelRef, Observer, ObserverRef, ProxyPushConsumerRef, SupplierQos,
};
use crate::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};
use links::Links;
pub(super) use links::keys as asked_for;

/// Settings of an [`IiopGateway`].
#[derive(Clone, Copy, Debug)]
pub struct IiopOptions {
    /// Whether the gateway decrements the `ttl` of each event, and does not pass on events whose `ttl` is 0. Default
    /// on. If it is off, only their registration as gateways prevents two gateways from sending an event to each other
    /// endlessly.
    pub use_ttl: bool,
    /// Whether the gateway has a separate proxy in the destination channel for each subscribed source, so that the
    /// channel can filter by supplier. Default on.
    pub proxy_per_source: bool,
    /// Interval of the checks whether both channels exist, and of attempts to reconnect. Default 5 s.
    pub period: Duration,
    /// Time limit of all calls except pushes. Default 1 s.
    pub call_timeout: Duration,
}

impl Default for IiopOptions {
    fn default() -> Self {
        Self {
            use_ttl: true,
            proxy_per_source: true,
            period: Duration::from_secs(5),
            call_timeout: Duration::from_secs(1),
        }
    }
}

/// Statistics of an [`IiopGateway`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IiopStatistics {
    /// Number of events that were passed on.
    pub events: u64,
    /// Number of events whose `ttl` was 0 or less, which were not passed on.
    pub ended: u64,
    /// Number of events that could not be passed on.
    pub failed: u64,
    /// Number of times that the gateway has connected: initially, after each change of subscriptions, and after each
    /// loss of a channel.
    pub connected: u64,
    /// Number of times that the connection to a channel was lost.
    pub lost: u64,
    /// Whether the gateway is connected to both channels and thus passes events on.
    pub is_connected: bool,
    /// State of the gateway's channels at the last check.
    pub state: GatewayState,
}

/// State of the channels of an [`IiopGateway`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum GatewayState {
    /// Initial state, before the first check.
    #[default]
    Starting,
    /// The gateway observes the destination channel. This channel has no subscriptions, so the gateway is not connected
    /// to the source channel.
    Idle,
    /// The gateway is connected to both channels.
    Connected,
    /// A channel does not answer, or refuses the gateway. The gateway tries again at intervals of
    /// [`period`](IiopOptions::period).
    Unreachable,
    /// The channels' answers show that both references refer to the same channel. The gateway passes nothing on, and
    /// checks again at intervals of [`period`](IiopOptions::period).
    SameChannel,
}

/// Gateway that passes those events of a source channel to which consumers of a destination channel subscribe, like
/// TAO's `EC_Gateway_IIOP`. Each channel may belong to any ORB. Dropping the gateway disconnects it.
///
/// The gateway observes the destination channel. When the subscriptions there change, a dedicated thread reconnects to
/// the source channel. Events that are pushed during the reconnection are not passed on. If a channel is lost, the
/// gateway tries to reconnect at intervals of [`period`](IiopOptions::period).
///
/// The events of a source keep their order if the ORBs of the gateway and of both channels keep it
/// ([`in_order`](crate::in_order)). Each event is copied once, because its `ttl` is changed.
pub struct IiopGateway {
    inner: Arc<Inner>,
    thread: Option<JoinHandle<()>>,
}

/// State that the objects and the thread of a gateway share.
struct Inner {
    from: EventChannelRef,
    to: EventChannelRef,
    options: IiopOptions,
    gate: PushConsumerRef,
    observer: ObserverRef,
    state: Mutex<State>,
    changed: Condvar,
    counts: Counts,
}

#[derive(Default)]
struct State {
    /// Types and sources to which consumers of the destination subscribe.
    wanted: BTreeSet<Key>,
    /// Whether `wanted` has changed since `links` were created.
    is_new: bool,
    stopped: bool,
    /// Whether a channel has disconnected the gateway.
    over: bool,
    /// State at the last check.
    found: GatewayState,
    links: Option<Arc<Links>>,
}

#[derive(Default)]
struct Counts {
    events: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
    connected: AtomicU64,
    lost: AtomicU64,
}

/// Registration of the gateway at the destination channel.
struct Watch {
    handle: u32,
    /// A proxy that is never connected. As long as it exists, the channel with which the observer is registered exists
    /// too.
    presence: ProxyPushConsumerRef,
}

impl IiopGateway {
    /// Starts to pass events from `from` to `to`, according to the subscriptions in `to`. The gateway's objects are in
    /// the root POA of `orb`, which must listen on an address that both channels can reach.
    ///
    /// Does not wait until the gateway is connected. The channels need not exist yet.
    ///
    /// # Errors
    /// [`GatewayError::SameChannel`] if the references are equivalent. Other references to the same channel are
    /// detected when the channel answers ([`GatewayState::SameChannel`]). [`GatewayError::Poa`];
    /// [`GatewayError::Thread`].
    pub fn start(
        orb: &Orb,
        from: &EventChannelRef,
        to: &EventChannelRef,
        options: IiopOptions,
    ) -> Result<Self, GatewayError> {
        if from.reference().is_equivalent(to.reference()) {
            return Err(GatewayError::SameChannel);
        }
        let poa = orb.root_poa();
        // The root POA activates a servant for one object only, so each object needs a separate servant.
        let servants = [Arc::<Servant>::default(), Arc::default()];
        let gate: PushConsumerRef =
            poa.activate(Arc::clone(&servants[0])).map_err(GatewayError::Poa)?;
        let observer: ObserverRef =
            poa.activate(Arc::clone(&servants[1])).map_err(GatewayError::Poa)?;
        let timed = |channel: &EventChannelRef| {
            EventChannelRef::from_ref(channel.reference().with_timeout(options.call_timeout))
        };
        let inner = Arc::new(Inner {
            from: timed(from),
            to: timed(to),
            options,
            gate,
            observer,
            state: Mutex::default(),
            changed: Condvar::new(),
            counts: Counts::default(),
        });
        for servant in &servants {
            *servant.0.lock() = Arc::downgrade(&inner);
        }
        let run = {
            let (inner, orb) = (Arc::clone(&inner), orb.clone());
            move || {
                oxorb_delivery::run_ordinary();
                inner.run();
                let poa = orb.root_poa();
                // Ignore errors: the ORB may already have been shut down.
                let _ = poa.deactivate(&inner.gate);
                let _ = poa.deactivate(&inner.observer);
            }
        };
        let builder = thread::Builder::new().name("event-gateway".into());
        let thread = builder.spawn(run).map_err(GatewayError::Thread)?;
        Ok(Self { inner, thread: Some(thread) })
    }

    /// Returns the statistics.
    pub fn statistics(&self) -> IiopStatistics {
        let counts = &self.inner.counts;
        let (is_connected, state) = {
            let state = self.inner.lock();
            (state.links.is_some(), state.found)
        };
        IiopStatistics {
            events: counts.events.load(Relaxed),
            ended: counts.ended.load(Relaxed),
            failed: counts.failed.load(Relaxed),
            connected: counts.connected.load(Relaxed),
            lost: counts.lost.load(Relaxed),
            is_connected,
            state,
        }
    }
}

impl Drop for IiopGateway {
    /// Disconnects, and waits until this is done. It takes a few calls of at most `call_timeout` each.
    fn drop(&mut self) {
        self.inner.lock().stopped = true;
        self.inner.changed.notify_all();
        // A consumer may drop the gateway while the gateway's thread calls it. The thread cannot wait for itself.
        if let Some(thread) =
            self.thread.take().filter(|one| one.thread().id() != thread::current().id())
        {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for IiopGateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("IiopGateway").field(&self.statistics()).finish()
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Keeps the gateway connected, until it is dropped.
    fn run(&self) {
        let mut watch = None;
        loop {
            let found = self.attend(&mut watch);
            let mut state = self.lock();
            state.found = found;
            let idle = |state: &mut State| !(state.stopped || state.is_new || state.over);
            let (state, _) = self.changed.wait_timeout_while(state, self.options.period, idle);
            let stopped = state.stopped;
            drop(state);
            if stopped {
                break;
            }
        }
        self.disconnect();
        if let Some(watch) = watch {
            self.stop_observing(watch);
        }
    }

    /// Checks both channels once, and connects if necessary. Returns the resulting state.
    fn attend(&self, watch: &mut Option<Watch>) -> GatewayState {
        self.lock().over = false;
        if watch.as_ref().is_some_and(|watch| !exists(watch.presence.reference())) {
            self.lose();
            // If the channel exists and is only slow, the observer is still registered and must be removed.
            if let Some(watch) = watch.take() {
                self.stop_observing(watch);
            }
        }
        if watch.is_none() {
            // Check this even if there are no subscriptions, so that the mistake is reported at once.
            if self.is_one_channel() {
                return GatewayState::SameChannel;
            }
            *watch = self.observe().ok();
        }
        let links = self.lock().links.clone();
        if links.is_some_and(|links| !links.exist()) {
            self.lose();
        }
        let (wanted, due) = {
            let mut state = self.lock();
            let due = state.is_new || state.links.is_none();
            state.is_new = false;
            (state.wanted.clone(), due)
        };
        if watch.is_none() {
            return GatewayState::Unreachable;
        }
        if !due {
            return GatewayState::Connected;
        }
        self.disconnect();
        if wanted.is_empty() {
            return GatewayState::Idle;
        }
        // Check again, because the source channel may not have answered the first check.
        if self.is_one_channel() {
            return GatewayState::SameChannel;
        }
        let Ok(links) = Links::connect(&self.from, &self.to, &self.gate, &wanted, &self.options)
        else {
            return GatewayState::Unreachable;
        };
        // Store the links before opening them, because the first push may arrive during `open`.
        let links = Arc::new(links);
        self.lock().links = Some(Arc::clone(&links));
        match links.open(&self.gate, &wanted) {
            Ok(()) => {
                self.counts.connected.fetch_add(1, Relaxed);
                GatewayState::Connected
            }
            Err(_) => {
                self.disconnect();
                GatewayState::Unreachable
            }
        }
    }

    /// Reports whether both references refer to the same channel, even if their names differ. For this, the gateway
    /// compares the admins that both return. Two channels that return the same admin are the same to the gateway,
    /// because it uses only the admins.
    fn is_one_channel(&self) -> bool {
        let admin = |channel: &EventChannelRef| channel.for_suppliers().ok().flatten();
        let (Some(to), Some(from)) = (admin(&self.to), admin(&self.from)) else {
            return false;
        };
        to.reference().is_equivalent(from.reference())
    }

    fn observe(&self) -> Result<Watch, SystemException> {
        let suppliers = self.to.for_suppliers()?.ok_or(links::NIL)?;
        let presence = suppliers.obtain_push_consumer()?.ok_or(links::NIL)?;
        let handle = self.to.append_observer(Some(&self.observer));
        match handle {
            Ok(handle) => Ok(Watch { handle, presence }),
            Err(_) => {
                let _ = presence.disconnect_push_consumer();
                Err(links::NIL)
            }
        }
    }

    /// Removes the observer and the proxy from the destination channel. Errors are ignored, because the channel may no
    /// longer exist.
    fn stop_observing(&self, watch: Watch) {
        let _ = self.to.remove_observer(watch.handle);
        let _ = watch.presence.disconnect_push_consumer();
    }

    /// Counts the loss of a channel, and disconnects the links.
    fn lose(&self) {
        self.counts.lost.fetch_add(1, Relaxed);
        self.disconnect();
    }

    fn disconnect(&self) {
        let links = self.lock().links.take();
        if let Some(links) = links {
            links.disconnect(&self.gate);
        }
    }

    fn push(&self, events: &[Event]) {
        let Some(links) = self.lock().links.clone() else {
            self.counts.failed.fetch_add(events.len() as u64, Relaxed);
            return;
        };
        for event in events {
            if self.options.use_ttl && event.header.ttl <= 0 {
                self.counts.ended.fetch_add(1, Relaxed);
                continue;
            }
            let mut event = event.clone();
            event.header.ttl -= i32::from(self.options.use_ttl);
            let counted = match links.push(event) {
                Ok(()) => &self.counts.events,
                Err(_) => &self.counts.failed,
            };
            counted.fetch_add(1, Relaxed);
        }
    }

    fn over(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }
}

/// Servant that the channels call. The gateway has one as consumer and one as observer.
#[derive(Default)]
struct Servant(Mutex<Weak<Inner>>);

impl Servant {
    fn inner(&self) -> Option<Arc<Inner>> {
        self.0.lock().upgrade()
    }
}

impl PushConsumer for Servant {
    fn push(&self, events: &[Event]) {
        if let Some(inner) = self.inner() {
            inner.push(events);
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        if let Some(inner) = self.inner() {
            inner.over();
        }
        Ok(())
    }
}

impl Observer for Servant {
    /// Records the subscriptions. Does nothing else, because the channel waits for the reply.
    fn update_consumer(&self, subscriptions: &ConsumerQos) -> oxorb::Result<()> {
        let Some(inner) = self.inner() else {
            return Ok(());
        };
        let wanted = links::keys(subscriptions);
        let mut state = inner.lock();
        if state.wanted != wanted {
            state.wanted = wanted;
            state.is_new = true;
            inner.changed.notify_all();
        }
        Ok(())
    }

    fn update_supplier(&self, _publications: &SupplierQos) -> oxorb::Result<()> {
        Ok(())
    }
}

/// Reports whether an object has confirmed its existence.
fn exists(object: &oxorb::Ref) -> bool {
    matches!(object.non_existent(), Ok(false))
}
