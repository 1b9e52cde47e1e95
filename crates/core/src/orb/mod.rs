//! The ORB itself and its parts. Its addresses are in `addresses.rs`, its main loop and its end in `life.rs`.

mod access;
mod addresses;
mod admission;
mod both_ways;
mod budgets;
mod exit_hooks;
mod initial;
mod life;
mod metrics;
mod mutexes;
mod naming;
mod policies;
mod preconnect;
mod priorities;
mod protocols;
mod reported;
mod routes;
mod scheduled;
mod threadpools;
mod watched;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use oxorb_cdr::ValueRegistry;
use oxorb_rt::Priority;

use crate::client::{Alarms, Callbacks, ClientSide, Deliveries};
use crate::interceptor::Interceptors;
use crate::monitoring::metrics::Responder;
use crate::monitoring::{LogLevel, Watch};
use crate::options::Options;
use crate::policy::{OrbPolicies, PolicyManager};
use crate::scheduler::Enforcer;
use crate::server::{DispatchingModules, Pools, Registry, ServerSide};
use crate::shared::Shared;
use crate::threads::lock::Mutex;
use crate::threads::rt::{NamedMutexes, Scheduling};
use crate::threads::sync::{Condvar, atomic::AtomicBool};
use crate::threads::{MainThread, Threads};
use crate::{Adapter, Ref};

pub use addresses::Over;
use exit_hooks::ExitHooks;
pub(crate) use life::Unanswered;

/// ORB with its own addresses, connections, threads and settings; a process may have several. Cheap to clone.
///
/// The ORB lives until [`shutdown`](Orb::shutdown), whether or not a handle is kept.
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

/// Handle to an [`Orb`] that does not keep it alive.
#[derive(Clone)]
pub struct WeakOrb(Weak<Inner>);

struct Inner {
    /// Configuration, as in `shared`, but one access nearer for requests.
    options: Arc<Options>,
    /// State that both halves use.
    shared: Arc<Shared>,
    interceptors: Arc<Interceptors>,
    client: Arc<ClientSide>,
    server: Arc<ServerSide>,
    /// Dispatching modules of the run-time scheduler; started before the first connection is accepted.
    modules: OnceLock<Option<DispatchingModules>>,
    /// Adapter that finds servants, once it is set.
    adapter: OnceLock<Arc<dyn Adapter>>,
    initial: Mutex<HashMap<String, Ref>>,
    exit_hooks: ExitHooks,
    /// Whether the interceptors were notified of the end.
    finished: AtomicBool,
    ended: Mutex<bool>,
    end: Condvar,
    main: MainThread,
    /// Responder to requests for metrics, if it was started.
    responder: OnceLock<Responder>,
    /// Source of metrics of a gateway on top of the ORB: lines of OpenMetrics text.
    further_metrics: OnceLock<Box<dyn Fn() -> String + Send + Sync>>,
}

impl Orb {
    /// Reports whether both handles belong to the same ORB.
    #[inline]
    pub(crate) fn is(&self, other: &Orb) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Creates an ORB without an adapter: a client, until [`set_adapter`](Orb::set_adapter).
    pub fn new(options: Options) -> Orb {
        Orb::with_interceptors(options, Interceptors::default())
    }

    /// Creates an ORB as [`new`](Orb::new) does, with interceptors that stay until the ORB ends.
    pub fn with_interceptors(mut options: Options, mut interceptors: Interceptors) -> Orb {
        options.hold_time = options.hold_time.min(crate::threads::clock::LONGEST_WAIT);
        crate::error::failure::explain_exceptions();
        if options.time_probes {
            crate::probe::on();
        }
        oxorb_cdr::on_large_buffer(crate::server::encodes);
        let ignored = options.ignored.clone();
        let shared = Arc::new(Shared::new(options));
        if let Some(meter) = &shared.meter {
            interceptors.set_meter(meter);
        }
        let orb = Orb {
            inner: Arc::new(Inner {
                options: Arc::clone(&shared.options),
                client: Arc::new(ClientSide::new(&shared)),
                server: Arc::new(ServerSide::new(&shared)),
                modules: OnceLock::new(),
                adapter: OnceLock::new(),
                shared,
                interceptors: Arc::new(interceptors),
                initial: Mutex::default(),
                exit_hooks: ExitHooks::default(),
                finished: AtomicBool::new(false),
                ended: Mutex::new(false),
                end: Condvar::new(),
                main: MainThread::default(),
                responder: OnceLock::new(),
                further_metrics: OnceLock::new(),
            }),
        };
        if let Some(rules) = orb.options().access_rules.clone() {
            orb.log(LogLevel::Info, &rules.to_string());
        }
        for line in &ignored {
            orb.log(LogLevel::Warn, line);
        }
        orb
    }

    /// Returns the configuration.
    #[inline]
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Returns the interceptors with which the ORB was made.
    #[inline]
    pub fn interceptors(&self) -> &Arc<Interceptors> {
        &self.inner.interceptors
    }

