//! Events of one channel in another, by GIOP: what the consumers of the one ask for, and no more.

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
    /// Whether the gateway takes 1 from an event's `ttl`, and passes none on that has none left. Default on. Off, only being
    /// gateways keeps two gateways from sending an event back and forth.
    pub use_ttl: bool,
    /// Whether events of each source that is asked for go into the channel through a proxy of its own, so that it filters
    /// by supplier. Default on.
    pub proxy_per_source: bool,
    /// Time between two looks whether both channels still are there, and between attempts to connect again. Default 5 s.
    pub period: Duration,
    /// Longest call, but for pushes. Default 1 s.
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

/// Counts of an [`IiopGateway`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IiopStatistics {
    /// Events passed on.
    pub events: u64,
    /// Events whose `ttl` was 0 or less, which end here.
    pub ended: u64,
    /// Events that could not be passed on.
    pub failed: u64,
    /// Times that it connected, the first included: again after each change of what is asked for, and after a loss.
    pub connected: u64,
    /// Times that a channel was lost.
    pub lost: u64,
    /// Whether it is connected, and so passes events on at present.
    pub is_connected: bool,
    /// The state of its channels when it last looked after them.
    pub state: GatewayState,
}

/// State of the channels of an [`IiopGateway`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum GatewayState {
    /// Not known: the gateway has not looked yet.
    #[default]
    Starting,
    /// The gateway observes the channel that events go to, whose consumers ask for nothing: it is not connected to the other channel.
    Idle,
    /// The gateway is connected to both channels.
    Connected,
    /// A channel does not answer or takes no gateway, which tries again after each [`period`](IiopOptions::period).
    Unreachable,
    /// The references lead to one channel, as that channel's own answers show. The gateway passes nothing on, and looks again after each
    /// [`period`](IiopOptions::period).
    SameChannel,
}

/// Gateway that passes on to one channel what its consumers ask for of another, as TAO's `EC_Gateway_IIOP`. Either may be of
/// any ORB. Dropping it disconnects.
///
/// It observes the channel where events go to; whenever what consumers ask for changes there, it connects anew where
/// events come from, in a thread of its own. Events that are pushed while it does are not passed on. When a channel is lost,
/// it tries again after each [`period`](IiopOptions::period).
///
/// Events of a source keep their order where the ORBs of the gateway and of both channels do ([`in_order`](crate::in_order)). An
/// event is copied once, for its `ttl`.
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
    /// Types and sources that consumers ask for.
    wanted: BTreeSet<Key>,
    /// Whether `wanted` is another than `links` were made for.
    is_new: bool,
    stopped: bool,
    /// A channel said that it is over.
    over: bool,
    /// State at the latest look.
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

/// Observer and proxy of the gateway at the channel where events go to.
struct Watch {
    handle: u32,
    /// A proxy that nobody connects to: as long as it exists, so does the channel that knows the observer.
    presence: ProxyPushConsumerRef,
}

impl IiopGateway {
    /// Passes on what the consumers of `to` ask for of `from`. The gateway's own objects are in the root POA of `orb`, which has
    /// to listen where both channels reach it.
    ///
    /// Returns before it is connected: neither channel has to be there yet.
    ///
    /// # Errors
    /// [`GatewayError::SameChannel`] for references that are equivalent; others to one channel are found out when it answers
    /// ([`GatewayState::SameChannel`]). [`GatewayError::Poa`], [`GatewayError::Thread`].
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
        // A servant is one object only.
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
                // They may be gone with the ORB.
                let _ = poa.deactivate(&inner.gate);
                let _ = poa.deactivate(&inner.observer);
            }
        };
        let builder = thread::Builder::new().name("event-gateway".into());
        let thread = builder.spawn(run).map_err(GatewayError::Thread)?;
        Ok(Self { inner, thread: Some(thread) })
    }

    /// Returns what was passed on so far.
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
    /// Disconnects, and waits until that is done: for a few calls, each no longer than `call_timeout`.
    fn drop(&mut self) {
        self.inner.lock().stopped = true;
        self.inner.changed.notify_all();
        // Dropped by a consumer within a push of the gateway's own thread there is no waiting for it.
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

    /// Keeps the gateway connected until it is dropped.
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

    /// Looks after both channels once, and says what it found.
    fn attend(&self, watch: &mut Option<Watch>) -> GatewayState {
        self.lock().over = false;
        if watch.as_ref().is_some_and(|watch| !exists(watch.presence.reference())) {
            self.lose();
            // It may be slow and no more: then the observer of before would stay.
            if let Some(watch) = watch.take() {
                self.stop_observing(watch);
            }
        }
        if watch.is_none() {
            // At once, also where nobody asks for anything yet.
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
        // Where events come from may not have answered before.
        if self.is_one_channel() {
            return GatewayState::SameChannel;
        }
        let Ok(links) = Links::connect(&self.from, &self.to, &self.gate, &wanted, &self.options)
        else {
            return GatewayState::Unreachable;
        };
        // Where pushes find it before the first comes.
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

    /// Whether both references lead to one channel, however they name it: it answers with the same admin. A gateway works with
    /// what these answers say, so two channels that give one admin would be one for it, too.
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

    /// Leaves nothing behind where events go to. A channel that is gone needs no answer.
    fn stop_observing(&self, watch: Watch) {
        let _ = self.to.remove_observer(watch.handle);
        let _ = watch.presence.disconnect_push_consumer();
    }

    /// Counts the loss of a channel, and lets go of links to it.
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

/// Servant of the gateway, which both channels know.
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
    /// Notes the subscriptions, and does no more: the channel waits for the answer.
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

/// Whether an object answers that it exists.
fn exists(object: &oxorb::Ref) -> bool {
    matches!(object.non_existent(), Ok(false))
}
