//! Admission of requests to a POA, and the tracking of requests that are still inside.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use oxorb_core::lock::{Condvar, Mutex, MutexGuard};

use crate::ManagerState;
use crate::poa::PoaInner;
use crate::policies::ThreadPolicy;

/// Admission of requests to a POA. Each request holds the pass while it is inside.
///
/// The POA's entry in the table of POAs holds the current pass. A change of the manager's state, or
/// the destruction of the POA, replaces it; when the last request drops the old pass, no request
/// that began before the change still runs. Requests are thus tracked without a shared counter.
pub(crate) struct Pass {
    pub(crate) incarnation: u64,
    pub(crate) state: ManagerState,
    /// Whether requests for active objects may be dispatched without further checks.
    pub(crate) open: bool,
    /// Whether requests for active objects may be dispatched once their priority, thread and
    /// protocol are checked.
    pub(crate) open_at_priority: bool,
    /// Whether requests have a priority that must be determined first, or must run on specific
    /// threads.
    pub(crate) real_time: bool,
    pub(crate) poa: Arc<PoaInner>,
}

impl Pass {
    pub(crate) fn new(poa: &Arc<PoaInner>, state: ManagerState) -> Pass {
        poa.life.lock().passes += 1;
        let real_time = poa.is_real_time();
        // Each request of such a POA must be checked for its priority, thread or protocol before it
        // is dispatched.
        let choosy = real_time || poa.policies.secure_only;
        let open =
            state == ManagerState::Active && poa.policies.thread == ThreadPolicy::OrbControlled;
        Pass {
            incarnation: poa.incarnation,
            state,
            open: open && !choosy,
            open_at_priority: open && choosy,
            real_time,
            poa: Arc::clone(poa),
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.poa.life.lock().passes -= 1;
        self.poa.life.changed.notify_all();
    }
}

/// Counts of the passes that requests may still hold, and of the objects whose servants have not
/// been returned yet.
#[derive(Default)]
pub(crate) struct Life {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Default)]
struct Counts {
    passes: usize,
    /// Ids of objects that were deactivated and not yet returned to the servant activator, each
    /// with its number of occurrences.
    leaving: HashMap<Box<[u8]>, usize>,
}

impl Life {
    /// Records that an object is being deactivated.
    pub(crate) fn leave(&self, id: &[u8]) {
        *self.lock().leaving.entry(id.into()).or_default() += 1;
    }

    /// Records that an object's deactivation has completed.
    pub(crate) fn left(&self, id: &[u8]) {
        let mut counts = self.lock();
        if let Some(leaving) = counts.leaving.get_mut(id) {
            *leaving -= 1;
            if *leaving == 0 {
                counts.leaving.remove(id);
            }
        }
        drop(counts);
        self.changed.notify_all();
    }

    pub(crate) fn is_leaving(&self, id: &[u8]) -> bool {
        self.lock().leaving.contains_key(id)
    }

    /// Waits until an object's deactivation has completed; `false` on a time-out.
    pub(crate) fn wait_left(&self, id: &[u8], until: Instant) -> bool {
        self.wait(until, |counts| !counts.leaving.contains_key(id))
    }

    /// Waits until there are no more than `passes` passes and no object is leaving, or `enough`
    /// returns `true`; `false` on a time-out.
    pub(crate) fn wait_quiet(
        &self,
        passes: usize,
        until: Instant,
        enough: impl Fn() -> bool,
    ) -> bool {
        self.wait(until, |counts| {
            (counts.passes <= passes && counts.leaving.is_empty()) || enough()
        })
    }

    /// Reports whether no request is in the POA and all servants have been returned.
    pub(crate) fn is_over(&self) -> bool {
        let counts = self.lock();
        counts.passes == 0 && counts.leaving.is_empty()
    }

    /// Makes waiting threads check their conditions again.
    pub(crate) fn nudge(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    fn wait(&self, until: Instant, done: impl Fn(&Counts) -> bool) -> bool {
        let mut counts = self.lock();
        while !done(&counts) {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return false;
            };
            counts = self.changed.wait_timeout(counts, left).0;
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock()
    }
}