    /// Returns the manager of the policies for all calls of this ORB.
    pub fn policies(&self) -> PolicyManager<'_> {
        self.inner.shared.policies.manager()
    }

    #[inline]
    pub(crate) fn policy_table(&self) -> &OrbPolicies {
        &self.inner.shared.policies
    }

    pub(crate) fn named_mutexes(&self) -> &NamedMutexes {
        &self.inner.shared.mutexes
    }

    /// Returns the callback thread that runs the reply handlers of calls made at `priority`.
    pub(crate) fn callbacks(&self, priority: Option<Priority>) -> Arc<Callbacks> {
        self.inner.client.callbacks.of(priority)
    }

    /// Returns the alarms that wake the tasks of calls made at `priority`.
    pub(crate) fn alarms(&self, priority: Option<Priority>) -> Arc<Alarms> {
        self.inner.client.alarms.of(priority)
    }

    /// Returns the queue of answers to reply handlers that are objects, for calls made at `priority`.
    pub(crate) fn deliveries(&self, priority: Option<Priority>) -> Arc<Deliveries> {
        self.inner.client.deliveries.of(priority)
    }

    /// Returns the factory of this ORB's threads.
    pub(crate) fn thread_factory(&self) -> &Arc<Threads> {
        &self.inner.shared.threads
    }

    /// Returns the state that both halves of the ORB use.
    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    /// Returns the client half.
    #[inline]
    pub(crate) fn client(&self) -> &Arc<ClientSide> {
        &self.inner.client
    }

    /// Returns the server half.
    #[inline]
    pub(crate) fn server(&self) -> &Arc<ServerSide> {
        &self.inner.server
    }

    /// Sets the adapter, which finds servants; the first call decides.
    pub fn set_adapter(&self, adapter: Arc<dyn Adapter>) {
        let _ = self.inner.adapter.set(adapter);
    }

    /// Returns a handle that does not keep the ORB alive.
    pub fn downgrade(&self) -> WeakOrb {
        WeakOrb(Arc::downgrade(&self.inner))
    }

    /// Registers a reference for `resolve_initial_references`, and replaces an earlier one of the same name.
    pub fn register_initial_reference(&self, name: &str, reference: &Ref) {
        self.inner.initial.lock().insert(name.to_owned(), reference.clone());
    }

    /// Removes a registered initial reference.
    pub fn forget_initial_reference(&self, name: &str) {
        let mut initial = self.inner.initial.lock();
        initial.remove(name);
    }

    /// Returns the adapter; a client without one has no objects.
    pub(crate) fn adapter(&self) -> Option<&dyn Adapter> {
        self.inner.adapter.get().map(|adapter| &**adapter)
    }

    /// Returns the registry of valuetypes that may arrive where the IDL of the receiver names neither them nor their
    /// bases: see [`ValueRegistry`].
    pub fn values(&self) -> &ValueRegistry {
        &self.inner.shared.values
    }

    /// Offers connections to servers for requests to objects here from now on, as with `offer_bidirectional`; only
    /// objects whose POA allows it can be called that way. For the adapter, when the first such POA is created.
    /// Connections that are open already carry requests one way only.
    pub fn offer_bidirectional(&self) {
        self.inner.client.offer_bidirectional();
    }

    /// Lends payloads from now on wherever the transport supports it, because some requests are refused if their
    /// payloads were copied ([`LargePayloads::InPlaceOnly`](crate::policy::LargePayloads::InPlaceOnly)). For the
    /// adapter, when the first POA with that policy is created.
    pub fn always_borrow_payloads(&self) {
        self.inner.shared.note_in_place_only();
    }

    pub(crate) fn offers_bidirectional(&self) -> bool {
        // An ORB that ends serves no requests over connections that it opens.
        self.inner.client.offers_bidirectional() && !self.is_closing()
    }

    /// Returns the scheduling of this ORB's threads, which maps CORBA priorities to native ones.
    #[inline]
    pub(crate) fn scheduling(&self) -> &Scheduling {
        &self.inner.shared.scheduling
    }

    /// Returns the run-time scheduler, if any.
    pub(crate) fn enforcer(&self) -> Option<&Arc<Enforcer>> {
        self.inner.shared.enforcer.as_ref()
    }

    /// Returns the run-time scheduler's dispatching modules, if any.
    #[inline]
    pub(crate) fn modules(&self) -> Option<&DispatchingModules> {
        self.inner.modules.get()?.as_ref()
    }

    pub(crate) fn pools(&self) -> &Pools {
        &self.server().pools
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.inner.shared.watch
    }

    #[inline]
    pub(crate) fn registry(&self) -> &Registry {
        &self.server().registry
    }

    pub(crate) fn initial_reference(&self, name: &str) -> Option<Ref> {
        self.inner.initial.lock().get(name).cloned()
    }

    pub(crate) fn initial_names(&self) -> Vec<String> {
        let initial = self.inner.initial.lock();
        initial.keys().cloned().collect()
    }
}

impl WeakOrb {
    /// Returns the ORB, if it still exists.
    pub fn upgrade(&self) -> Option<Orb> {
        self.0.upgrade().map(|inner| Orb { inner })
    }
}

impl fmt::Debug for Orb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Orb")
            .field("published", &self.shared().published.get())
            .field("closing", &self.is_closing())
            .finish()
    }
}
