//! A POA as requests see it, and who is still inside.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use oxorb_core::lock::{Condvar, Mutex, MutexGuard};

use crate::ManagerState;
use crate::poa::PoaInner;
use crate::policies::ThreadPolicy;

/// Admission of requests to a POA, held by each while it is there.
///
/// The POA's place in the table of POAs holds the present one. When the state of
/// its manager changes, or it is destroyed, another takes its place, and when the
/// last request lets go of the old one no request runs any more that began
/// before. So requests are counted without touching a counter.
pub(crate) struct Pass {
    pub(crate) incarnation: u64,
    pub(crate) state: ManagerState,
    /// Requests for active objects may go straight to them.
    pub(crate) open: bool,
    /// Whether requests may pass at their priority, on the right threads, and over the right
    /// protocols.
    pub(crate) open_at_priority: bool,
    /// Requests run at a priority that must be found out first, or on threads that they may have missed.
    pub(crate) real_time: bool,
    pub(crate) poa: Arc<PoaInner>,
}

impl Pass {
    pub(crate) fn new(poa: &Arc<PoaInner>, state: ManagerState) -> Pass {
        poa.life.lock().passes += 1;
        let real_time = poa.is_real_time();
        // Requests are looked at before they go on.
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

/// Count of the requests and objects that are still in a POA.
#[derive(Default)]
pub(crate) struct Life {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Default)]
struct Counts {
    passes: usize,
    /// Ids of objects that were deactivated and not given back to the servant
    /// activator yet, and how often.
    leaving: HashMap<Box<[u8]>, usize>,
}

impl Life {
    /// An object begins to leave.
    pub(crate) fn leave(&self, id: &[u8]) {
        *self.lock().leaving.entry(id.into()).or_default() += 1;
    }

    /// An object has left.
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

    /// Waits until an object has left; false when `until` came first.
    pub(crate) fn wait_left(&self, id: &[u8], until: Instant) -> bool {
        self.wait(until, |counts| !counts.leaving.contains_key(id))
    }

    /// Waits until there are no more than `passes` and no object is leaving, or
    /// `enough` says so; false when `until` came first.
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

    /// Reports whether the POA is empty.
    pub(crate) fn is_over(&self) -> bool {
        let counts = self.lock();
        counts.passes == 0 && counts.leaving.is_empty()
    }

    /// Lets those who wait look again.
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
