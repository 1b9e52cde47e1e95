//! State of the proxies to which consumers and suppliers connect. An object of a POA may represent a proxy to remote
//! peers.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb::SystemException;
use oxorb::client::OnewayBatch;
use oxorb_sys::sync::Mutex;

use super::consumer::{Connected, Parts};
use super::core::Core;
use super::dispatch::ConsumerDispatch;
use super::encoded::Outgoing;
use super::maker::Maker;
use super::notice::{Notice, Released, Side};
use super::refusal::{ConnectError, PushError};
use super::routes::Routes;
use super::supplier::{Supplier, SupplierCounts, Supplying};
use super::target::{Consumer, Target};
use crate::event_type::{DEADLINE_TIMEOUT, INTERVAL_TIMEOUT};
use crate::filter::{Filter, FilterError, FilterErrorKind, Program, Trigger};
use crate::rtec_event_channel_admin::{ConsumerQos, Dependency, SupplierQos};
use crate::rtec_event_comm::Event;

/// Proxy to which a consumer connects (`ProxyPushSupplier`).
pub(crate) struct ConsumerProxy {
    number: u64,
    core: Weak<Core>,
    state: Mutex<State<Arc<Connected>>>,
    suspended: Arc<AtomicBool>,
    at_end: AtEnd,
    pub(super) maker: Maker,
}

/// Proxy to which a supplier connects (`ProxyPushConsumer`).
pub(crate) struct SupplierProxy {
    number: u64,
    core: Arc<Core>,
    state: Mutex<State<Pushing>>,
    pub(super) counts: SupplierCounts,
    at_end: AtEnd,
    pub(super) maker: Maker,
}

/// A connected supplier, with its routes.
struct Pushing {
    supplier: Arc<Supplying>,
    routes: Arc<Routes>,
    /// Generation of consumers for which the routes were determined.
    generation: u64,
}

enum State<T> {
    /// State before the first connect.
    Idle,
    Connected(T),
    /// The peer was disconnected or released.
    Ended,
}

/// Function that is called when the proxy ends, for example to deactivate its object.
type AtEnd = Mutex<Option<Box<dyn FnOnce() + Send>>>;

/// Error of an attempt to disconnect a proxy that is not connected.
#[derive(Debug)]
pub(crate) struct NotConnected;

