//! Shared connection that the calls to a peer currently use.

use std::ptr;
use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::multiplexed::Multiplexed;
use crate::threads::lock::Mutex;
use crate::threads::sync::MutexGuard;

/// Cell with the connection that the calls to a peer currently share. Reading it takes no lock.
#[derive(Default)]
pub(crate) struct Current {
    connection: ArcSwapOption<Multiplexed>,
    /// Held by a thread that replaces the connection.
    change: Mutex<()>,
}

impl Current {
    /// Returns the connection, if there is one that accepts calls.
    pub(super) fn usable(&self) -> Option<Arc<Multiplexed>> {
        let open = self.connection.load_full()?;
        (!open.replies.is_closed()).then_some(open)
    }

    /// Returns the exclusive right to replace the connection, until the guard is dropped.
    pub(super) fn change(&self) -> ConnectionChange<'_> {
        ConnectionChange { of: self, _alone: self.change.lock() }
    }
}

/// Exclusive right to replace the connection.
pub(super) struct ConnectionChange<'c> {
    of: &'c Current,
    _alone: MutexGuard<'c, ()>,
}

impl ConnectionChange<'_> {
    pub(super) fn usable(&self) -> Option<Arc<Multiplexed>> {
        self.of.usable()
    }

    pub(super) fn set(&self, to: Option<Arc<Multiplexed>>) {
        self.of.connection.store(to);
    }

    /// Removes `connection` if it is the current one.
    pub(super) fn unset(&self, connection: &Multiplexed) {
        let current = self.of.connection.load();
        if current.as_ref().is_some_and(|it| ptr::eq(&**it, connection)) {
            self.set(None);
        }
    }
}
