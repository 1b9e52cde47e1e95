//! State that all parts of a channel share: its members, and the notifications about their changes.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::{Interface, SystemException, SystemExceptionKind};
use oxorb_delivery::{Beyond, Dispatcher, Monotonic, Qos, Rate, Timer, Timers};
use oxorb_sys::sync::{Mutex, MutexGuard};

use super::consumer::{Connected, ConsumerQueue};
use super::control::Rounds;
use super::dispatch::{Chooser, ConsumerDispatch};
use super::encoded::Set;
use super::maker::Maker;
use super::notice::{Notice, Released, Side};
use super::observers::{self, Change, Listed, Observers, Watcher};
use super::options::ChannelOptions;
use super::proxies::ConsumerProxy;
use super::refusal::ConnectError;
use super::routes::Routes;
use super::supplier::{SupplierProxy, Supplying};
use super::target::{self, Queued, Target};
use super::teller::Teller;
use crate::Names;
use crate::filter::Program;
use crate::rtec_event_channel_admin::{ConsumerQos, SupplierQos};
use crate::scheduling::{Scheduling, SchedulingError};

type Log = Box<dyn Fn(&Notice) + Send + Sync>;

/// Function that chooses the rate of a supplier when it connects.
pub(super) type Rates = Box<dyn Fn(&SupplierQos) -> Option<Rate> + Send + Sync>;

/// State that all parts of a channel share.
pub(crate) struct Core {
    pub(crate) options: ChannelOptions,
    pub(super) observers: Observers,
    /// Number of changes of consumers. If it differs from the number for which a supplier's routes were determined,
    /// they are determined again.
    generation: AtomicU64,
    members: Mutex<Members>,
    destroyed: AtomicBool,
    log: OnceLock<Log>,
    rounds: Arc<Rounds>,
    /// Thread that checks for a new schedule.
    looks: Arc<Rounds>,
    names: Names,
    /// Thread that checks for suppliers that have left without disconnecting.
    silences: Arc<Rounds>,
    /// Thread that checks for proxies that were never connected and whose clients have disconnected.
    leavings: Arc<Rounds>,
    /// Thread that notifies remote observers.
    teller: Arc<Teller>,
    /// Scheduling service to which the channel reports connections.
    scheduling: OnceLock<Scheduling>,
    /// Function that is called for each consumer that connects.
    chooser: OnceLock<Chooser>,
    /// Function that is called for each supplier that connects.
    rates: OnceLock<Rates>,
    /// Treatment of events beyond the periods that suppliers declared. Rates chosen by `rates` take precedence.
    declared: OnceLock<Beyond>,
    /// Queues of the consumers; `None` if events are delivered in the supplier's thread.
    queues: Option<Queues>,
    /// Timers of filters, created when the first filter needs one.
    timers: Mutex<Option<Timers>>,
}

/// Queues of all consumers.
pub(super) struct Queues {
    pub(super) dispatcher: Dispatcher<Arc<Set>>,
    /// Quality of service of each queue for which none is chosen.
    pub(super) qos: Qos,
}

#[derive(Default)]
struct Members {
    last: u64,
    consumers: BTreeMap<u64, Arc<ConsumerProxy>>,
    /// Suppliers. POAs and connections own them.
    suppliers: BTreeMap<u64, Weak<SupplierProxy>>,
}

impl Queues {
    /// Returns the dispatch of a consumer for which none is chosen.
    fn usual(&self) -> ConsumerDispatch {
        ConsumerDispatch { queue: self.qos.clone(), ..ConsumerDispatch::default() }
    }

    fn lanes(&self) -> usize {
        self.dispatcher.plan().lanes.len()
    }
}

/// Calls of `destroy` to remote peers.
type Calls = Vec<Box<dyn FnOnce() + Send>>;

/// Maximum number of concurrent calls in `destroy`.
const SIDE_BY_SIDE: usize = 16;

