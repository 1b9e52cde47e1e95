//! The ORB itself: configuration, addresses, connections, life and end.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use oxorb_cdr::ValueRegistry;
use oxorb_giop::{IiopEndpoint, SystemException, TaggedComponent, TcpProtocolProperties};
use oxorb_rt::Priority;
use oxorb_transport::{Endpoint, ListenError};

use crate::client::{Alarms, Cache, Callbacks, Deliveries, Peer};
use crate::incident::Watch;
use crate::interceptor::{DuplicateInterceptor, Interceptors};
use crate::lock::Mutex;
use crate::main_thread::{Busy, MainThread};
use crate::options::Options;
use crate::policy::{OrbPolicies, PolicyManager};
use crate::published::Address;
use crate::rt::{NamedMutexes, Scheduling};
use crate::scheduler::Enforcer;
use crate::server::{DispatchingModules, Lane, Listeners, OpenError, Pools, Registry};
use crate::sync::{
    Condvar,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use crate::{
    Adapter, Incident, Incompatible, Ref, SettingError, ThreadpoolError, ThreadpoolId, raise,
};

/// How long an orderly end waits for requests that are running.
const LAST_REQUESTS: Duration = Duration::from_secs(30);

/// How long an orderly end waits until buffered oneways are sent, over all servers.
const LAST_ONEWAYS: Duration = Duration::from_secs(5);

/// From so many server addresses on, those that no reference leads to are forgotten.
const MANY_PEERS: usize = 64;

/// An ORB: there may be several in a process, each with its own addresses,
/// connections, threads and settings. Cheap to clone.
///
/// It lives until [`shutdown`](Orb::shutdown), whether or not a handle is kept.
///
/// ```
/// use std::time::Duration;
///
/// use oxorb_core::{Options, Orb};
///
/// let mut options = Options::default();
/// options.round_trip_timeout = Some(Duration::from_millis(200));
/// let orb = Orb::new(options);
/// assert!(orb.string_to_object("corbaloc:rir:/NameService").is_err(), "nobody said where");
///
/// let ending = orb.clone();
/// std::thread::spawn(move || ending.shutdown(false));
/// orb.run(); // until then
/// ```
#[derive(Clone)]
pub struct Orb {
    inner: Arc<Inner>,
}

/// An [`Orb`] that does not keep it alive.
#[derive(Clone)]
pub struct WeakOrb(Weak<Inner>);

struct Inner {
    options: Arc<Options>,
    policies: OrbPolicies,
    interceptors: Arc<Interceptors>,
    callbacks: Callbacks,
    alarms: Arc<Alarms>,
    deliveries: Arc<Deliveries>,
    adapter: OnceLock<Arc<dyn Adapter>>,
    peers: Mutex<HashMap<(String, u16), Arc<Peer>>>,
    cache: Arc<Cache>,
    listeners: Listeners,
    /// Where we are reached; opened when the first object needs an address.
    published: OnceLock<Vec<Address>>,
    opening: Mutex<()>,
    pools: Pools,
    registry: Registry,
    watch: Watch,
    /// Connections to servers are offered for callbacks.
    offers: AtomicBool,
    scheduling: Scheduling,
    /// The run-time scheduler, where there is a table for it.
    enforcer: Option<Arc<Enforcer>>,
    /// Its dispatching modules; started before the first connection is accepted.
    modules: OnceLock<Option<DispatchingModules>>,
    memory_locked: AtomicBool,
    mutexes: NamedMutexes,
    values: ValueRegistry,
    initial: Mutex<HashMap<String, Ref>>,
    closing: AtomicBool,
    /// Calls to objects of this ORB from its own process, which no connection counts.
    local_calls: AtomicUsize,
    /// Requests that servants keep to answer them later.
    unanswered: AtomicUsize,
    /// Interceptors were told of the end.
    finished: AtomicBool,
    ended: Mutex<bool>,
    end: Condvar,
    main: MainThread,
}

impl Orb {
    /// An ORB without adapter: a client, until [`set_adapter`](Orb::set_adapter).
    pub fn new(options: Options) -> Orb {
        Orb::with_interceptors(options, Interceptors::default())
    }

    /// As [`new`](Orb::new), with interceptors that stay until the ORB ends.
    pub fn with_interceptors(options: Options, interceptors: Interceptors) -> Orb {
        if options.time_probes {
            crate::probe::on();
        }
        let scheduling = Scheduling::new(&options.realtime);
        let plan = options.realtime.scheduler.clone();
        Orb {
            inner: Arc::new(Inner {
                offers: AtomicBool::new(options.offer_bidirectional),
                watch: Watch::default(),
                memory_locked: AtomicBool::new(false),
                mutexes: NamedMutexes::default(),
                enforcer: plan.map(|plan| Arc::new(Enforcer::new(plan, &scheduling))),
                modules: OnceLock::new(),
                scheduling,
                policies: OrbPolicies::new(&options),
                options: Arc::new(options),
                interceptors: Arc::new(interceptors),
                callbacks: Callbacks::default(),
                alarms: Arc::default(),
                deliveries: Arc::default(),
                adapter: OnceLock::new(),
                peers: Mutex::default(),
                cache: Arc::default(),
                listeners: Listeners::default(),
                published: OnceLock::new(),
                opening: Mutex::new(()),
                pools: Pools::default(),
                registry: Registry::default(),
                values: ValueRegistry::default(),
                initial: Mutex::default(),
                closing: AtomicBool::new(false),
                local_calls: AtomicUsize::new(0),
                unanswered: AtomicUsize::new(0),
                finished: AtomicBool::new(false),
                ended: Mutex::new(false),
                end: Condvar::new(),
                main: MainThread::default(),
            }),
        }
    }

    /// The configuration.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// The interceptors it was made with.
    #[inline]
    pub fn interceptors(&self) -> &Arc<Interceptors> {
        &self.inner.interceptors
    }

    /// The policies of all calls of this ORB, to be read and changed.
    pub fn policies(&self) -> PolicyManager<'_> {
        self.inner.policies.manager()
    }

    #[inline]
    pub(crate) fn policy_table(&self) -> &OrbPolicies {
        &self.inner.policies
    }

    pub(crate) fn named_mutexes(&self) -> &NamedMutexes {
        &self.inner.mutexes
    }

    pub(crate) fn callbacks(&self) -> &Callbacks {
        &self.inner.callbacks
    }

    pub(crate) fn alarms(&self) -> &Arc<Alarms> {
        &self.inner.alarms
    }

    pub(crate) fn deliveries(&self) -> &Arc<Deliveries> {
        &self.inner.deliveries
    }

    /// Who finds servants. The first call decides.
    pub fn set_adapter(&self, adapter: Arc<dyn Adapter>) {
        let _ = self.inner.adapter.set(adapter);
    }

    /// A handle that does not keep the ORB alive.
    pub fn downgrade(&self) -> WeakOrb {
        WeakOrb(Arc::downgrade(&self.inner))
    }

    /// Opens the listening endpoints, if that has not happened yet. Creating
    /// the first object reference does it, too.
    pub fn listen(&self) -> Result<(), SetupError> {
        self.published().map(drop)
    }

    /// A reference to an object of this ORB: its key at our published addresses.
    pub fn create_reference(&self, type_id: &str, key: &[u8]) -> Result<Ref, SetupError> {
        self.create_reference_with(type_id, key, &[])
    }

    /// The same with further components in each profile that has room for them.
    pub fn create_reference_with(
        &self,
        type_id: &str,
        key: &[u8],
        components: &[TaggedComponent],
    ) -> Result<Ref, SetupError> {
        let addresses = self.published()?;
        let addresses = addresses.iter().map(Address::parts);
        let native = self.options().native_chars;
        let ior = crate::initial::build_ior(type_id, key, components, native, addresses);
        Ok(Ref::new(self, ior))
    }

    /// A reference to an object of this ORB that lanes of a threadpool serve: those whose priority is `wanted`, or the
    /// one lane of a pool without. For the object adapter.
    ///
    /// With lanes every address travels with the priority of its lane, as by TAO (TAO_TAG_ENDPOINTS); clients that do
    /// not know that use the first.
    ///
    /// # Errors
    /// [`ThreadpoolError::Unknown`]; [`ThreadpoolError::BadParameter`] when no lane is wanted.
    pub fn create_lane_reference(
        &self,
        pool: ThreadpoolId,
        wanted: impl Fn(Priority) -> bool,
        type_id: &str,
        key: &[u8],
        components: &[TaggedComponent],
    ) -> Result<Ref, ThreadpoolError> {
        let found = self.inner.pools.addresses(pool, wanted);
        let found = found.ok_or(ThreadpoolError::Unknown(pool))?;
        let Some((first, priority)) = found.addresses.first() else {
            return Err(ThreadpoolError::BadParameter(
                "no lane of the threadpool serves this priority",
            ));
        };
        let native = self.options().native_chars;
        let mut components = components.to_vec();
        if found.has_lanes {
            let endpoint = |(address, priority): &(Address, Priority)| {
                let (host, port) = (address.host.clone(), address.port);
                (IiopEndpoint { host, port }, priority.get())
            };
            let all: Vec<_> = found.addresses.iter().map(endpoint).collect();
            components.push(TaggedComponent::tao_endpoints(&all));
        }
        // One profile: its address, and others of the same lane as alternates of it.
        let same =
            |(address, of): &&(Address, Priority)| of == priority && address.port == first.port;
        let addresses = found.addresses.iter().filter(same);
        let addresses = addresses.map(|(address, _)| address.parts());
        let ior = crate::initial::build_ior(type_id, key, &components, native, addresses);
        Ok(Ref::new(self, ior))
    }

    /// How connections are set up that a threadpool, or the ORB's own threads, accept from now on
    /// (ServerProtocolPolicy). For the object adapter; the first call for each decides.
    pub fn set_server_tcp(&self, pool: Option<ThreadpoolId>, tcp: TcpProtocolProperties) {
        match pool {
            Some(pool) => self.inner.pools.set_tcp(pool, tcp),
            None => self.inner.listeners.set_tcp(tcp),
        }
    }

    /// Keeps the memory of the process in RAM, if that is wanted and has not happened yet.
    pub(crate) fn lock_memory(&self) {
        if !self.options().realtime.lock_memory
            || self.inner.memory_locked.swap(true, Ordering::Relaxed)
        {
            return;
        }
        if let Err(error) = oxorb_sys::memory::lock_all() {
            let who = || "process".to_owned();
            self.note(Incident::MemoryNotLocked, who, || error.to_string());
        }
    }

    /// Registers a reference that `resolve_initial_references` then gives.
    /// An earlier one of the same name is replaced.
    pub fn register_initial_reference(&self, name: &str, reference: &Ref) {
        self.inner
            .initial
            .lock()
            .expect(UNPOISONED)
            .insert(name.to_owned(), reference.clone());
    }

    /// Blocks until the ORB was shut down and the requests that were running
    /// have ended. Meanwhile this is the ORB's main thread, and does what only
    /// that one may do.
    pub fn run(&self) {
        let _main = self.inner.main.enter();
        loop {
            self.perform_work();
            let mut ended = self.inner.ended.lock().expect(UNPOISONED);
            while !*ended && !self.work_pending() {
                ended = self.inner.end.wait(ended).expect(UNPOISONED);
            }
            if *ended {
                break;
            }
        }
        self.finish();
    }

    /// Whether something waits for the main thread.
    pub fn work_pending(&self) -> bool {
        !self.inner.main.is_empty()
    }

    /// Does what waits for the main thread, for programs whose main thread has
    /// a loop of its own: the calling thread is the main thread while this runs.
    pub fn perform_work(&self) {
        let _main = self.inner.main.enter();
        while !self.is_closing()
            && let Some(job) = self.inner.main.pop()
        {
            job();
        }
    }

    /// Has the main thread do something, when it comes to it; at the end of the
    /// ORB it is dropped undone.
    ///
    /// # Errors
    /// [`Busy`] when `most` wait already, or the ORB ends.
    pub fn run_on_main(&self, job: Box<dyn FnOnce() + Send>, most: usize) -> Result<(), Busy> {
        let ended = self.inner.ended.lock().expect(UNPOISONED);
        if *ended {
            return Err(Busy);
        }
        self.inner.main.push(job, most)?;
        self.inner.end.notify_all();
        Ok(())
    }

    /// Whether the calling thread is in [`run`](Self::run) or
    /// [`perform_work`](Self::perform_work) of this ORB.
    pub fn is_main_thread(&self) -> bool {
        self.inner.main.is_here()
    }

    /// Ends the ORB: takes no new request, lets those that run finish and
    /// their replies go out, tells clients CloseConnection, closes everything.
    ///
    /// `wait_for_completion` blocks until that is done (at most 30 s for
    /// requests that do not end, or are not [answered](crate::Later)); it is
    /// `BAD_INV_ORDER` from within a request, which would wait for itself. Otherwise [`run`](Orb::run) sees to the end.
    pub fn shutdown(&self, wait_for_completion: bool) -> Result<(), SystemException> {
        if wait_for_completion && within_request() {
            return Err(raise::WOULD_DEADLOCK);
        }
        self.inner.closing.store(true, Ordering::SeqCst);
        self.inner.listeners.close();
        self.inner.pools.close();
        self.inner.registry.close();
        if let Some(adapter) = self.adapter() {
            adapter.closing();
        }
        *self.inner.ended.lock().expect(UNPOISONED) = true;
        self.inner.main.clear();
        self.inner.end.notify_all();
        if wait_for_completion {
            self.finish();
        }
        Ok(())
    }

    /// Whether the ORB was shut down or is about to be.
    pub fn is_closing(&self) -> bool {
        self.inner.closing.load(Ordering::Relaxed)
    }

    fn finish(&self) {
        let until = Instant::now() + LAST_REQUESTS;
        if !self.inner.registry.wait_empty(Some(until)) {
            self.inner.registry.cut();
        }
        self.await_served(until);
        if let Some(modules) = self.modules() {
            modules.stop(until);
        }
        self.inner.listeners.end();
        self.inner.pools.end();
        if let Some(adapter) = self.inner.adapter.get() {
            adapter.close();
        }
        let peers: Vec<_> = self
            .inner
            .peers
            .lock()
            .expect(UNPOISONED)
            .values()
            .cloned()
            .collect();
        let until = Instant::now() + LAST_ONEWAYS;
        for peer in &peers {
            peer.flush(until);
        }
        self.inner.cache.close();
        for peer in &peers {
            peer.close();
        }
        self.inner.callbacks.close();
        self.inner.alarms.close();
        self.inner.deliveries.close();
        if !self.inner.finished.swap(true, Ordering::SeqCst) {
            self.inner.interceptors.destroy();
        }
    }

    /// Until no call from this process to an object of it is running and all that is to be answered later is, or
    /// `until`.
    fn await_served(&self, until: Instant) {
        let inner = &self.inner;
        let mut ended = inner.ended.lock().expect(UNPOISONED);
        while inner.local_calls.load(Ordering::SeqCst) > 0
            || inner.unanswered.load(Ordering::SeqCst) > 0
        {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return;
            };
            ended = self
                .inner
                .end
                .wait_timeout(ended, left)
                .expect(UNPOISONED)
                .0;
        }
    }

    /// A call from this process to an object of it begins; it ends when the
    /// result is dropped. Once the ORB ends only calls made by calls are taken.
    pub(crate) fn begin_local(&self) -> Result<LocalCall<'_>, SystemException> {
        self.inner.local_calls.fetch_add(1, Ordering::SeqCst);
        let nested = within_request();
        LOCAL_DEPTH.with(|depth| depth.set(depth.get() + 1));
        let call = LocalCall(self);
        if self.inner.closing.load(Ordering::SeqCst) && !nested {
            return Err(raise::ORB_SHUT_DOWN);
        }
        Ok(call)
    }

    /// A request is kept to be answered later; `None` when as many are as may.
    pub(crate) fn keep_unanswered(&self) -> Option<Unanswered> {
        let before = self.inner.unanswered.fetch_add(1, Ordering::SeqCst);
        let kept = Unanswered(self.clone());
        (before < self.options().max_unanswered).then_some(kept)
    }

    /// The one adapter; a client without one knows no objects.
    pub(crate) fn adapter(&self) -> Option<&dyn Adapter> {
        self.inner.adapter.get().map(|adapter| &**adapter)
    }

    /// The valuetypes that may arrive where neither they nor their bases' IDL file is known: see
    /// [`ValueRegistry`].
    pub fn values(&self) -> &ValueRegistry {
        &self.inner.values
    }

    /// From now on connections to servers are offered for requests to objects
    /// here, as with `offer_bidirectional`; only objects whose POA allows it can
    /// be called so. For the adapter, when the first such POA is created.
    /// Connections that are open keep to one way.
    pub fn offer_bidirectional(&self) {
        self.inner.offers.store(true, Ordering::Relaxed);
        for peer in self.inner.peers.lock().expect(UNPOISONED).values() {
            peer.set_both_ways(true);
        }
    }

    pub(crate) fn offers_bidirectional(&self) -> bool {
        self.inner.offers.load(Ordering::Relaxed)
    }

    /// Where this ORB listens, as far as it does by now.
    pub(crate) fn listen_points(&self) -> Option<Vec<IiopEndpoint>> {
        let point = |address: &Address| IiopEndpoint {
            host: address.host.clone(),
            port: address.port,
        };
        let addresses = self.inner.published.get()?;
        Some(addresses.iter().map(point).collect())
    }

    /// How priorities become those of threads.
    #[inline]
    pub(crate) fn scheduling(&self) -> &Scheduling {
        &self.inner.scheduling
    }

    /// The run-time scheduler.
    pub(crate) fn enforcer(&self) -> Option<&Arc<Enforcer>> {
        self.inner.enforcer.as_ref()
    }

    /// The run-time scheduler's dispatching modules, where there are any.
    #[inline]
    pub(crate) fn modules(&self) -> Option<&DispatchingModules> {
        self.inner.modules.get()?.as_ref()
    }

    /// Starts them, if that has not happened yet.
    pub(crate) fn start_modules(&self) -> Result<(), SetupError> {
        if self.inner.modules.get().is_none() {
            let started = DispatchingModules::start(self).map_err(SetupError::Threads)?;
            // If somebody was quicker, these end unused.
            let _ = self.inner.modules.set(started);
        }
        Ok(())
    }

    pub(crate) fn pools(&self) -> &Pools {
        &self.inner.pools
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.inner.watch
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// The one `Peer` of an address.
    pub(crate) fn peer(&self, host: &str, port: u16) -> Arc<Peer> {
        let mut peers = self.inner.peers.lock().expect(UNPOISONED);
        // A server that calls back ever new clients must not remember them all.
        if peers.len() >= MANY_PEERS && peers.len().is_power_of_two() {
            peers.retain(|_, peer| Arc::strong_count(peer) > 1 || peer.is_called_back());
        }
        let peer = peers.entry((host.to_owned(), port)).or_insert_with(|| {
            let (options, cache) = (&self.inner.options, &self.inner.cache);
            let peer = Peer::new(host, port, Arc::clone(options), Arc::clone(cache));
            peer.set_both_ways(self.offers_bidirectional());
            Arc::new(peer)
        });
        if self.is_closing() {
            peer.close();
        }
        Arc::clone(peer)
    }

    /// Whether an address is one of those we publish.
    pub(crate) fn is_own_address(&self, host: &str, port: u16) -> bool {
        self.inner.published.get().is_some_and(|addresses| {
            addresses
                .iter()
                .any(|own| own.port == port && own.host == host)
        }) || self.inner.pools.is_own_address(host, port)
    }

    pub(crate) fn initial_reference(&self, name: &str) -> Option<Ref> {
        self.inner
            .initial
            .lock()
            .expect(UNPOISONED)
            .get(name)
            .cloned()
    }

    pub(crate) fn initial_names(&self) -> Vec<String> {
        let initial = self.inner.initial.lock().expect(UNPOISONED);
        initial.keys().cloned().collect()
    }

    fn published(&self) -> Result<&[Address], SetupError> {
        if let Some(addresses) = self.inner.published.get() {
            return Ok(addresses);
        }
        let _one_at_a_time = self.inner.opening.lock().expect(UNPOISONED);
        if self.is_closing() {
            return Err(SetupError::ShutDown);
        }
        if self.inner.published.get().is_none() {
            let default = [Endpoint::new("", 0)];
            let wanted = match self.options().listen.as_slice() {
                [] => &default,
                listed => listed,
            };
            self.start_modules()?;
            let lane = || Lane::of_orb(self);
            let open = self.inner.listeners.open(self, wanted, lane)?;
            let mut addresses = Vec::new();
            for endpoint in &open {
                for address in self.addresses_of(endpoint)? {
                    if !addresses.contains(&address) {
                        addresses.push(address);
                    }
                }
            }
            let _ = self.inner.published.set(addresses);
        }
        Ok(self.inner.published.get().expect("set above"))
    }
}

