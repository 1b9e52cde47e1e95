//! Suppliers: their connections, proxies, publications and routes, and the push of an event to all consumers.

use std::cell::Cell;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use oxorb::SystemException;
use oxorb::client::OnewayBatch;
use oxorb_delivery::{Meter, Rate};
use oxorb_sys::sync::Mutex;

use super::consumer::Connected;
use super::core::Core;
use super::encoded::{Outgoing, held_octets};
use super::maker::Maker;
use super::notice::{Notice, Released, Side};
use super::options::ChannelOptions;
use super::proxies::{AtEnd, ConsumerConnection, State};
use super::refusal::{ConnectError, PushError};
use super::routes::Routes;
use super::target::timed;
use crate::filter::Trigger;
use crate::rtec_event_channel_admin::SupplierQos;
use crate::rtec_event_comm::{Event, PushSupplier, PushSupplierRef};

/// The connection of a supplier, through which the supplier pushes events. Dropping it disconnects the supplier.
pub struct SupplierConnection {
    proxy: Arc<SupplierProxy>,
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

/// The object that is notified when a supplier's connection ends.
#[derive(Clone)]
pub(crate) enum Supplier {
    /// A local supplier without a servant.
    Anonymous,
    /// A remote supplier that connected with a nil reference, as TAO permits.
    Nil,
    /// A local servant.
    Local(Arc<dyn PushSupplier>),
    /// A local or remote object.
    Object(PushSupplierRef),
}

/// A connected supplier.
pub(super) struct Supplying {
    pub(super) number: u64,
    supplier: Supplier,
    pub(super) qos: SupplierQos,
    /// Meter of the supplier's rate; `None` if the rate is not checked.
    pub(super) meter: Option<Arc<Meter>>,
    /// Number of events at the last check that found new events, and the time of this check. Used for suppliers that
    /// cannot be pinged.
    heard: Mutex<(u64, Instant)>,
    /// Number of the consumer that does not receive the supplier's events; 0 if there is none.
    kept_from: AtomicU64,
    over: AtomicBool,
}

/// Counters of a supplier's events.
#[derive(Default)]
pub(super) struct SupplierCounts {
    pub(super) events: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) asked: AtomicU64,
}

impl SupplierConnection {
    pub(crate) fn new(proxy: Arc<SupplierProxy>) -> SupplierConnection {
        SupplierConnection { proxy }
    }

    /// Returns the number of the connection, as used in statistics and notices.
    pub fn number(&self) -> u64 {
        self.proxy.number()
    }

    /// Pushes events to all consumers whose filters accept them. Each event is filtered separately.
    ///
    /// For local consumers, a push allocates no memory after the first push that follows a change of the consumers. It
    /// takes no lock that another supplier takes.
    ///
    /// # Errors
    /// [`PushError`]. Events that are not accepted are counted as refused, unless the connection has ended.
    pub fn push(&self, events: &[Event]) -> Result<(), PushError> {
        self.proxy.push(events)
    }

    /// Excludes one consumer from the events of this supplier, starting with the next push. A gateway that is both a
    /// supplier and a consumer thus does not receive its own events. A later call replaces the excluded consumer.
    pub fn keep_from(&self, consumer: &ConsumerConnection) {
        self.proxy.keep_from(consumer.number());
    }

    /// Reports whether the connection still exists.
    pub fn is_connected(&self) -> bool {
        self.proxy.connected().is_some()
    }
}

impl Drop for SupplierConnection {
    fn drop(&mut self) {
        self.proxy.disconnect();
    }
}

impl fmt::Debug for SupplierConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SupplierConnection({})", self.number())
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

