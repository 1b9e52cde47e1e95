//! POA managers, which control whether requests pass to a group of POAs.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_core::lock::{Condvar, Mutex, MutexGuard};
use oxorb_object::SystemException;

use crate::PoaError;
use crate::adapter::RootAdapter;
use crate::current;
use crate::poa::PoaInner;
use crate::refusal::{DISCARDED, INACTIVE, TIMED_OUT, WOULD_DEADLOCK};

/// State of a manager, which determines the treatment of requests (POAManager states).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ManagerState {
    /// A bounded number of requests wait, each for a bounded time.
    Holding,
    /// Requests pass.
    Active,
    /// Requests are rejected with TRANSIENT, so that clients retry.
    Discarding,
    /// Requests are rejected with OBJ_ADAPTER, permanently.
    Inactive,
}

/// Manager that controls whether requests reach its POAs (`PortableServer::POAManager`). Cheap to
/// clone.
///
/// Managers start active, unlike those of the specification, so that a newly activated object can
/// be called at once. If objects must not be called before all of them exist, call
/// [`hold_requests`](Self::hold_requests) first.
///
/// An active manager adds no cost to a request, because its state is part of data that the request
/// loads in any case. Changing the state takes a lock and allocates.
#[derive(Clone)]
pub struct PoaManager(Arc<Shared>);

pub(crate) struct Shared {
    id: String,
    adapter: Weak<RootAdapter>,
    state: AtomicU8,
    change: Mutex<Change>,
    changed: Condvar,
}

#[derive(Default)]
struct Change {
    /// Number of waiting requests.
    held: usize,
    poas: Vec<Weak<PoaInner>>,
}