/// Minimum period of the checks for silent suppliers and for unused proxies.
const LEAST_LOOK: Duration = Duration::from_millis(10);

/// Total time limit for the calls in `destroy`, as a multiple of `call_timeout`.
const DESTROY_CALLS: u32 = 10;

impl Core {
    pub(super) fn new(options: ChannelOptions, queues: Option<Queues>) -> Core {
        Core {
            options,
            observers: Observers::default(),
            generation: AtomicU64::new(1),
            members: Mutex::default(),
            destroyed: AtomicBool::new(false),
            log: OnceLock::new(),
            rounds: Arc::default(),
            looks: Arc::default(),
            silences: Arc::default(),
            leavings: Arc::default(),
            teller: Arc::default(),
            names: Names::default(),
            scheduling: OnceLock::new(),
            chooser: OnceLock::new(),
            rates: OnceLock::new(),
            declared: OnceLock::new(),
            queues,
            timers: Mutex::default(),
        }
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    pub(super) fn set_log(&self, log: Log) {
        let _ = self.log.set(log);
    }

    /// Reports whether the channel has queues. If not, events are delivered in the supplier's thread.
    pub(super) fn has_queues(&self) -> bool {
        self.queues.is_some()
    }

    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Acquire)
    }

    /// Creates a proxy to which a consumer can connect.
    pub(crate) fn consumer_proxy(
        self: &Arc<Self>,
        maker: Maker,
    ) -> Result<Arc<ConsumerProxy>, ConnectError> {
        let limit = self.options.limits.consumers;
        let elsewhere = maker.is_elsewhere();
        let mut members = self.members()?;
        if members.consumers.len() >= limit {
            return Err(ConnectError::Limit("consumers", limit));
        }
        if let Some(share) = self.options.limits.share_of(limit).filter(|_| elsewhere) {
            let theirs = members.consumers.values().filter(|it| it.maker.is_same_client(&maker));
            if theirs.count() >= share {
                return Err(ConnectError::Share(share));
            }
        }
        members.last += 1;
        let number = members.last;
        let proxy = Arc::new(ConsumerProxy::new(number, self, maker));
        members.consumers.insert(number, Arc::clone(&proxy));
        drop(members);
        self.watch_unused(elsewhere);
        Ok(proxy)
    }

    /// Creates a proxy to which a supplier can connect.
    pub(crate) fn supplier_proxy(
        self: &Arc<Self>,
        maker: Maker,
    ) -> Result<Arc<SupplierProxy>, ConnectError> {
        let limit = self.options.limits.suppliers;
        let elsewhere = maker.is_elsewhere();
        // Declared before the lock guard, and thus dropped after it: dropping the last reference to a proxy locks the
        // members.
        let mut theirs = Vec::new();
        let mut members = self.members()?;
        if members.suppliers.len() >= limit {
            return Err(ConnectError::Limit("suppliers", limit));
        }
        if let Some(share) = self.options.limits.share_of(limit).filter(|_| elsewhere) {
            theirs.extend(members.suppliers.values().filter_map(Weak::upgrade));
            let own = theirs.iter().filter(|it| it.maker.is_same_client(&maker));
            if own.count() >= share {
                return Err(ConnectError::Share(share));
            }
        }
        members.last += 1;
        let number = members.last;
        let proxy = Arc::new(SupplierProxy::new(number, self, maker));
        members.suppliers.insert(number, Arc::downgrade(&proxy));
        drop(members);
        self.watch_unused(elsewhere);
        Ok(proxy)
    }

    pub(crate) fn append_observer(
        self: &Arc<Self>,
        watcher: Watcher,
        maker: Maker,
    ) -> Result<u32, ConnectError> {
        drop(self.members()?);
        let appended = self.observers.append(watcher, maker, &**self, &self.options);
        self.tell_objects();
        appended
    }

    /// Creates the queue of a consumer if the channel has queues. `own` is the dispatch that the consumer requested.
    pub(super) fn queue(
        self: &Arc<Self>,
        number: u64,
        target: &Arc<Target>,
        qos: &ConsumerQos,
        own: Option<ConsumerDispatch>,
    ) -> Result<Option<ConsumerQueue>, ConnectError> {
        let Some(queues) = &self.queues else {
            return own.map_or(Ok(None), |_| Err(ConnectError::NoQueues));
        };
        let weak = Arc::downgrade(self);
        let release = move |why| {
            if let Some(core) = weak.upgrade() {
                core.release_consumer(number, why);
            }
        };
        let sink = Arc::new(Queued::new(Arc::clone(target), release));
        let follows = own.is_none();
        let dispatch = own.unwrap_or_else(|| self.choose(queues, qos));
        let queue = ConsumerQueue::connect(&queues.dispatcher, sink, dispatch, follows);
        queue.map(Some).map_err(ConnectError::Queue)
    }

    /// Returns the dispatch of a consumer: that of the schedule or, if it has none, the default one. The owner of the
    /// channel may modify it.
    fn choose(&self, queues: &Queues, qos: &ConsumerQos) -> ConsumerDispatch {
        let usual = queues.usual();
        let scheduled = self.scheduling.get();
        // If the service does not answer, use the default lane. `place` has the next check assign the scheduled one.
        let scheduled =
            scheduled.and_then(|scheduling| scheduling.place(qos, queues.lanes(), &usual).ok()?);
        self.chosen(qos, scheduled.unwrap_or(usual))
    }

    fn chosen(&self, qos: &ConsumerQos, dispatch: ConsumerDispatch) -> ConsumerDispatch {
        match self.chooser.get() {
            Some(chooser) => chooser(qos, dispatch),
            None => dispatch,
        }
    }

    /// Moves consumers to the lanes of a new schedule, if there is one. Consumers whose operations are not scheduled
    /// remain in their lanes.
    ///
    /// # Errors
    /// The service cannot be reached. In this case the next call places all consumers.
    pub(super) fn follow_schedule(&self) -> Result<(), SchedulingError> {
        let (Some(scheduling), Some(queues)) = (self.scheduling.get(), &self.queues) else {
            return Ok(());
        };
        if !scheduling.has_changed()? {
            return Ok(());
        }
        let usual = queues.usual();
        for consumer in self.consumers() {
            if let Some(queue) = consumer.scheduled_queue()
                && let Some(dispatch) = scheduling.place(consumer.qos(), queues.lanes(), &usual)?
            {
                queue.take_on(self.chosen(consumer.qos(), dispatch));
            }
        }
        Ok(())
    }

    pub(super) fn set_rates(&self, rates: Rates) {
        let _ = self.rates.set(rates);
    }

    pub(super) fn enforce_declared(&self, beyond: Beyond) {
        let _ = self.declared.set(beyond);
    }

    /// Returns the rate limit of a supplier: the one that the owner of the channel chose or, if there is none, the
    /// declared rate.
    pub(super) fn rate(&self, qos: &SupplierQos) -> Option<Rate> {
        let chosen = self.rates.get().and_then(|rates| rates(qos));
        chosen.or_else(|| {
            let (beyond, scheduling) = (self.declared.get()?, self.scheduling.get()?);
            let (period, burst) = scheduling.declared(qos)?;
            Some(Rate { period, burst, beyond: *beyond })
        })
    }

    pub(super) fn set_chooser(&self, chooser: Chooser) {
        let _ = self.chooser.set(chooser);
    }

    /// Starts to follow a schedule, with periodic checks for a new one.
    pub(super) fn set_scheduling(self: &Arc<Self>, scheduling: Scheduling) {
        let is_first = self.scheduling.set(scheduling).is_ok();
        if let (true, Some(_), Some(period)) = (is_first, &self.queues, self.options.reschedule) {
            let weak = Arc::downgrade(self);
            // Ignore the error: the service may answer at the next check.
            let look = move || weak.upgrade().map(|core| core.follow_schedule().ok()).is_some();
            self.begun("event-schedule", self.looks.begin("event-schedule", period, look));
        }
    }

    /// Reports a consumer, and all suppliers whose events may match its filter, to the scheduling service.
    pub(super) fn schedule_consumer(&self, consumer: &Connected) {
        let (number, program) = (consumer.number, consumer.program());
        if let Some(scheduling) = self.scheduling.get() {
            // The consumer was placed before it was added to those that a check moves, so a check in between would have
            // missed it.
            scheduling.look_anew();
        }
        self.tell_schedule(number, |scheduling| {
            scheduling.consumer(number, consumer.qos(), program)?;
            let suppliers = self.suppliers();
            let mut pairs = suppliers.iter();
            pairs.try_for_each(|supplier| scheduling.pair(number, program, &supplier.qos))
        });
    }

    /// Reports a supplier, and all consumers whose filters its events may match, to the scheduling service.
    pub(super) fn schedule_supplier(&self, number: u64, qos: &SupplierQos) {
        self.tell_schedule(number, |scheduling| {
            let consumers = self.consumers();
            let mut pairs = consumers.iter();
            pairs.try_for_each(|one| scheduling.pair(one.number, one.program(), qos))
        });
    }

    /// Withdraws the dependencies of a consumer on suppliers from the scheduling service.
    pub(super) fn unschedule_consumer(&self, consumer: &Connected) {
        if let Some(scheduling) = self.scheduling.get() {
            for supplier in self.suppliers() {
                scheduling.unpair(consumer.number, consumer.program(), &supplier.qos);
            }
            scheduling.forget(consumer.number);
        }
    }

    /// Withdraws the dependencies of consumers on a supplier from the scheduling service.
    pub(super) fn unschedule_supplier(&self, qos: &SupplierQos) {
        if let Some(scheduling) = self.scheduling.get() {
            for consumer in self.consumers() {
                scheduling.unpair(consumer.number, consumer.program(), qos);
            }
        }
    }

    /// Reports to the scheduling service. A failure is logged, but does not affect the connection.
    fn tell_schedule(
        &self,
        number: u64,
        tell: impl FnOnce(&Scheduling) -> Result<(), SchedulingError>,
    ) {
        if let Some(scheduling) = self.scheduling.get()
            && let Err(why) = tell(scheduling)
        {
            self.note(&Notice::NotScheduled(number, why));
        }
    }

    /// Creates the timers of a filter. Their events are delivered in a thread of the channel.
    pub(super) fn timers(
        self: &Arc<Self>,
        number: u64,
        program: &Program,
    ) -> Result<Vec<Timer>, ConnectError> {
        if program.timers().is_empty() {
            return Ok(Vec::new());
        }
        let limit = self.options.limits.timers;
        let mut timers = self.timers.lock();
        let timers = match &mut *timers {
            Some(timers) => timers,
            none => {
                let started = Timers::start("event-timers", Arc::new(Monotonic), limit, None);
                none.insert(started.map_err(|_| ConnectError::Thread)?)
            }
        };
        let add = |timer| {
            let weak = Arc::downgrade(self);
            timers.add(move |_| {
                if let Some(core) = weak.upgrade() {
                    core.fire(number, timer);
                }
            })
        };
        let added: Result<Vec<_>, _> = (0..program.timers().len()).map(add).collect();
        added.map_err(|_| ConnectError::Limit("timers", limit))
    }

    fn fire(self: &Arc<Self>, number: u64, timer: usize) {
        let proxy = self.lock().consumers.get(&number).cloned();
        let consumer = proxy.and_then(|proxy| proxy.connected());
        if let Some(Err(why)) = consumer.map(|consumer| consumer.fire(timer)) {
            self.release_consumer(number, why);
        }
    }

    /// Returns a reference whose calls have the time limit `call_timeout`.
    pub(crate) fn timed<I: oxorb::Interface>(&self, object: &I) -> I {
        target::timed(object, &self.options)
    }

    pub(crate) fn remove_observer(&self, handle: u32) -> bool {
        self.observers.remove(handle)
    }

    /// Returns the members. Fails if the channel was destroyed.
    fn members(&self) -> Result<MutexGuard<'_, Members>, ConnectError> {
        let members = self.lock();
        match self.is_destroyed() {
            true => Err(ConnectError::Destroyed),
            false => Ok(members),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock()
    }

    /// Notifies suppliers and observers that a consumer has connected or left. Observers are not notified about
    /// gateways.
    pub(super) fn consumers_changed(self: &Arc<Self>, is_gateway: bool) {
        self.generation.fetch_add(1, Ordering::Release);
        if !is_gateway {
            self.observers.tell(Change::Consumers, &**self);
            self.tell_objects();
        }
    }

    /// Notifies observers that a supplier has connected or left. They are not notified about gateways.
    pub(super) fn suppliers_changed(self: &Arc<Self>, is_gateway: bool) {
        if !is_gateway {
            self.observers.tell(Change::Suppliers, &**self);
            self.tell_objects();
        }
    }

    /// Wakes the thread of the channel that notifies remote observers.
    fn tell_objects(self: &Arc<Self>) {
        if !self.observers.has_objects() {
            return;
        }
        let weak = Arc::downgrade(self);
        let tell = move || weak.upgrade().map(|core| core.tell_objects_now()).is_some();
        self.begun("event-observers", self.teller.begin("event-observers", tell));
        self.teller.wake();
    }

    fn tell_objects_now(&self) {
        let failures = self.options.control.failures;
        for (handle, why) in self.observers.tell_objects(self, failures) {
            self.note(&Notice::ObserverReleased(handle, why));
        }
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns the connected consumers, in the order of creation of their proxies.
    pub(super) fn consumers(&self) -> Vec<Arc<Connected>> {
        let proxies: Vec<_> = self.lock().consumers.values().cloned().collect();
        proxies.iter().filter_map(|proxy| proxy.connected()).collect()
    }

    /// Returns the connected suppliers.
    pub(super) fn suppliers(&self) -> Vec<Arc<Supplying>> {
        let proxies = self.supplier_proxies();
        proxies.iter().filter_map(|proxy| proxy.connected()).collect()
    }

    pub(super) fn supplier_proxies(&self) -> Vec<Arc<SupplierProxy>> {
        let mut proxies = Vec::new();
        self.list_suppliers(&mut proxies);
        proxies
    }

    fn list_suppliers(&self, proxies: &mut Vec<Arc<SupplierProxy>>) {
        proxies.extend(self.lock().suppliers.values().filter_map(Weak::upgrade));
    }

    /// Returns the consumers whose filters the events of a supplier may match.
    pub(super) fn routes(&self, supplier: &Supplying) -> Routes {
        let concerned = |consumer: &Arc<Connected>| supplier.concerns(consumer, &self.options);
        let consumers = self.consumers().into_iter().filter(concerned);
        Routes::new(consumers.collect(), supplier.meter.clone())
    }

    /// Releases a consumer that no longer exists or that fails repeatedly.
    pub(super) fn release_consumer(self: &Arc<Self>, number: u64, why: Released) {
        let proxy = self.lock().consumers.get(&number).cloned();
        if let Some(consumer) = proxy.and_then(|proxy| proxy.end(self)) {
            // Notify a local servant, which may be waiting for events that will no longer arrive.
            consumer.target.call_back_local();
            self.note(&Notice::Released { side: Side::Consumer, number, why });
        }
    }

    /// Starts to ping peers that are objects. Called when such a peer connects.
    pub(super) fn watch(self: &Arc<Self>) {
        if let Some(period) = self.options.control.period {
            let weak = Arc::downgrade(self);
            let ask = move || weak.upgrade().map(|core| core.ask_all()).is_some();
            self.begun("event-control", self.rounds.begin("event-control", period, ask));
        }
    }

    /// Starts to check for silent suppliers that connected with nil. Called when such a supplier connects.
    pub(super) fn watch_silence(self: &Arc<Self>) {
        if let Some(idle) = self.options.supplier_idle {
            let weak = Arc::downgrade(self);
            // The vector is kept between checks, so that they do not allocate memory.
            let mut looked_at = Vec::new();
            let look = move || {
                weak.upgrade().map(|core| core.release_silent(idle, &mut looked_at)).is_some()
            };
            let period = (idle / 4).max(LEAST_LOOK);
            self.begun("event-silence", self.silences.begin("event-silence", period, look));
        }
    }

    /// Starts to check for proxies that remote clients obtained but never connected. Called when such a proxy is
    /// obtained.
    fn watch_unused(self: &Arc<Self>, elsewhere: bool) {
        if !elsewhere {
            return;
        }
        let grace = self.options.keep_unused;
        let weak = Arc::downgrade(self);
        // The vectors are kept between checks, so that they do not allocate memory.
        let (mut consumers, mut suppliers) = (Vec::new(), Vec::new());
        let look = move || {
            let look = |core: Arc<Core>| core.release_unused(grace, &mut consumers, &mut suppliers);
            weak.upgrade().map(look).is_some()
        };
        let period = (grace / 4).clamp(LEAST_LOOK, Duration::from_secs(5));
        self.begun("event-unused", self.leavings.begin("event-unused", period, look));
    }

    fn release_unused(
        &self,
        grace: Duration,
        consumers: &mut Vec<Arc<ConsumerProxy>>,
        suppliers: &mut Vec<Arc<SupplierProxy>>,
    ) {
        let now = Instant::now();
        consumers.extend(self.lock().consumers.values().cloned());
        consumers.drain(..).for_each(|proxy| proxy.release_unused(grace, now));
        self.list_suppliers(suppliers);
        suppliers.drain(..).for_each(|proxy| proxy.release_unused(grace, now));
    }

    fn release_silent(&self, idle: Duration, suppliers: &mut Vec<Arc<SupplierProxy>>) {
        self.list_suppliers(suppliers);
        suppliers.drain(..).for_each(|proxy| proxy.release_silent(idle));
    }

    /// Pings all peers, one after the other. Each peer that does not answer takes `control.timeout`.
    fn ask_all(self: &Arc<Self>) {
        for consumer in self.consumers() {
            let target = &consumer.target;
            match target.object().map(|object| self.ask(object)) {
                None => {}
                Some(Ok(())) => target.answered(),
                Some(Err(why)) => {
                    if let Err(why) = target.failed(why) {
                        self.release_consumer(consumer.number, why);
                    }
                }
            }
        }
        for proxy in self.supplier_proxies() {
            let Some(supplier) = proxy.connected() else {
                continue;
            };
            // A supplier may push without listening for calls. Release it only if the reply shows that it does not
            // exist.
            if let Some(Err(why)) = supplier.object().map(|object| self.ask(object))
                && why.kind == SystemExceptionKind::ObjectNotExist
            {
                proxy.release(Released::Gone);
            }
        }
    }

    fn ask(&self, object: &impl Interface) -> Result<(), SystemException> {
        let limited = object.reference().with_timeout(self.options.control.timeout);
        match limited.non_existent()? {
            false => Ok(()),
            true => Err(GONE),
        }
    }

    pub(super) fn forget_consumer(&self, number: u64) {
        self.lock().consumers.remove(&number);
    }

    pub(super) fn forget_supplier(&self, number: u64) {
        self.lock().suppliers.remove(&number);
    }

    /// Logs the error if a thread could not be started.
    fn begun(&self, thread: &'static str, begun: io::Result<()>) {
        if let Err(why) = begun {
            self.note(&Notice::NoThread(thread, why.to_string()));
        }
    }

    pub(crate) fn note(&self, notice: &Notice) {
        if let Some(log) = self.log.get() {
            log(notice);
        }
    }

    /// Ends the channel. Returns `false` if it was already destroyed.
    pub(crate) fn destroy(self: &Arc<Self>) -> bool {
        let mut members = self.lock();
        if self.destroyed.swap(true, Ordering::AcqRel) {
            return false;
        }
        let consumers = std::mem::take(&mut members.consumers);
        let suppliers = std::mem::take(&mut members.suppliers);
        drop(members);
        self.rounds.stop();
        self.looks.stop();
        self.silences.stop();
        self.leavings.stop();
        self.teller.stop();
        self.observers.clear();
        if let Some(queues) = &self.queues {
            // Waiting events have the time of one call to be delivered.
            queues.dispatcher.shut_down(self.options.call_timeout);
        }
        let mut calls: Calls = Vec::new();
        for consumer in consumers.values().filter_map(|proxy| proxy.close()) {
            consumer.target.call_back_local();
            if consumer.target.object().is_some() {
                calls.push(Box::new(move || consumer.target.call_back()));
            }
        }
        for proxy in suppliers.values().filter_map(Weak::upgrade) {
            match proxy.close() {
                Some(supplier) if supplier.object().is_some() => {
                    calls.push(Box::new(move || supplier.call_back()));
                }
                Some(supplier) => supplier.call_back(),
                None => {}
            }
        }
        side_by_side(calls, self.options.call_timeout.saturating_mul(DESTROY_CALLS));
        if let Some(scheduling) = self.scheduling.get() {
            scheduling.retract();
        }
        true
    }
}