impl Supplying {
    pub(super) fn new(
        number: u64,
        supplier: Supplier,
        qos: SupplierQos,
        options: &ChannelOptions,
    ) -> Supplying {
        Supplying {
            number,
            supplier: match supplier {
                Supplier::Object(object) => Supplier::Object(timed(&object, options)),
                other => other,
            },
            qos,
            meter: None,
            heard: Mutex::new((0, Instant::now())),
            kept_from: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    pub(super) fn limited(self, rate: Option<Rate>) -> Supplying {
        let meter = rate.map(|rate| Arc::new(Meter::new(rate)));
        Supplying { meter, ..self }
    }

    /// Excludes a consumer from the supplier's events. Replaces the consumer that was excluded before.
    pub(super) fn keep_from(&self, consumer: u64) {
        self.kept_from.store(consumer, Relaxed);
    }

    pub(super) fn object(&self) -> Option<&PushSupplierRef> {
        match &self.supplier {
            Supplier::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the time for which a remote supplier that connected with nil has pushed no event, as far as checks have
    /// shown; `None` for other suppliers. `events` is the total number of events that the supplier has pushed.
    pub(super) fn silence(&self, events: u64, now: Instant) -> Option<Duration> {
        if !matches!(self.supplier, Supplier::Nil) {
            return None;
        }
        let mut heard = self.heard.lock();
        if heard.0 != events {
            *heard = (events, now);
        }
        Some(now.saturating_duration_since(heard.1))
    }

    /// Ends the connection. Returns `false` if it had already ended.
    pub(super) fn end(&self) -> bool {
        !self.over.swap(true, Relaxed)
    }

    /// Reports whether a consumer's filter may match one of the supplier's publications.
    pub(super) fn concerns(&self, consumer: &Connected, options: &ChannelOptions) -> bool {
        let mut publications = self.qos.publications.iter();
        self.kept_from.load(Relaxed) != consumer.number
            && (!options.supplier_filtering
                || publications.any(|one| consumer.program().can_match(&one.event.header)))
    }

    /// Notifies the supplier that it was disconnected. The result is ignored.
    pub(super) fn call_back(&self) {
        let _ = panic::catch_unwind(AssertUnwindSafe(|| match &self.supplier {
            Supplier::Anonymous | Supplier::Nil => Ok(()),
            Supplier::Local(supplier) => supplier.disconnect_push_supplier(),
            Supplier::Object(object) => object.disconnect_push_supplier(),
        }));
    }
}

impl SupplierCounts {
    /// Counts a set of events.
    ///
    /// # Errors
    /// The set exceeds a limit.
    fn take(&self, events: &[Event], options: &ChannelOptions) -> Result<(), PushError> {
        let (number, limits) = (events.len() as u64, &options.limits);
        self.events.fetch_add(number, Relaxed);
        let octets = events.iter().map(held_octets);
        let taken = match () {
            () if events.len() > limits.events => Err(PushError::Events(limits.events)),
            () if octets.sum::<usize>() > limits.octets => Err(PushError::Octets(limits.octets)),
            () => Ok(()),
        };
        if taken.is_err() {
            self.refused.fetch_add(number, Relaxed);
        }
        taken
    }
}

/// Maximum depth of nested pushes in one thread. A consumer makes a nested push while it handles the previous one.
/// Chains of channels are shorter than this, whereas circles have no end.
const MOST_WITHIN: u32 = 16;

thread_local! {
    /// Number of nested pushes that are in progress in this thread.
    static WITHIN: Cell<u32> = const { Cell::new(0) };
}

/// Guard that counts a push as in progress.
struct Within(());

impl Drop for Within {
    fn drop(&mut self) {
        let _ = WITHIN.try_with(|within| within.set(within.get() - 1));
    }
}

impl SupplierCounts {
    /// Begins a push, which may be nested in others of this thread.
    ///
    /// # Errors
    /// The nesting is too deep.
    fn within(&self, events: &[Event]) -> Result<Within, PushError> {
        let before = WITHIN.with(Cell::get);
        if before >= MOST_WITHIN {
            self.refused.fetch_add(events.len() as u64, Relaxed);
            return Err(PushError::Circle(before));
        }
        WITHIN.with(|within| within.set(before + 1));
        Ok(Within(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_from_the_last_look_that_found_an_event() {
        let options = ChannelOptions::default();
        let qos = SupplierQos::default();
        let supplier = Supplying::new(1, Supplier::Nil, qos.clone(), &options);
        let second = Duration::from_secs(1);
        let start = Instant::now();
        assert!(supplier.silence(0, start + 2 * second).unwrap() >= second);
        assert_eq!(supplier.silence(5, start + 3 * second), Some(Duration::ZERO));
        assert_eq!(supplier.silence(5, start + 6 * second), Some(3 * second));
        assert_eq!(supplier.silence(6, start + 7 * second), Some(Duration::ZERO));
        // A local supplier needs no check, because dropping it ends its connection.
        let own = Supplying::new(2, Supplier::Anonymous, qos, &options);
        assert_eq!(own.silence(0, start + second), None);
    }
}
