//! POAs that requests ask for and adapter activators make.

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

/// POAs that adapter activators are making.
#[derive(Default)]
pub(crate) struct Unknown {
    running: Mutex<Vec<Running>>,
    changed: Condvar,
}

/// Running call of `unknown_adapter`.
struct Running {
    path: Box<[u8]>,
    thread: ThreadId,
    /// The POA, and the POAs made below it: requests see them when all is done.
    kept_back: Vec<Arc<PoaInner>>,
}

impl Unknown {
    /// Whether a new POA must not be seen yet, because the activator that makes it
    /// or one above it is still at work.
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

    /// Begins to make a POA. `None`: another thread did while this waited, so look
    /// again.
    fn begin(&self, path: &[u8], until: Instant) -> Result<Option<Making<'_>>, SystemException> {
        let mut running = self.lock();
        let own = thread::current().id();
        let mut waited = false;
        while let Some(other) = running.iter().find(|running| *running.path == *path) {
            if other.thread == own {
                // Asked for by the activator that is to make it.
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

    /// Waits while another thread makes a POA: it may be there already, but its
    /// objects may not.
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

/// Guard of an activator that makes a POA.
struct Making<'u> {
    unknown: &'u Unknown,
    path: Box<[u8]>,
}

impl Making<'_> {
    /// Ends the call, whether the POA was made or not.
    fn end(self, adapter: &RootAdapter) {
        let kept_back = {
            let mut running = self.unknown.lock();
            let own = running.iter_mut().find(|running| running.path == self.path);
            own.map(|running| std::mem::take(&mut running.kept_back))
        };
        // First seen, then no longer in the making: who waits must find it.
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
    /// The POA of a path, which activators may make name by name; `None`: nobody
    /// did.
    pub(crate) fn resolve(
        self: &Arc<Self>,
        path: &[u8],
        until: Instant,
    ) -> Result<Option<Arc<PoaInner>>, SystemException> {
        let mut poa = Arc::clone(self.root());
        for name in names(path) {
            // A forged key.
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

    /// A child of a POA, made by its activator if need be.
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
            // Two of them at a time would share what is kept of its objects.
            if let Some(predecessor) = self.ending(&path) {
                if current::within(self) || !predecessor.life.wait_quiet(0, until, || false) {
                    return Err(POA_DESTROYED);
                }
                continue;
            }
            // The activator is called as the parent's objects are.
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
            // Somebody may have made it just before.
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
