//! The service: its CORBA objects, and the state that all channels share.

mod factory;
mod objects;
mod registry;
mod restore;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use crate::etcl::Grammar;
use oxorb::poa::Poa;
use oxorb::rt::ThreadPurpose;
use oxorb::{Any, CompletionStatus, Interface as _, ObjectRef, Ref, SystemException, minor};
use oxorb_delivery::{Counts, Dispatcher, LanePlan, Plan, Timers};
use oxorb_sys::sync::{Mutex, MutexGuard, RwLock};

use crate::cos_notification::EventType as TypeName;
use crate::cos_notify_channel_admin::EventChannelRef;
use crate::cos_notify_filter::{FilterFactoryRef, FilterRef, MappingFilterRef};
use crate::filter::{Abroad, FilterObject, FilterUse, Home};
use crate::memory::Memory;
use crate::problem::{GONE, too_many};
use crate::properties::Support;
use crate::proxy::Peer;
use crate::share::{Maker, Shares};
use crate::store::{Ids, Keeper};
use crate::types::Types;
use crate::unused::{Unused, Usable as _};
use crate::{Error, Limits, Settings};

pub(crate) use crate::kind::Kind;
use registry::Registry;

/// Maximum number of timers of all channels. An outlet needs a timer for pacing, retries and start times.
const TIMERS: usize = 65_536;

/// A channel, as the service uses it.
pub(crate) trait Hosted: Send + Sync {
    fn reference(&self) -> Result<EventChannelRef, SystemException>;

    fn counts(&self) -> Counts;

    fn set_name(&self, name: &str) -> Result<(), SystemException>;

    fn name(&self) -> Option<&str>;

    /// Ends the channel. Returns the peers that were connected. The caller must notify them.
    fn end(&self) -> Result<Vec<Peer>, SystemException>;

    /// Stops the channel's threads within this time. Does not call peers.
    fn stop(&self, limit: Duration);
}

/// Function that receives log lines.
pub(crate) type Log = dyn Fn(&str) + Send + Sync;

/// State that all channels share.
pub(crate) struct Service {
    pub(crate) settings: Settings,
    poa: Poa,
    /// Number that distinguishes the object ids of this service from those of other services.
    number: u64,
    last: AtomicI32,
    last_filter: AtomicI32,
    /// Store; `None` if all objects end with the process.
    pub(crate) keeper: Option<Arc<Keeper>>,
    channels: Mutex<BTreeMap<i32, Arc<dyn Hosted>>>,
    /// Lock that is held while a channel is created, so that concurrent calls cannot exceed the limit.
    creating: Mutex<()>,
    /// Ids of the channels that have names.
    names: Mutex<BTreeMap<String, i32>>,
    pub(super) channel_shares: Arc<Shares>,
    filters: Mutex<BTreeMap<i32, Arc<FilterObject>>>,
    filter_shares: Arc<Shares>,
    pub(crate) abroad: Arc<Abroad>,
    /// Proxies and filters that clients have created, to be removed if they stay unused.
    pub(crate) unused: Arc<Unused>,
    registry: Registry,
    factory: OnceLock<Ref>,
    filter_factory: OnceLock<Ref>,
    timers: Timers,
    /// Number of suppliers from which the service pulls.
    pulling: AtomicUsize,
    pub(crate) pulling_shares: Arc<Shares>,
    pub(crate) memory: Arc<Memory>,
    log: RwLock<Option<Arc<Log>>>,
    /// Dispatcher of notifications to peers, such as those about changed types.
    pub(crate) updates: Dispatcher<()>,
}

impl Service {
    pub(crate) fn new(
        poa: Poa,
        number: u64,
        settings: Settings,
        keeper: Option<Arc<Keeper>>,
    ) -> Result<Service, Error> {
        let clock = Plan::reactive().clock;
        let timers = Timers::start("oxorb-event-timers", clock, TIMERS, None);
        let timers = timers.map_err(|error| Error::Threads(Box::new(error)))?;
        let updates = Plan {
            name: "oxorb-event-updates".to_owned(),
            timers: Some(timers.clone()),
            outlets: settings.limits.channels.saturating_mul(settings.limits.proxies).min(1 << 16),
            ..Plan::lanes([LanePlan {
                threads: 1,
                spares: 4,
                ..LanePlan::new("oxorb-event-updates")
            }])
        };
        Ok(Service {
            log: RwLock::default(),
            memory: Memory::new(settings.limits.held_octets),
            poa,
            number,
            last: AtomicI32::new(0),
            last_filter: AtomicI32::new(0),
            keeper,
            channels: Mutex::default(),
            creating: Mutex::default(),
            names: Mutex::default(),
            channel_shares: Arc::default(),
            filters: Mutex::default(),
            filter_shares: Arc::default(),
            abroad: Arc::default(),
            unused: Unused::new(settings.keep_unused, &timers),
            registry: Registry::default(),
            factory: OnceLock::new(),
            filter_factory: OnceLock::new(),
            updates: Dispatcher::start(updates).map_err(|error| Error::Threads(Box::new(error)))?,
            pulling: AtomicUsize::new(0),
            pulling_shares: Arc::default(),
            settings,
            timers,
        })
    }

