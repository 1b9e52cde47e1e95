//! Threads that dispatch outlets.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use oxorb_rt::dispatch::{DispatchingModule, ModuleStartError};
use oxorb_sched::queue::{Taken, Timing};

use crate::LanePlan;
use crate::outlet::Shared;

/// Maximum number of entries of one outlet in the queue of a lane: one for its waiting events, and one for a later
/// event that is more urgent.
pub(crate) const TOKENS: u32 = 2;

thread_local! {
    /// Whether this thread, which serves one lane only, has called the lane's `at_start`.
    static STARTED: Cell<bool> = const { Cell::new(false) };
}

/// A dispatching module whose requests are turns, that is, dispatches of an outlet.
pub(crate) struct Lane<E: Clone + Send + 'static> {
    module: DispatchingModule<Arc<Shared<E>>>,
    /// Number of turns that have ended.
    ended: Arc<AtomicU64>,
    /// Value of `ended` at the last check.
    looked: AtomicU64,
}

impl<E: Clone + Send + 'static> Lane<E> {
    /// Starts the threads of the lane with this index.
    pub(crate) fn start(
        index: usize,
        plan: &LanePlan,
        outlets: usize,
    ) -> Result<Lane<E>, ModuleStartError> {
        let mut module = oxorb_rt::dispatch::ModulePlan::new(plan.name.clone(), plan.dispatching);
        module.threads = plan.threads;
        module.spares = plan.spares;
        module.scheduling = plan.scheduling;
        module.missed = plan.missed;
        module.cpus.clone_from(&plan.cpus);
        module.listed.clone_from(&plan.listed);
        module.capacity = outlets.saturating_mul(TOKENS as usize);
        let ended = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&ended);
        let at_start = plan.at_start.clone();
        let module = DispatchingModule::start(module, move |taken: Taken<Arc<Shared<E>>>| {
            if let Some(at_start) = &at_start
                && !STARTED.replace(true)
            {
                at_start.call();
            }
            match taken {
                Taken::Due(outlet) | Taken::Late(outlet) => outlet.turn_of_token(index),
                Taken::Dropped(outlet) => outlet.late_token(index),
            }
            count.fetch_add(1, Ordering::Relaxed);
        })?;
        Ok(Lane { module, ended, looked: AtomicU64::new(0) })
    }

    /// Queues a turn of an outlet. Returns `false` if the lane has stopped.
    pub(crate) fn dispatch(&self, outlet: Arc<Shared<E>>, timing: Timing) -> bool {
        self.module.dispatch(outlet, timing).is_ok()
    }

    /// Adds a spare thread if turns are waiting and none has ended since the last call.
    pub(crate) fn look(&self) {
        let ended = self.ended.load(Ordering::Relaxed);
        let before = self.looked.swap(ended, Ordering::Relaxed);
        if ended == before && self.module.counts().waiting > 0 {
            // Ignore the error: if no thread can be started, the outlets wait longer. Their queues are bounded, and
            // their drops are counted.
            let _ = self.module.reinforce();
        }
    }

    pub(crate) fn is_real_time(&self) -> bool {
        self.module.is_real_time()
    }

    pub(crate) fn stop(&self) {
        drop(self.module.stop());
    }

    pub(crate) fn wait_ended(&self, until: Instant) -> bool {
        self.module.wait_ended(until)
    }
}