impl WeakOrb {
    /// The ORB, if it still exists.
    pub fn upgrade(&self) -> Option<Orb> {
        self.0.upgrade().map(|inner| Orb { inner })
    }
}

impl fmt::Debug for Orb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Orb")
            .field("published", &self.inner.published.get())
            .field("closing", &self.is_closing())
            .finish()
    }
}

/// A call to an object of the caller's own ORB while it runs.
pub(crate) struct LocalCall<'o>(&'o Orb);

impl Drop for LocalCall<'_> {
    fn drop(&mut self) {
        LOCAL_DEPTH.with(|depth| depth.set(depth.get() - 1));
        let inner = &self.0.inner;
        if inner.local_calls.fetch_sub(1, Ordering::SeqCst) == 1 {
            inner.last_ended();
        }
    }
}

/// A request that is to be answered later, until it is.
pub(crate) struct Unanswered(Orb);

impl Drop for Unanswered {
    fn drop(&mut self) {
        let inner = &self.0.inner;
        if inner.unanswered.fetch_sub(1, Ordering::SeqCst) == 1 {
            inner.last_ended();
        }
    }
}

impl Inner {
    /// Whoever ends the ORB may wait for that.
    fn last_ended(&self) {
        if self.closing.load(Ordering::SeqCst) {
            // With the lock, or the notice might come before the wait.
            let _ended = self.ended.lock().expect(UNPOISONED);
            self.end.notify_all();
        }
    }
}