    /// Reports whether the ORB of the service ends.
    pub(crate) fn is_closing(&self) -> bool {
        self.poa.orb().is_none_or(|orb| orb.is_closing())
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    pub(crate) fn support(&self) -> Support {
        Support::of(&self.settings.limits, self.keeper.is_some())
    }

    /// Starts a thread that belongs to the ORB.
    pub(crate) fn start_thread(
        &self,
        purpose: ThreadPurpose,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), SystemException> {
        let orb = self.poa.orb().ok_or(GONE)?;
        let minor = minor::no_resources::THREADS;
        let none = SystemException::no_resources(minor, CompletionStatus::No);
        orb.start_thread(purpose, name, work).map_err(|_| none)
    }

    /// Reports whether stored objects are being restored. Current limits do not apply to them.
    pub(crate) fn is_restoring(&self) -> bool {
        let keeper = self.keeper.as_ref();
        keeper.is_some_and(|keeper| keeper.is_restoring())
    }

    /// Counts another supplier from which the service pulls. Returns `false` if the limit is reached.
    pub(crate) fn begin_pulling(&self) -> bool {
        let most = match self.is_restoring() {
            true => usize::MAX,
            false => self.limits().pulled_suppliers,
        };
        let more = |pulling: usize| (pulling < most).then_some(pulling + 1);
        let counted = self.pulling.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        counted.is_ok()
    }

    pub(crate) fn set_log(&self, log: Arc<Log>) {
        *self.log.write() = Some(log);
    }

    /// Passes a line to the log function, if there is one.
    pub(crate) fn log(&self, line: &str) {
        // Clone the function, so that the lock is not held while it is called.
        let log = self.log.read().clone();
        if let Some(log) = log {
            log(line);
        }
    }

    /// Creates a subscription or an offer, and charges its memory.
    pub(crate) fn types(&self, list: Vec<TypeName>) -> Result<Types, SystemException> {
        Types::of(list, &self.memory, self.is_restoring())
    }

    pub(crate) fn end_pulling(&self) {
        self.pulling.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the sum of the counters of all channels.
    pub(crate) fn counts(&self) -> Counts {
        let channels: Vec<_> = self.channels().values().cloned().collect();
        let mut sum = Counts::default();
        for channel in channels {
            sum += channel.counts();
        }
        sum
    }

    /// Ends all channels without calling peers, because the ORB is shutting down.
    pub(crate) fn stop(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.close();
        }
        let channels = std::mem::take(&mut *self.channels());
        for channel in channels.values() {
            channel.stop(self.settings.call_timeout);
        }
        if let Some(keeper) = &self.keeper {
            keeper.end();
        }
    }

    /// Waits until all removals are on disk. Called by operations that end an object. Raises PERSIST_STORE while the
    /// service is ending, because nothing is removed from the store then.
    pub(crate) fn flush(&self) -> Result<(), SystemException> {
        match &self.keeper {
            Some(keeper) => keeper.flush(),
            None => Ok(()),
        }
    }

    /// Returns a new number for a channel, an admin or a proxy.
    pub(crate) fn next(&self) -> Result<i32, SystemException> {
        let next = |last: i32| last.checked_add(1);
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let id = last.map_err(|_| too_many(minor::imp_limit::EVENT_PROXIES))? + 1;
        self.reserve(Ids::Objects, id)?;
        Ok(id)
    }

    fn reserve(&self, ids: Ids, id: i32) -> Result<(), SystemException> {
        match &self.keeper {
            Some(keeper) => keeper.reserve(ids, id),
            None => Ok(()),
        }
    }

    /// Creates the dispatcher of a channel, with additional capacity for its stored proxies.
    pub(crate) fn dispatcher<E: Clone + Send + 'static>(
        &self,
        stored_proxies: usize,
    ) -> Result<Dispatcher<E>, SystemException> {
        let plan = Plan {
            name: "oxorb-events".to_owned(),
            outlets: self.limits().proxies.max(stored_proxies),
            timers: Some(self.timers.clone()),
            ..Plan::lanes([LanePlan {
                threads: self.settings.threads.max(1),
                spares: self.settings.spare_threads,
                ..LanePlan::new("oxorb-events")
            }])
        };
        let no_threads =
            SystemException::no_resources(minor::no_resources::THREADS, CompletionStatus::No);
        Dispatcher::start(plan).map_err(|_| no_threads)
    }

