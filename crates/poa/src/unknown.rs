//! POAs that adapter activators create on request.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Instant;

use oxorb_core::lock::{Condvar, Mutex, MutexGuard};
use oxorb_object::SystemException;

use crate::adapter::RootAdapter;
use crate::key::{names, path_with};
use crate::poa::{Poa, PoaInner};
use crate::policies::ThreadPolicy;
use crate::refusal::{DISCARDED, NO_POA, POA_DESTROYED, UNKNOWN_ADAPTER};
use crate::{ManagerState, current};

/// POAs that adapter activators are creating.
#[derive(Default)]
pub(crate) struct Unknown {
    running: Mutex<Vec<Running>>,
    changed: Condvar,
}

/// Running call of `unknown_adapter`.
struct Running {
    path: Box<[u8]>,
    thread: ThreadId,
    /// The POA, and the POAs created below it; visible to requests only when the call has ended.
    kept_back: Vec<Arc<PoaInner>>,
}

impl Unknown {
    /// Reports whether a new POA must stay hidden, because the call of an adapter activator that
    /// creates the POA or one of its ancestors has not returned. If so, records the POA.
    pub(crate) fn keep_back(&self, poa: &Arc<PoaInner>) -> bool {
        let mut running = self.lock();
        let above = running.iter_mut().find(|running| poa.path.starts_with(&running.path));
        match above {
            Some(running) => {
                running.kept_back.push(Arc::clone(poa));
                true
            }
            None => false,
        }
    }

    /// Begins to create a POA. Returns `None` if another thread created it while this one waited;
    /// the caller then has to look up the POA again.
    fn begin(&self, path: &[u8], until: Instant) -> Result<Option<Making<'_>>, SystemException> {
        let mut running = self.lock();
        let own = thread::current().id();
        let mut waited = false;
        while let Some(other) = running.iter().find(|running| *running.path == *path) {
            if other.thread == own {
                // The activator call that is to create the POA runs on this thread and requests the
                // POA itself, so it would wait for its own end.
                return Err(NO_POA);
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return Err(DISCARDED);
            };
            running = self.changed.wait_timeout(running, left).0;
            waited = true;
        }
        if waited {
            return Ok(None);
        }
        running.push(Running { path: path.into(), thread: own, kept_back: Vec::new() });
        Ok(Some(Making { unknown: self, path: path.into() }))
    }

    /// Waits while another thread creates a POA: the POA may exist already, but not yet its
    /// objects.
    fn settle(&self, path: &[u8], until: Instant) -> Result<(), SystemException> {
        let mut running = self.lock();
        let own = thread::current().id();
        while running.iter().any(|running| *running.path == *path && running.thread != own) {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return Err(DISCARDED);
            };
            running = self.changed.wait_timeout(running, left).0;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Running>> {
        self.running.lock()
    }
}

/// Guard of an activator call that creates a POA.
struct Making<'u> {
    unknown: &'u Unknown,
    path: Box<[u8]>,
}

impl Making<'_> {
    /// Ends the call, whether or not the POA was created.
    fn end(self, adapter: &RootAdapter) {
        let kept_back = {
            let mut running = self.unknown.lock();
            let own = running.iter_mut().find(|running| running.path == self.path);
            own.map(|running| std::mem::take(&mut running.kept_back))
        };
        // Make the POAs visible before `drop` ends the call, so that threads that wait for its end
        // find them.
        adapter.reveal(kept_back.unwrap_or_default());
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.unknown.lock().retain(|running| running.path != self.path);
        self.unknown.changed.notify_all();
    }
}

impl RootAdapter {
    /// Returns the POA of a path. Adapter activators create missing POAs one by one, starting below
    /// the root; `None` if one of these is not created.
    pub(crate) fn resolve(
        self: &Arc<Self>,
        path: &[u8],
        until: Instant,
    ) -> Result<Option<Arc<PoaInner>>, SystemException> {
        let mut poa = Arc::clone(self.root());
        for name in names(path) {
            // Only a forged key contains an invalid name.
            let Some((name, _)) = name else {
                return Ok(None);
            };
            match self.child_of(&poa, name, until)? {
                Some(child) => poa = child,
                None => return Ok(None),
            }
        }
        Ok(Some(poa))
    }

    /// Returns a child of a POA, created by its activator if necessary.
    pub(crate) fn child_of(
        self: &Arc<Self>,
        parent: &Arc<PoaInner>,
        name: &str,
        until: Instant,
    ) -> Result<Option<Arc<PoaInner>>, SystemException> {
        let Some(path) = path_with(&parent.path, name) else {
            return Ok(None);
        };
        loop {
            self.unknown.settle(&path, until)?;
            let child = parent.child(name).filter(|child| !child.is_destroyed());
            if child.is_some() {
                return Ok(child);
            }
            let activator = parent.activator.lock().clone();
            let Some(activator) = activator else {
                return Ok(None);
            };
            if parent.is_destroyed() {
                return Ok(None);
            }
            // Wait until the destruction of an earlier POA with this path has completed. Otherwise
            // servants of both POAs might use the same application state at the same time.
            if let Some(predecessor) = self.ending(&path) {
                if current::within(self) || !predecessor.life.wait_quiet(0, until, || false) {
                    return Err(POA_DESTROYED);
                }
                continue;
            }
            // Call the activator only when the parent could serve a request: its manager is active,
            // and no request runs if the parent is single-threaded.
            if parent.manager.state() != ManagerState::Active {
                parent.manager.admit(self.limits.max_held, until)?;
                continue;
            }
            let _turn = match parent.policies.thread {
                ThreadPolicy::SingleThread => Some(parent.turn.enter(self.limits.max_held, until)?),
                _ => None,
            };
            let Some(making) = self.unknown.begin(&path, until)? else {
                continue;
            };
            // Check again, because another thread may have created the child before this one
            // registered its call.
            if parent.child(name).is_some() {
                making.end(self);
                continue;
            }
            let made = {
                let _here = current::enter_manager(self, parent, None);
                let handle = Poa::of(self, parent);
                panic::catch_unwind(AssertUnwindSafe(|| activator.unknown_adapter(&handle, name)))
            };
            making.end(self);
            return match made {
                Ok(Ok(true)) => Ok(parent.child(name)),
                Ok(Ok(false)) => Ok(None),
                Ok(Err(_)) | Err(_) => Err(UNKNOWN_ADAPTER),
            };
        }
    }
}
