//! The ORB itself: what belongs to it. Where it is reached is in `addresses.rs`, how it works and ends in `life.rs`.

mod addresses;
mod both_ways;
mod exit_hooks;
mod life;
mod mutexes;
mod peers;
mod priorities;
mod scheduled;
mod threadpools;
mod watched;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use oxorb_cdr::ValueRegistry;
use oxorb_rt::Priority;

use self::peers::Peers;
use crate::client::{Alarms, Cache, Callbacks, Deliveries};
use crate::incident::Watch;
use crate::interceptor::Interceptors;
use crate::lock::Mutex;
use crate::log::{Log, LogLevel};
use crate::main_thread::MainThread;
use crate::options::Options;
use crate::policy::{OrbPolicies, PolicyManager};
use crate::published::PublishedAddress;
use crate::rt::{NamedMutexes, Scheduling};
use crate::scheduler::Enforcer;
use crate::server::{DispatchingModules, Followers, Listeners, Pools, Registry, Takeover};
use crate::sync::{
    Condvar,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use crate::threads::{ByPriority, Ends, Threads};
use crate::{Adapter, Incident, Ref, SetupError};

use exit_hooks::ExitHooks;
pub(crate) use life::Unanswered;

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
    callbacks: ByPriority<Callbacks>,
    alarms: ByPriority<Alarms>,
    deliveries: ByPriority<Deliveries>,
    adapter: OnceLock<Arc<dyn Adapter>>,
    peers: Mutex<Peers>,
    cache: Arc<Cache>,
    listeners: Listeners,
    /// Where we are reached; opened when the first object needs an address.
    published: OnceLock<Vec<PublishedAddress>>,
    opening: Mutex<()>,
    pools: Pools,
    registry: Registry,
    /// Take over connections that have threads of their own.
    followers: Followers,
    takeover: Takeover,
    watch: Watch,
    /// Connections to servers are offered for callbacks.
    offers: AtomicBool,
    scheduling: Arc<Scheduling>,
    threads: Arc<Threads>,
    /// The run-time scheduler, where there is a table for it.
    enforcer: Option<Arc<Enforcer>>,
    /// Its dispatching modules; started before the first connection is accepted.
    modules: OnceLock<Option<DispatchingModules>>,
    memory_locked: AtomicBool,
    mutexes: NamedMutexes,
    values: ValueRegistry,
    initial: Mutex<HashMap<String, Ref>>,
    closing: AtomicBool,
    exit_hooks: ExitHooks,
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
    /// Whether both are the same ORB.
    #[inline]
    pub(crate) fn is(&self, other: &Orb) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// An ORB without adapter: a client, until [`set_adapter`](Orb::set_adapter).
    pub fn new(options: Options) -> Orb {
        Orb::with_interceptors(options, Interceptors::default())
    }

    /// As [`new`](Orb::new), with interceptors that stay until the ORB ends.
    pub fn with_interceptors(options: Options, interceptors: Interceptors) -> Orb {
        crate::failure::explain_exceptions();
        if options.time_probes {
            crate::probe::on();
        }
        oxorb_cdr::on_large_buffer(crate::server::encodes);
        let scheduling = Arc::new(Scheduling::new(&options.realtime));
        let threads = Threads::new(&scheduling);
        let plan = options.realtime.scheduler.clone();
        let ignored = options.ignored.clone();
        let orb = Orb {
            inner: Arc::new(Inner {
                offers: AtomicBool::new(options.offer_bidirectional),
                watch: Watch::new(Log::new(options.log_level, options.log_file.clone())),
                memory_locked: AtomicBool::new(false),
                mutexes: NamedMutexes::default(),
                enforcer: plan.map(|plan| Arc::new(Enforcer::new(plan, &scheduling))),
                modules: OnceLock::new(),
                scheduling,
                policies: OrbPolicies::new(&options),
                options: Arc::new(options),
                interceptors: Arc::new(interceptors),
                callbacks: by_priority(&threads, Callbacks::new),
                alarms: by_priority(&threads, Alarms::new),
                deliveries: by_priority(&threads, Deliveries::new),
                adapter: OnceLock::new(),
                peers: Mutex::default(),
                cache: Arc::new(Cache::new(&threads)),
                threads,
                listeners: Listeners::default(),
                published: OnceLock::new(),
                opening: Mutex::new(()),
                pools: Pools::default(),
                registry: Registry::default(),
                followers: Followers::default(),
                takeover: Takeover::default(),
                values: ValueRegistry::default(),
                initial: Mutex::default(),
                closing: AtomicBool::new(false),
                exit_hooks: ExitHooks::default(),
                local_calls: AtomicUsize::new(0),
                unanswered: AtomicUsize::new(0),
                finished: AtomicBool::new(false),
                ended: Mutex::new(false),
                end: Condvar::new(),
                main: MainThread::default(),
            }),
        };
        for line in &ignored {
            orb.log(LogLevel::Warn, line);
        }
        orb
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

    /// Runs the reply handlers of calls that were made at `priority`.
    pub(crate) fn callbacks(&self, priority: Option<Priority>) -> Arc<Callbacks> {
        self.inner.callbacks.of(priority)
    }

    /// Wakes the tasks of calls that were made at `priority`.
    pub(crate) fn alarms(&self, priority: Option<Priority>) -> Arc<Alarms> {
        self.inner.alarms.of(priority)
    }

    /// Takes answers to reply handlers that are objects, of calls that were made at `priority`.
    pub(crate) fn deliveries(&self, priority: Option<Priority>) -> Arc<Deliveries> {
        self.inner.deliveries.of(priority)
    }

    /// Starts the threads of this ORB.
    pub(crate) fn thread_factory(&self) -> &Arc<Threads> {
        &self.inner.threads
    }

    /// Who finds servants. The first call decides.
    pub fn set_adapter(&self, adapter: Arc<dyn Adapter>) {
        let _ = self.inner.adapter.set(adapter);
    }

    /// A handle that does not keep the ORB alive.
    pub fn downgrade(&self) -> WeakOrb {
        WeakOrb(Arc::downgrade(&self.inner))
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

    /// Removes an initial reference that was registered.
    pub fn forget_initial_reference(&self, name: &str) {
        let mut initial = self.inner.initial.lock().expect(UNPOISONED);
        initial.remove(name);
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
        for peer in self.inner.peers.lock().expect(UNPOISONED).iter() {
            peer.set_both_ways(true);
        }
    }

    pub(crate) fn offers_bidirectional(&self) -> bool {
        self.inner.offers.load(Ordering::Relaxed)
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

    pub(crate) fn followers(&self) -> &Followers {
        &self.inner.followers
    }

    #[inline]
    pub(crate) fn takeover(&self) -> &Takeover {
        &self.inner.takeover
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.inner.registry
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
}

fn by_priority<T: Ends>(
    threads: &Arc<Threads>,
    make: impl Fn(&Arc<Threads>, Option<Priority>) -> T + Send + Sync + 'static,
) -> ByPriority<T> {
    let threads = Arc::clone(threads);
    ByPriority::new(move |priority| make(&threads, priority))
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

const UNPOISONED: &str = "no panic while the lock is held";