impl Listed for Core {
    fn subscriptions(&self) -> ConsumerQos {
        let consumers = self.consumers();
        let apps = consumers.iter().filter(|one| !one.qos().is_gateway);
        observers::subscriptions(apps.map(|one| one.program().interest()))
    }

    fn publications(&self) -> SupplierQos {
        let suppliers = self.suppliers();
        let apps = suppliers.iter().filter(|one| !one.qos.is_gateway);
        let publications = apps.flat_map(|one| &one.qos.publications);
        observers::publications(publications.map(|one| one.event.header))
    }
}

impl Drop for Core {
    /// Disconnects local consumers, because they might wait for events otherwise. Only [`destroy`](Core::destroy)
    /// disconnects remote peers, because that may take a long time.
    fn drop(&mut self) {
        self.rounds.stop();
        self.looks.stop();
        self.silences.stop();
        self.leavings.stop();
        self.teller.stop();
        let consumers = std::mem::take(&mut self.lock().consumers);
        for consumer in consumers.values().filter_map(|proxy| proxy.close()) {
            consumer.target.call_back_local();
        }
    }
}

/// Makes calls with several threads. Starts no call after `limit`.
fn side_by_side(calls: Calls, limit: Duration) {
    let end = Instant::now().checked_add(limit);
    let in_time = || end.is_none_or(|end| Instant::now() < end);
    let threads = calls.len().min(SIDE_BY_SIDE);
    let calls = Mutex::new(calls.into_iter());
    let next = || calls.lock().next();
    let work = || {
        while let Some(call) = next() {
            if in_time() {
                call();
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            let thread = thread::Builder::new().name("event-destroy".into());
            // Ignore the error: without further threads the calls only take longer.
            let _ = thread.spawn_scoped(scope, work);
        }
        work();
    });
}

/// Exception that represents a reply of `true` to `_non_existent`.
const GONE: SystemException = SystemException::object_not_exist(
    oxorb::minor::object_not_exist::NO_OBJECT,
    oxorb::CompletionStatus::No,
);
