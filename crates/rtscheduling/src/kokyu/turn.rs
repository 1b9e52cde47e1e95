//! Waiting primitive of a native thread, which exists as long as the thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};

/// Message to a waiting thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Run,
    Cancelled,
}

/// Waiting primitive of one thread.
pub(super) struct Turn {
    /// Unique number of the thread.
    number: u64,
    told: Mutex<Option<Told>>,
    changed: Condvar,
}

crate::sync::thread_local! {
    static OWN: RefCell<Option<Arc<Turn>>> = const { RefCell::new(None) };
}

/// Returns the waiting primitive of the calling thread. Allocates the first time.
pub(super) fn own() -> Arc<Turn> {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    OWN.with(|own| {
        let turn = &mut *own.borrow_mut();
        let turn = turn.get_or_insert_with(|| {
            Arc::new(Turn {
                number: NUMBERS.fetch_add(1, Ordering::Relaxed),
                told: Mutex::new(None),
                changed: Condvar::new(),
            })
        });
        Arc::clone(turn)
    })
}

impl Turn {
    /// Returns the number of the thread.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Clears the message.
    pub(super) fn reset(&self) {
        *self.told.lock() = None;
    }

    /// Sends a message and wakes the thread.
    pub(super) fn tell(&self, what: Told) {
        *self.told.lock() = Some(what);
        self.changed.notify_one();
    }

    /// Returns the message, if any.
    pub(super) fn told(&self) -> Option<Told> {
        *self.told.lock()
    }

    /// Waits for a message, at most until `until`.
    pub(super) fn wait(&self, until: Option<Instant>) -> Option<Told> {
        let mut told = self.told.lock();
        while told.is_none() {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return None;
            }
            let left = left.unwrap_or(Duration::from_secs(86_400));
            told = self.changed.wait_timeout(told, left).0;
        }
        *told
    }
}
