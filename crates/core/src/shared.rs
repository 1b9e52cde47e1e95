//! State that both halves of an ORB share: its configuration, its counters and log, its schedulers,
//! and its threads.

use std::sync::{Arc, OnceLock};

use oxorb_cdr::ValueRegistry;
use oxorb_object::SystemException;
use oxorb_sys::cgroup::ControlGroups;

use crate::Incident;
use crate::monitoring::metrics::Meter;
use crate::monitoring::{Log, Watch};
use crate::options::Options;
use crate::policy::OrbPolicies;
use crate::reference::{LaneOf, PublishedAddress};
use crate::scheduler::Enforcer;
use crate::scheduler::admission::{AdmissionDesk, allowed};
use crate::scheduler::budget::Ledger;
use crate::threads::Threads;
use crate::threads::rt::{NamedMutexes, Priorities, RealTime, Scheduling};
use crate::threads::sync::atomic::{AtomicBool, Ordering};

/// State that neither half of an ORB owns.
pub(crate) struct Shared {
    pub(crate) options: Arc<Options>,
    /// Policies of all calls.
    pub(crate) policies: OrbPolicies,
    /// Counters, observer and log.
    pub(crate) watch: Arc<Watch>,
    /// Counts of calls and requests, if metrics are asked for.
    pub(crate) meter: Option<Arc<Meter>>,
    /// Scheduling of threads by priorities.
    pub(crate) scheduling: Arc<Scheduling>,
    /// Starts all threads.
    pub(crate) threads: Arc<Threads>,
    /// Run-time scheduler, if a table is configured.
    pub(crate) enforcer: Option<Arc<Enforcer>>,
    /// Budgets of this server, if configured.
    pub(crate) budgets: Option<Arc<Ledger>>,
    /// Admissions, if configured.
    pub(crate) admission: Option<AdmissionDesk>,
    /// Addresses of the ORB, which references publish and the client half offers for callbacks; set when the first
    /// object needs one.
    pub(crate) published: OnceLock<Vec<PublishedAddress>>,
    /// Named mutexes.
    pub(crate) mutexes: NamedMutexes,
    /// Valuetypes that can be received.
    pub(crate) values: ValueRegistry,
    /// Whether a POA rejects payloads that were copied.
    in_place_only: AtomicBool,
    closing: AtomicBool,
    memory_locked: AtomicBool,
}

impl Shared {
    pub(crate) fn new(options: Options) -> Shared {
        let scheduling = Arc::new(Scheduling::new(&options.realtime));
        let plan = options.realtime.scheduler.clone();
        let watch = Watch::new(Log::new(options.log_level, options.log_file.clone()));
        let watch = Arc::new(watch);
        let threads = Threads::new(&scheduling);
        let admission = options.realtime.admission;
        let watched = threads.are_real_time().then_some(options.realtime.budget_quantum);
        let rules = options.realtime.budgets.as_deref();
        let budgets = rules.or(admission.map(|_| &[][..])).map(|rules| {
            let RealTime { budget_quantum, overrun_hooks, .. } = &options.realtime;
            Ledger::new(rules, *budget_quantum, overrun_hooks.clone(), &watch, &threads)
        });
        Shared {
            policies: OrbPolicies::new(&options),
            budgets,
            admission: admission.map(|plan| {
                let groups = ControlGroups::of_process("/");
                let allowed = allowed(&groups, threads.are_real_time());
                AdmissionDesk::new(plan, watched, allowed)
            }),
            watch,
            meter: options.metrics.map(|_| Arc::new(Meter::new())),
            threads,
            enforcer: plan.map(|plan| Arc::new(Enforcer::new(plan, &scheduling))),
            scheduling,
            published: OnceLock::new(),
            mutexes: NamedMutexes::default(),
            values: ValueRegistry::default(),
            in_place_only: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            memory_locked: AtomicBool::new(false),
            options: Arc::new(options),
        }
    }

    /// Reports whether the ORB was shut down or a shutdown has begun.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Reports whether a shutdown has begun, sequentially consistent with the counters of running
    /// requests.
    pub(crate) fn is_closed(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Records that a POA rejects payloads that were copied.
    pub(crate) fn note_in_place_only(&self) {
        self.in_place_only.store(true, Ordering::Relaxed);
    }

    /// Reports whether a POA rejects payloads that were copied.
    pub(crate) fn has_in_place_only(&self) -> bool {
        self.in_place_only.load(Ordering::Relaxed)
    }

    /// Records that a shutdown has begun.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    /// Counts and reports an incident.
    #[cold]
    pub(crate) fn note(
        &self,
        incident: Incident,
        peer: impl FnOnce() -> String,
        detail: impl FnOnce() -> String,
    ) {
        self.watch.note(incident, peer, detail);
    }

    /// Counts a request that is answered with an exception before its dispatch, if requests are counted. `lane`: that
    /// of the calling thread.
    #[cold]
    pub(crate) fn count_refused(&self, lane: Option<LaneOf>, exception: SystemException) {
        if let Some(meter) = &self.meter {
            meter.request_refused(lane, exception);
        }
    }

    /// Returns the priority settings of this ORB's threads.
    #[inline]
    pub(crate) fn priorities(&self) -> Priorities<'_> {
        Priorities { scheduling: &self.scheduling, watch: &self.watch }
    }

    /// Locks the memory of the process in RAM, if configured and not done yet.
    pub(crate) fn lock_memory(&self) {
        if !self.options.realtime.lock_memory || self.memory_locked.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Err(error) = oxorb_sys::memory::lock_all() {
            let who = || "process".to_owned();
            self.note(Incident::MemoryNotLocked, who, || error.to_string());
        }
    }
}