impl PoaManager {
    pub(crate) fn new(id: String, adapter: Weak<RootAdapter>) -> Self {
        PoaManager(Arc::new(Shared {
            id,
            adapter,
            state: AtomicU8::new(ManagerState::Active as u8),
            change: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// Returns the manager's name, given at its creation or generated (`get_id`).
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Returns the current state (`get_state`).
    pub fn state(&self) -> ManagerState {
        self.0.state()
    }

    /// Lets requests pass, starting with those held.
    ///
    /// # Errors
    /// [`PoaError::AdapterInactive`] if the manager was deactivated.
    pub fn activate(&self) -> Result<(), PoaError> {
        self.change(ManagerState::Active).map(drop)
    }

    /// Holds requests: at most `-ORBMaxHeld` of them, each for at most `-ORBHoldTime`. A held
    /// request occupies the thread that serves it. Requests beyond either limit raise TRANSIENT.
    ///
    /// With `wait_for_completion`, returns when all earlier requests have ended, or the state has
    /// changed again.
    ///
    /// # Errors
    /// [`PoaError::AdapterInactive`] if the manager was deactivated; `BAD_INV_ORDER` 3 if
    /// `wait_for_completion` is set within a request of this ORB; `TIMEOUT` if requests have not
    /// ended after `-ORBHoldTime`.
    pub fn hold_requests(&self, wait_for_completion: bool) -> Result<(), PoaError> {
        self.change_and_wait(ManagerState::Holding, wait_for_completion)
    }

    /// Rejects requests with TRANSIENT. `wait_for_completion` and errors are as for
    /// [`hold_requests`](Self::hold_requests).
    pub fn discard_requests(&self, wait_for_completion: bool) -> Result<(), PoaError> {
        self.change_and_wait(ManagerState::Discarding, wait_for_completion)
    }

    /// Rejects requests permanently. With `etherealize_objects`, deactivates all objects that
    /// servant activators incarnated, and returns their servants to them. `wait_for_completion` and
    /// errors are as for [`hold_requests`](Self::hold_requests); the wait includes the return of
    /// servants.
    pub fn deactivate(
        &self,
        etherealize_objects: bool,
        wait_for_completion: bool,
    ) -> Result<(), PoaError> {
        self.may_wait(wait_for_completion)?;
        let poas = self.change(ManagerState::Inactive)?;
        if etherealize_objects {
            for poa in poas.iter().filter(|poa| poa.policies.activates()) {
                poa.objects.clear(true);
            }
        }
        self.wait(wait_for_completion, ManagerState::Inactive, &poas)
    }

    /// Ends the holding of requests, which then fail with TRANSIENT, so that clients retry
    /// elsewhere or later.
    pub(crate) fn release(&self) {
        if self.state() == ManagerState::Holding {
            let _ = self.change(ManagerState::Discarding);
        }
    }

    /// Waits while the manager holds requests. Returns `Ok` if the request may be tried again, and
    /// otherwise the exception with which it is rejected.
    pub(crate) fn admit(&self, most: usize, until: Instant) -> Result<(), SystemException> {
        let mut change = self.lock();
        if self.state() == ManagerState::Holding && change.held >= most {
            return Err(DISCARDED);
        }
        change.held += 1;
        let admitted = loop {
            match self.state() {
                ManagerState::Active => break Ok(()),
                ManagerState::Discarding => break Err(DISCARDED),
                ManagerState::Inactive => break Err(INACTIVE),
                ManagerState::Holding => {}
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                break Err(DISCARDED);
            };
            change = self.0.changed.wait_timeout(change, left).0;
        };
        change.held -= 1;
        admitted
    }

    /// Adds a new POA, which the manager notifies of changes from then on.
    pub(crate) fn adopt(&self, poa: &Arc<PoaInner>) {
        let mut change = self.lock();
        change.poas.retain(|poa| poa.strong_count() > 0);
        change.poas.push(Arc::downgrade(poa));
        poa.publish(self.state());
    }

    /// Removes a destroyed POA.
    pub(crate) fn forget(&self, poa: &PoaInner) {
        let own = std::ptr::from_ref(poa);
        self.lock().poas.retain(|other| other.as_ptr() != own);
    }

    /// Returns the number of waiting requests.
    #[cfg(test)]
    fn held(&self) -> usize {
        self.lock().held
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    pub(crate) fn of(shared: Arc<Shared>) -> Self {
        PoaManager(shared)
    }

    fn change_and_wait(&self, to: ManagerState, wait: bool) -> Result<(), PoaError> {
        self.may_wait(wait)?;
        let poas = self.change(to)?;
        self.wait(wait, to, &poas)
    }

    /// Rejects waiting for all requests to end from within one of them.
    fn may_wait(&self, wait: bool) -> Result<(), PoaError> {
        match self.0.adapter.upgrade() {
            Some(adapter) if wait && current::within(&adapter) => {
                Err(PoaError::System(WOULD_DEADLOCK))
            }
            _ => Ok(()),
        }
    }

    /// Changes the state, notifies all POAs of it, and returns them.
    fn change(&self, to: ManagerState) -> Result<Vec<Arc<PoaInner>>, PoaError> {
        let change = self.lock();
        if self.state() == ManagerState::Inactive {
            return Err(PoaError::AdapterInactive);
        }
        self.0.state.store(to as u8, Ordering::Release);
        let poas: Vec<_> = change.poas.iter().filter_map(Weak::upgrade).collect();
        for poa in &poas {
            poa.publish(to);
        }
        self.0.changed.notify_all();
        drop(change);
        if let Some(adapter) = self.0.adapter.upgrade() {
            adapter.observe(|observer| observer.manager_state_changed(self, to));
        }
        Ok(poas)
    }

    fn wait(
        &self,
        wait: bool,
        state: ManagerState,
        poas: &[Arc<PoaInner>],
    ) -> Result<(), PoaError> {
        if !wait {
            return Ok(());
        }
        let limit = self.0.adapter.upgrade().map(|adapter| adapter.hold_time());
        let until = Instant::now() + limit.unwrap_or(Duration::from_secs(30));
        for poa in poas {
            // One pass may remain, the newly published one. Earlier passes are dropped when the
            // requests that hold them end.
            if !poa.life.wait_quiet(1, until, || self.state() != state || poa.is_destroyed()) {
                return Err(PoaError::System(TIMED_OUT));
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Change> {
        self.0.change.lock()
    }
}

impl Shared {
    fn state(&self) -> ManagerState {
        match self.state.load(Ordering::Acquire) {
            0 => ManagerState::Holding,
            1 => ManagerState::Active,
            2 => ManagerState::Discarding,
            _ => ManagerState::Inactive,
        }
    }
}

impl PartialEq for PoaManager {
    /// Reports whether both are the same manager.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for PoaManager {}

impl fmt::Debug for PoaManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoaManager").field("id", &self.id()).field("state", &self.state()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager() -> PoaManager {
        PoaManager::new("test".to_owned(), Weak::new())
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[test]
    fn held_requests_pass_when_the_manager_becomes_active() {
        let manager = manager();
        manager.hold_requests(false).unwrap();
        let waiting = {
            let manager = manager.clone();
            std::thread::spawn(move || manager.admit(1, soon()))
        };
        while manager.held() == 0 {
            std::thread::yield_now();
        }
        // A second request is rejected, because the limit is one held request.
        assert_eq!(manager.admit(1, soon()), Err(DISCARDED));
        manager.activate().unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(()));
    }

    #[test]
    fn a_request_is_held_for_so_long_and_no_longer() {
        let manager = manager();
        manager.hold_requests(false).unwrap();
        let brief = Instant::now() + Duration::from_millis(5);
        assert_eq!(manager.admit(1, brief), Err(DISCARDED));
        assert_eq!(manager.held(), 0);
    }

    #[test]
    fn discarding_is_transient_and_inactive_is_final() {
        let manager = manager();
        manager.discard_requests(true).unwrap();
        assert_eq!(manager.admit(1, soon()), Err(DISCARDED));
        manager.deactivate(true, true).unwrap();
        assert_eq!(manager.admit(1, soon()), Err(INACTIVE));
        for refused in [
            manager.activate(),
            manager.hold_requests(false),
            manager.discard_requests(false),
            manager.deactivate(false, false),
        ] {
            assert!(matches!(refused, Err(PoaError::AdapterInactive)));
        }
        assert_eq!(manager.state(), ManagerState::Inactive);
    }
}
