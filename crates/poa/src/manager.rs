//! Whether requests pass to a group of POAs.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar};
use std::time::{Duration, Instant};

use oxorb_core::lock::Mutex;
use oxorb_giop::{CompletionStatus, SystemException, minor};

/// Most requests that wait at one holding manager; one more is TRANSIENT.
const MAX_HELD: usize = 256;

/// How long a request waits at a holding manager before it is TRANSIENT.
const MAX_HOLD: Duration = Duration::from_secs(30);

/// What a manager does with requests (POAManager states).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ManagerState {
    /// Requests wait, a bounded number for a bounded time.
    Holding,
    /// Requests pass.
    Active,
    /// Requests are answered TRANSIENT: come again.
    Discarding,
    /// Requests are answered OBJ_ADAPTER, for good.
    Inactive,
}

/// Lets requests through to its POAs, or not. Cheap to clone.
///
/// Managers start active, unlike the specification's: an object that was just
/// activated can be called.
#[derive(Debug, Clone)]
pub struct PoaManager(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: AtomicU8,
    held: Mutex<usize>,
    changed: Condvar,
}

impl PoaManager {
    pub(crate) fn new() -> Self {
        PoaManager(Arc::new(Shared {
            state: AtomicU8::new(ManagerState::Active as u8),
            held: Mutex::new(0),
            changed: Condvar::new(),
        }))
    }

    /// What it does with requests now.
    pub fn state(&self) -> ManagerState {
        match self.0.state.load(Ordering::Acquire) {
            0 => ManagerState::Holding,
            1 => ManagerState::Active,
            2 => ManagerState::Discarding,
            _ => ManagerState::Inactive,
        }
    }

    /// Lets requests pass, those held first. False when it was deactivated.
    pub fn activate(&self) -> bool {
        self.change(ManagerState::Active)
    }

    /// Lets requests wait, 256 at most and 30 s at most; each occupies the thread
    /// that serves it. False when it was deactivated.
    pub fn hold_requests(&self) -> bool {
        self.change(ManagerState::Holding)
    }

    /// Answers requests with TRANSIENT. False when it was deactivated.
    pub fn discard_requests(&self) -> bool {
        self.change(ManagerState::Discarding)
    }

    /// Refuses requests for good.
    pub fn deactivate(&self) {
        self.change(ManagerState::Inactive);
    }

    /// Sends requests that are held back to try again elsewhere, or later.
    pub(crate) fn release(&self) {
        let _held = self.0.held.lock().expect(UNPOISONED);
        if self.state() == ManagerState::Holding {
            self.set(ManagerState::Discarding);
        }
    }

    /// Whether a request may pass; waits while the manager holds.
    /// One atomic load while it is active.
    #[inline]
    pub(crate) fn admit(&self) -> Result<(), SystemException> {
        if self.0.state.load(Ordering::Acquire) == ManagerState::Active as u8 {
            return Ok(());
        }
        self.admit_later()
    }

    #[cold]
    fn admit_later(&self) -> Result<(), SystemException> {
        let until = Instant::now() + MAX_HOLD;
        let mut held = self.0.held.lock().expect(UNPOISONED);
        if *held >= MAX_HELD {
            return Err(DISCARDED);
        }
        *held += 1;
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
            held = self.0.changed.wait_timeout(held, left).expect(UNPOISONED).0;
        };
        *held -= 1;
        admitted
    }

    fn change(&self, to: ManagerState) -> bool {
        let _held = self.0.held.lock().expect(UNPOISONED);
        if self.state() == ManagerState::Inactive {
            return false;
        }
        self.set(to);
        true
    }

    /// For the holder of `held`: who waits must not miss it.
    fn set(&self, to: ManagerState) {
        self.0.state.store(to as u8, Ordering::Release);
        self.0.changed.notify_all();
    }
}

const UNPOISONED: &str = "no panic while the lock is held";

const DISCARDED: SystemException =
    SystemException::transient(minor::transient::DISCARDING, CompletionStatus::No);

const INACTIVE: SystemException =
    SystemException::obj_adapter(minor::obj_adapter::INACTIVE, CompletionStatus::No);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_requests_pass_when_the_manager_becomes_active() {
        let manager = PoaManager::new();
        assert!(manager.hold_requests());
        let waiting = {
            let manager = manager.clone();
            std::thread::spawn(move || manager.admit())
        };
        while *manager.0.held.lock().unwrap() == 0 {
            std::thread::yield_now();
        }
        assert!(manager.activate());
        assert_eq!(waiting.join().unwrap(), Ok(()));
    }

    #[test]
    fn discarding_is_transient_and_inactive_is_final() {
        let manager = PoaManager::new();
        manager.discard_requests();
        assert_eq!(manager.admit(), Err(DISCARDED));
        manager.deactivate();
        assert_eq!(manager.admit(), Err(INACTIVE));
        assert!(!manager.activate());
        assert_eq!(manager.state(), ManagerState::Inactive);
    }
}
