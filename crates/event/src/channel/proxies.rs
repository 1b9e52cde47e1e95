//! Proxies to which consumers and suppliers connect: their state, with or without an object of a POA in front of them.

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

/// A supplier with the consumers that its events concern.
struct Pushing {
    supplier: Arc<Supplying>,
    routes: Arc<Routes>,
    /// Generation of consumers from which the routes were determined.
    generation: u64,
}

enum State<T> {
    /// State before the first connection.
    Idle,
    Connected(T),
    /// Disconnected or released.
    Ended,
}

/// Function that is called when the connection ends, to deactivate the object in its POA.
type AtEnd = Mutex<Option<Box<dyn FnOnce() + Send>>>;

/// Attempt to disconnect a proxy that is not connected.
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

    /// Connects a consumer, with its own dispatch or the one that the channel chooses.
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

    /// Disconnects, or releases a proxy to which no consumer has connected.
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

    /// Releases the proxy if no consumer has connected to it and its client left at least `grace` ago.
    pub(super) fn release_unused(&self, grace: Duration, now: Instant) {
        if self.maker.left_before(grace, now)
            && self.state.lock().end_idle()
            && let Some(core) = self.core.upgrade()
        {
            core.forget_consumer(self.number);
            self.close();
        }
    }

    /// Ends the connection, or the proxy without one. Returns the consumer that was connected, once.
    pub(super) fn end(&self, core: &Arc<Core>) -> Option<Arc<Connected>> {
        core.forget_consumer(self.number);
        let ended = self.close();
        if let Some(connected) = &ended {
            core.unschedule_consumer(connected);
            core.consumers_changed(connected.qos().is_gateway);
        }
        ended
    }

    /// Returns the consumer that was connected, which gets no further events.
    pub(super) fn close(&self) -> Option<Arc<Connected>> {
        let before = std::mem::replace(&mut *self.state.lock(), State::Ended);
        if let Some(at_end) = self.at_end.lock().take() {
            at_end();
        }
        let connected = before.into_connected()?;
        connected.end().then_some(connected)
    }

    /// Calls `at_end` once, when the connection ends.
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
            // Determined when the supplier first pushes.
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
        // Meanwhile another supplier may have connected here, or this one pushed.
        let still =
            |pushing: &Pushing| Arc::ptr_eq(&pushing.supplier, &supplier) && events() == heard;
        let ended = self.close_if(still);
        self.ended(ended, Released::Silent(idle));
    }

    /// Releases the proxy if no supplier has connected to it and its client left at least `grace` ago.
    pub(super) fn release_unused(&self, grace: Duration, now: Instant) {
        if self.maker.left_before(grace, now) && self.state.lock().end_idle() {
            self.core.forget_supplier(self.number);
            self.close();
        }
    }

    /// Pushes each event to all consumers whose filters accept it, in this thread.
    ///
    /// # Errors
    /// No supplier is connected, or the set is beyond a limit and is dropped and counted; so are single events beyond
    /// the supplier's rate.
    pub(crate) fn push(&self, events: &[Event]) -> Result<(), PushError> {
        self.push_received(events, None)
    }

    /// Pushes as [`push`](Self::push) does. `received`: octets of a set of one event, which are passed on unchanged.
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
            // Messages for the same connection are sent together.
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

    /// Handles a set that could not be sent in the batch to the consumer of this number.
    #[cold]
    fn unsent(&self, routes: &Routes, number: u64, outgoing: &Outgoing<'_>, why: SystemException) {
        if let Some(consumer) = routes.consumer(number)
            && let Err(why) = consumer.unsent(outgoing, why)
        {
            self.core.release_consumer(number, why);
        }
    }

    /// Returns the routes of the supplier's events, determined again if a consumer connected or left.
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

    /// Ends the connection. As in TAO, a proxy to which no supplier has connected ends without a callback.
    pub(crate) fn disconnect(&self) {
        let supplier = self.connected();
        if self.end()
            && self.core.options.disconnect_callbacks
            && let Some(supplier) = supplier
        {
            supplier.call_back();
        }
    }

    /// Excludes a consumer from the supplier's events, from the next push on.
    pub(super) fn keep_from(&self, consumer: u64) {
        if let State::Connected(pushing) = &mut *self.state.lock() {
            pushing.supplier.keep_from(consumer);
            // Forces the routes to be determined again.
            pushing.generation = 0;
        }
    }

    pub(super) fn connected(&self) -> Option<Arc<Supplying>> {
        let state = self.state.lock();
        state.connected().map(|pushing| Arc::clone(&pushing.supplier))
    }

    /// Releases a dead supplier.
    pub(super) fn release(&self, why: Released) {
        let ended = self.close();
        self.ended(ended, why);
    }

    /// Notifies the members that a supplier concerned, and logs its release.
    fn ended(&self, supplier: Option<Arc<Supplying>>, why: Released) {
        if self.left(supplier) {
            self.core.note(&Notice::Released { side: Side::Supplier, number: self.number, why });
        }
    }

    /// Ends the connection, or the proxy without one; `false` if it had ended before.
    pub(crate) fn end(&self) -> bool {
        self.core.forget_supplier(self.number);
        let ended = self.close();
        self.left(ended)
    }

    /// Removes a supplier whose connection has ended; `false`: there is none.
    fn left(&self, ended: Option<Arc<Supplying>>) -> bool {
        let Some(supplier) = ended else {
            return false;
        };
        self.core.forget_supplier(self.number);
        self.core.unschedule_supplier(&supplier.qos);
        self.core.suppliers_changed(supplier.qos.is_gateway);
        true
    }

    /// Returns the supplier that was connected, which can no longer push.
    pub(super) fn close(&self) -> Option<Arc<Supplying>> {
        self.close_if(|_| true)
    }

    /// Ends the proxy, unless `may` forbids to disconnect its supplier. Returns the supplier that was connected, if it
    /// had not ended before.
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

    /// Calls `at_end` once, when the connection ends.
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
    /// Ends a proxy to which no peer has connected; reports whether it did.
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

/// Refuses timeouts with a period below the limit of the channel.
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