    pub(crate) fn factory(&self) -> Option<&Ref> {
        self.factory.get()
    }

    pub(crate) fn filter_factory(&self) -> Option<FilterFactoryRef> {
        self.filter_factory.get().cloned().map(FilterFactoryRef::from_ref)
    }

    pub(crate) fn channels(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<dyn Hosted>>> {
        self.channels.lock()
    }

    fn creating(&self) -> MutexGuard<'_, ()> {
        self.creating.lock()
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<String, i32>> {
        self.names.lock()
    }

    /// Creates a filter object. If there is a default value, it is a mapping filter.
    fn make_filter(
        self: &Arc<Self>,
        grammar: Grammar,
        default: Option<Any>,
    ) -> Result<Ref, SystemException> {
        let full = too_many(minor::imp_limit::EVENT_FILTERS);
        let maker = Maker::current();
        let share = maker.take(&self.filter_shares, self.limits().filters, self.limits())?;
        let mut filters = self.filters.lock();
        if filters.len() >= self.limits().filters {
            return Err(full);
        }
        let next = |last: i32| last.checked_add(1);
        let last = self.last_filter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let id = last.map_err(|_| full)? + 1;
        self.reserve(Ids::Filters, id)?;
        let mapping = default.is_some();
        let filter = FilterObject::new(&self.home(), id, grammar, default)?.counted(share);
        let filter = Arc::new(filter);
        filters.insert(id, Arc::clone(&filter));
        drop(filters);
        let activated = self.serve_filter(id, mapping, Arc::clone(&filter));
        let reference = activated.inspect_err(|_| drop(self.filters.lock().remove(&id)))?;
        self.unused.add(maker, &filter);
        Ok(reference)
    }

    /// Returns the id of the local filter to which a reference refers.
    fn filter_id(&self, reference: &Ref) -> Option<i32> {
        let reference = ObjectRef::from_ref(reference.clone());
        let (kind, id) = self.object(&self.poa.reference_to_id(&reference).ok()?)?;
        (kind == Kind::Filter).then_some(id)
    }

    fn serve_filter(
        &self,
        id: i32,
        mapping: bool,
        filter: Arc<FilterObject>,
    ) -> Result<Ref, SystemException> {
        match mapping {
            true => self.activate::<MappingFilterRef, _>(Kind::Filter, id, filter),
            false => self.activate::<FilterRef, _>(Kind::Filter, id, filter),
        }
    }

    /// Returns the interface through which filters use the service.
    pub(crate) fn home(self: &Arc<Self>) -> Weak<dyn Home> {
        let service: Arc<dyn Home> = self.clone();
        Arc::downgrade(&service)
    }
}

impl Home for Service {
    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn is_restoring(&self) -> bool {
        Service::is_restoring(self)
    }

    fn abroad(&self) -> &Arc<Abroad> {
        &self.abroad
    }

    fn keeper(&self) -> Option<&Arc<Keeper>> {
        self.keeper.as_ref()
    }

    fn bounded(&self, reference: &Ref) -> Ref {
        reference.with_timeout(self.settings.call_timeout)
    }

    fn own_filter(&self, reference: &Ref) -> Option<FilterUse> {
        let id = self.filter_id(reference)?;
        self.filters.lock().get(&id).map(FilterUse::of)
    }

    fn remove_filter(&self, id: i32, unused: bool) -> Result<(), SystemException> {
        let mut filters = self.filters.lock();
        // The result stays valid while the list is locked, because new uses begin with the list locked.
        let may_go = filters.get(&id).is_some_and(|filter| !unused || filter.is_unused());
        let removed = may_go.then(|| filters.remove(&id));
        drop(filters);
        removed.ok_or(GONE)?;
        self.deactivate(Kind::Filter, id);
        Ok(())
    }
}