impl ConsumerProxy {
    pub(super) fn new(number: u64, core: &Arc<Core>, maker: Maker) -> ConsumerProxy {
        ConsumerProxy {
            number,
            core: Arc::downgrade(core),
            state: Mutex::new(State::Idle),
            suspended: Arc::default(),
            at_end: Mutex::default(),
            maker,
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Connects a consumer. `dispatch` is its own dispatch; if `None`, the channel chooses the dispatch.
    pub(crate) fn connect(
        &self,
        consumer: Consumer,
        qos: &ConsumerQos,
        dispatch: Option<ConsumerDispatch>,
    ) -> Result<(), ConnectError> {
        let core = self.core.upgrade().ok_or(ConnectError::Destroyed)?;
        let options = &core.options;
        let refused = |why| {
            core.note(&Notice::FilterRefused(self.number, why));
            ConnectError::Filter(why)
        };
        let limits = &options.limits.filter;
        let filter = Filter::parse(&qos.dependencies, options.syntax, limits).map_err(refused)?;
        check_periods(&qos.dependencies, options.limits.period).map_err(refused)?;
        let is_object = matches!(consumer, Consumer::Object(_));
        let program = Program::new(&filter);
        let target = Arc::new(Target::new(consumer, options));
        let connected = Arc::new(Connected::new(Parts {
            number: self.number,
            queue: core.queue(self.number, &target, qos, dispatch)?,
            timers: core.timers(self.number, &program)?,
            target,
            qos: qos.clone(),
            program,
            suspended: Arc::clone(&self.suspended),
            collected: options.limits.collected,
        }));
        let mut state = self.state.lock();
        let before = match &*state {
            State::Idle => None,
            State::Connected(before) if options.consumer_reconnect => Some(Arc::clone(before)),
            State::Connected(_) => return Err(ConnectError::AlreadyConnected),
            State::Ended => return Err(ConnectError::Destroyed),
        };
        *state = State::Connected(Arc::clone(&connected));
        drop(state);
        if let Some(before) = &before {
            before.end();
            core.unschedule_consumer(before);
        }
        connected.start();
        core.schedule_consumer(&connected);
        let was_gateway = before.is_none_or(|before| before.qos().is_gateway);
        core.consumers_changed(qos.is_gateway && was_gateway);
        if is_object {
            core.watch();
        }
        Ok(())
    }

    pub(crate) fn disconnect(&self) -> Result<(), NotConnected> {
        let Some(core) = self.core.upgrade() else {
            return Ok(());
        };
        let connected = self.connected().ok_or(NotConnected)?;
        if self.end(&core).is_some() && core.options.disconnect_callbacks {
            connected.target.call_back();
        }
        Ok(())
    }

    /// Disconnects the consumer or, if none has connected, releases the proxy.
    pub(crate) fn leave(&self) {
        if self.disconnect().is_err()
            && let Some(core) = self.core.upgrade()
        {
            self.end(&core);
        }
    }

    pub(crate) fn suspend(&self, suspended: bool) {
        self.suspended.store(suspended, Relaxed);
    }

    pub(super) fn connected(&self) -> Option<Arc<Connected>> {
        self.state.lock().connected().cloned()
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected().is_some()
    }

    /// Releases the proxy if no consumer has connected to it and its client disconnected at least `grace` ago.
    pub(super) fn release_unused(&self, grace: Duration, now: Instant) {
        if self.maker.left_before(grace, now)
            && self.state.lock().end_idle()
            && let Some(core) = self.core.upgrade()
        {
            core.forget_consumer(self.number);
            self.close();
        }
    }

    /// Ends the connection if there is one, and the proxy. Returns the consumer that was connected, but only on the
    /// first call.
    pub(super) fn end(&self, core: &Arc<Core>) -> Option<Arc<Connected>> {
        core.forget_consumer(self.number);
        let ended = self.close();
        if let Some(connected) = &ended {
            core.unschedule_consumer(connected);
            core.consumers_changed(connected.qos().is_gateway);
        }
        ended
    }

    /// Ends the proxy. Returns the consumer that was connected, to which no further events are delivered.
    pub(super) fn close(&self) -> Option<Arc<Connected>> {
        let before = std::mem::replace(&mut *self.state.lock(), State::Ended);
        if let Some(at_end) = self.at_end.lock().take() {
            at_end();
        }
        let connected = before.into_connected()?;
        connected.end().then_some(connected)
    }

    /// Sets a function that is called once, when the proxy ends.
    pub(crate) fn at_end(&self, at_end: impl FnOnce() + Send + 'static) {
        *self.at_end.lock() = Some(Box::new(at_end));
    }
}

impl SupplierProxy {
    pub(super) fn new(number: u64, core: &Arc<Core>, maker: Maker) -> SupplierProxy {
        SupplierProxy {
            number,
            core: Arc::clone(core),
            state: Mutex::new(State::Idle),
            counts: SupplierCounts::default(),
            at_end: Mutex::default(),
            maker,
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn connect(
        &self,
        supplier: Supplier,
        qos: &SupplierQos,
    ) -> Result<(), ConnectError> {
        let options = &self.core.options;
        let limit = options.limits.publications;
        if qos.publications.len() > limit {
            return Err(ConnectError::Limit("publications", limit));
        }
        let is_object = matches!(supplier, Supplier::Object(_));
        let is_nil = matches!(supplier, Supplier::Nil);
        let supplier = Supplying::new(self.number, supplier, qos.clone(), options);
        let supplier = Arc::new(supplier.limited(self.core.rate(qos)));
        let mut state = self.state.lock();
        let before = match &*state {
            State::Idle => None,
            State::Connected(before) if options.supplier_reconnect => {
                Some(Arc::clone(&before.supplier))
            }
            State::Connected(_) => return Err(ConnectError::AlreadyConnected),
            State::Ended => return Err(ConnectError::Destroyed),
        };
        *state = State::Connected(Pushing {
            supplier,
            routes: Arc::default(),
            // The first push determines the routes, because no generation is 0.
            generation: 0,
        });
        drop(state);
        if let Some(before) = &before {
            before.end();
            self.core.unschedule_supplier(&before.qos);
        }
        self.core.schedule_supplier(self.number, qos);
        let was_gateway = before.is_none_or(|before| before.qos.is_gateway);
        self.core.suppliers_changed(qos.is_gateway && was_gateway);
        if is_object {
            self.core.watch();
        }
        if is_nil {
            self.core.watch_silence();
        }
        Ok(())
    }

    /// Releases a supplier that cannot be pinged and has pushed nothing for `idle`.
    pub(super) fn release_silent(&self, idle: Duration) {
        let events = || self.counts.events.load(Relaxed);
        let (heard, supplier) = (events(), self.connected());
        let Some(supplier) = supplier else {
            return;
        };
        let silence = supplier.silence(heard, Instant::now());
        if silence.is_none_or(|silence| silence < idle) {
            return;
        }
        // Check again under the lock: the supplier may have pushed, or another one may have connected, since the check
        // above.
        let still =
            |pushing: &Pushing| Arc::ptr_eq(&pushing.supplier, &supplier) && events() == heard;
        let ended = self.close_if(still);
        self.ended(ended, Released::Silent(idle));
    }

    /// Releases the proxy if no supplier has connected to it and its client disconnected at least `grace` ago.
    pub(super) fn release_unused(&self, grace: Duration, now: Instant) {
        if self.maker.left_before(grace, now) && self.state.lock().end_idle() {
            self.core.forget_supplier(self.number);
            self.close();
        }
    }

    /// Pushes each event, in this thread, to all consumers whose filters accept it.
    ///
    /// # Errors
    /// No supplier is connected; the set exceeds a limit, in which case it is dropped and counted; or single events
    /// exceed the supplier's rate, and are dropped and counted.
    pub(crate) fn push(&self, events: &[Event]) -> Result<(), PushError> {
        self.push_received(events, None)
    }

    /// Pushes like [`push`](Self::push). `received` contains the octets of a set of one event, which can be sent
    /// unchanged.
    pub(crate) fn push_received(
        &self,
        events: &[Event],
        received: Option<&[u8]>,
    ) -> Result<(), PushError> {
        let options = &self.core.options;
        let routes = self.routes().ok_or(PushError::NotConnected)?;
        self.counts.take(events, options)?;
        let _within = self.counts.within(events)?;
        if !options.timestamps {
            return self.deliver(events, received, &routes);
        }
        let received = crate::time::now();
        let mut stamped = events.to_vec();
        for event in &mut stamped {
            event.header.ec_recv_time = received;
            event.header.ec_send_time = crate::time::now();
        }
        self.deliver(&stamped, None, &routes)
    }

    fn deliver(
        &self,
        events: &[Event],
        received: Option<&[u8]>,
        routes: &Routes,
    ) -> Result<(), PushError> {
        let (mut asked, mut refused) = (0, 0);
        let arrived = self.core.options.latency.then(Instant::now);
        for event in events {
            if !routes.admits() {
                refused += 1;
                continue;
            }
            let outgoing = Outgoing::new(std::slice::from_ref(event), arrived);
            let outgoing = outgoing.with_received(received);
            let trigger = Trigger { event, timer: None };
            // With several consumers and no queues, messages for the same connection are collected and sent together.
            let together = routes.several() && !self.core.has_queues();
            let mut batch = None;
            routes.each(&event.header, |consumer| {
                asked += 1;
                let offer = || consumer.offer(trigger, &outgoing);
                let offered = match &mut batch {
                    batch if together && consumer.may_be_repeated() => {
                        batch.get_or_insert_with(OnewayBatch::begin).mark(consumer.number);
                        offer()
                    }
                    Some(batch) => batch.apart(offer),
                    None => offer(),
                };
                if let Err(why) = offered {
                    self.core.release_consumer(consumer.number, why);
                }
            });
            if let Some(batch) = batch {
                batch.send(|number, why| self.unsent(routes, number, &outgoing, why));
            }
        }
        self.counts.asked.fetch_add(asked, Relaxed);
        if refused == 0 {
            return Ok(());
        }
        self.counts.refused.fetch_add(refused, Relaxed);
        Err(PushError::Rate(refused))
    }

    /// Handles a set that could not be sent in a batch. `number` is that of the consumer.
    #[cold]
    fn unsent(&self, routes: &Routes, number: u64, outgoing: &Outgoing<'_>, why: SystemException) {
        if let Some(consumer) = routes.consumer(number)
            && let Err(why) = consumer.unsent(outgoing, why)
        {
            self.core.release_consumer(number, why);
        }
    }

    /// Returns the routes of the supplier's events. Determines them again if a consumer has connected or left.
    fn routes(&self) -> Option<Arc<Routes>> {
        let mut state = self.state.lock();
        let State::Connected(pushing) = &mut *state else {
            return None;
        };
        let generation = self.core.generation();
        if pushing.generation != generation {
            pushing.routes = Arc::new(self.core.routes(&pushing.supplier));
            pushing.generation = generation;
        }
        Some(Arc::clone(&pushing.routes))
    }

    /// Ends the connection. As in TAO, the supplier is not called back if it never connected.
    pub(crate) fn disconnect(&self) {
        let supplier = self.connected();
        if self.end()
            && self.core.options.disconnect_callbacks
            && let Some(supplier) = supplier
        {
            supplier.call_back();
        }
    }

    /// Excludes a consumer from the supplier's events, starting with the next push.
    pub(super) fn keep_from(&self, consumer: u64) {
        if let State::Connected(pushing) = &mut *self.state.lock() {
            pushing.supplier.keep_from(consumer);
            // Make the next push determine the routes again, without the excluded consumer.
            pushing.generation = 0;
        }
    }

    pub(super) fn connected(&self) -> Option<Arc<Supplying>> {
        let state = self.state.lock();
        state.connected().map(|pushing| Arc::clone(&pushing.supplier))
    }

    /// Releases a supplier that is considered dead.
    pub(super) fn release(&self, why: Released) {
        let ended = self.close();
        self.ended(ended, why);
    }

    /// Notifies the members that a supplier was disconnected, and logs its release.
    fn ended(&self, supplier: Option<Arc<Supplying>>, why: Released) {
        if self.left(supplier) {
            self.core.note(&Notice::Released { side: Side::Supplier, number: self.number, why });
        }
    }

    /// Ends the connection if there is one, and the proxy. Returns `false` if the proxy had already ended.
    pub(crate) fn end(&self) -> bool {
        self.core.forget_supplier(self.number);
        let ended = self.close();
        self.left(ended)
    }

    /// Removes a supplier whose connection has ended. Returns `false` if `ended` is `None`.
    fn left(&self, ended: Option<Arc<Supplying>>) -> bool {
        let Some(supplier) = ended else {
            return false;
        };
        self.core.forget_supplier(self.number);
        self.core.unschedule_supplier(&supplier.qos);
        self.core.suppliers_changed(supplier.qos.is_gateway);
        true
    }

    /// Ends the proxy. Returns the supplier that was connected, which can no longer push.
    pub(super) fn close(&self) -> Option<Arc<Supplying>> {
        self.close_if(|_| true)
    }

    /// Ends the proxy, unless it is connected and `may` does not permit its disconnection. Returns the supplier that
    /// was connected, unless its connection had already ended.
    fn close_if(&self, may: impl FnOnce(&Pushing) -> bool) -> Option<Arc<Supplying>> {
        let mut state = self.state.lock();
        if let State::Connected(pushing) = &*state
            && !may(pushing)
        {
            return None;
        }
        let before = std::mem::replace(&mut *state, State::Ended);
        drop(state);
        if let Some(at_end) = self.at_end.lock().take() {
            at_end();
        }
        let supplier = before.into_connected()?.supplier;
        supplier.end().then_some(supplier)
    }

    /// Sets a function that is called once, when the proxy ends.
    pub(crate) fn at_end(&self, at_end: impl FnOnce() + Send + 'static) {
        *self.at_end.lock() = Some(Box::new(at_end));
    }
}

impl Drop for SupplierProxy {
    fn drop(&mut self) {
        self.core.forget_supplier(self.number);
    }
}

impl<T> State<T> {
    /// Ends the proxy if no peer has connected to it. Returns whether it was ended.
    fn end_idle(&mut self) -> bool {
        let is_idle = matches!(self, State::Idle);
        if is_idle {
            *self = State::Ended;
        }
        is_idle
    }

    fn connected(&self) -> Option<&T> {
        match self {
            State::Connected(it) => Some(it),
            _ => None,
        }
    }

    fn into_connected(self) -> Option<T> {
        match self {
            State::Connected(it) => Some(it),
            _ => None,
        }
    }
}

/// Returns an error if a timeout has a shorter period than the channel permits.
fn check_periods(dependencies: &[Dependency], least: Duration) -> Result<(), FilterError> {
    let least = u64::try_from(least.as_nanos() / 100).unwrap_or(u64::MAX);
    let too_short = |one: &Dependency| {
        let header = &one.event.header;
        let periodic = [INTERVAL_TIMEOUT, DEADLINE_TIMEOUT].contains(&header.r#type);
        periodic && header.creation_time < least
    };
    match dependencies.iter().position(too_short) {
        None => Ok(()),
        Some(at) => Err(FilterError {
            at,
            kind: FilterErrorKind::TooShort {
                period: dependencies[at].event.header.creation_time,
                least,
            },
        }),
    }
}