crate::sync::thread_local! {
    /// Calls to objects of this process that this thread is in.
    static LOCAL_DEPTH: Cell<u32> = const { Cell::new(0) };
    /// This thread serves requests that came over the wire.
    static SERVER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread serves requests, or is in a call to an object of its process.
pub(crate) fn within_request() -> bool {
    SERVER_THREAD.with(Cell::get) || LOCAL_DEPTH.with(Cell::get) > 0
}

/// Called once by every thread that serves requests.
pub(crate) fn mark_server_thread() {
    SERVER_THREAD.with(|here| here.set(true));
}

const UNPOISONED: &str = "no panic while the lock is held";

/// Why an ORB cannot be made or cannot listen.
///
/// `Debug` prints what `Display` does, so that a `main` which returns it is
/// readable.
#[non_exhaustive]
pub enum SetupError {
    /// An argument or environment variable.
    Setting(SettingError),
    /// Two options that contradict each other.
    Incompatible(Incompatible),
    /// A threadpool of the configuration, by its name.
    Threadpool(String, Box<ThreadpoolError>),
    /// A configuration file or personality; says where and what.
    Configuration(Box<dyn std::error::Error + Send + Sync>),
    /// An endpoint that cannot be opened; says what to do about it.
    Listen(ListenError),
    /// The system gives no further thread, or no poller.
    Threads(std::io::Error),
    /// The system does not tell under which addresses it is reached.
    Interfaces(std::io::Error),
    /// Two interceptors of one kind have the same name.
    DuplicateInterceptor(DuplicateInterceptor),
    /// What an interceptor raised while the ORB was made.
    Interceptor(SystemException),
    /// The ORB was shut down.
    ShutDown,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Setting(error) => error.fmt(f),
            SetupError::Incompatible(error) => error.fmt(f),
            SetupError::Threadpool(name, error) => write!(f, "threadpool {name}: {error}"),
            SetupError::Configuration(error) => error.fmt(f),
            SetupError::Listen(error) => error.fmt(f),
            SetupError::Threads(error) => write!(
                f,
                "the system gives no thread to serve requests: {error}; raise the limit on \
                 processes (ulimit -u) or use fewer workers"
            ),
            SetupError::Interfaces(error) => write!(
                f,
                "cannot find the addresses of this host: {error}; name one with \
                 -ORBListenEndpoints iiop://HOST:PORT"
            ),
            SetupError::DuplicateInterceptor(error) => error.fmt(f),
            SetupError::Interceptor(exception) => {
                write!(
                    f,
                    "an interceptor does not let the ORB be made: {exception}"
                )
            }
            SetupError::ShutDown => f.write_str("the ORB was shut down"),
        }
    }
}

impl fmt::Debug for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SetupError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SetupError::Setting(error) => Some(error),
            SetupError::Incompatible(error) => Some(error),
            SetupError::Threadpool(_, error) => Some(&**error),
            SetupError::Configuration(error) => Some(&**error),
            SetupError::Listen(error) => Some(error),
            SetupError::Threads(error) | SetupError::Interfaces(error) => Some(error),
            SetupError::DuplicateInterceptor(error) => Some(error),
            SetupError::Interceptor(exception) => Some(exception),
            SetupError::ShutDown => None,
        }
    }
}

impl From<SettingError> for SetupError {
    fn from(error: SettingError) -> Self {
        SetupError::Setting(error)
    }
}

impl From<OpenError> for SetupError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Listen(error) => SetupError::Listen(error),
            OpenError::Threads(error) => SetupError::Threads(error),
        }
    }
}

impl From<SetupError> for SystemException {
    /// For code that only knows CORBA exceptions.
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::ShutDown => raise::ORB_SHUT_DOWN,
            SetupError::Threads(_) => raise::NO_THREAD,
            _ => raise::CANNOT_LISTEN,
        }
    }
}
