//! The shared connection of a peer that calls use at the moment.

use std::ptr;
use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::multiplexed::Multiplexed;
use crate::lock::Mutex;
use crate::sync::MutexGuard;

/// Place of the connection to a peer that its calls share at the moment, found without a lock.
#[derive(Default)]
pub(crate) struct Current {
    connection: ArcSwapOption<Multiplexed>,
    /// Held by who puts another one there.
    change: Mutex<()>,
}

impl Current {
    /// Returns the connection, if there is one that takes calls.
    pub(super) fn usable(&self) -> Option<Arc<Multiplexed>> {
        let open = self.connection.load_full()?;
        (!open.replies.is_closed()).then_some(open)
    }

    /// Returns the right to put another connection there; nobody else has it as long as the guard lives.
    pub(super) fn change(&self) -> Change<'_> {
        Change { of: self, _alone: self.change.lock() }
    }
}

/// Right to put another connection in the place of one.
pub(super) struct Change<'c> {
    of: &'c Current,
    _alone: MutexGuard<'c, ()>,
}

impl Change<'_> {
    pub(super) fn usable(&self) -> Option<Arc<Multiplexed>> {
        self.of.usable()
    }

    pub(super) fn set(&self, to: Option<Arc<Multiplexed>>) {
        self.of.connection.store(to);
    }

    /// Takes `connection` away if it is the one.
    pub(super) fn unset(&self, connection: &Multiplexed) {
        let current = self.of.connection.load();
        if current.as_ref().is_some_and(|it| ptr::eq(&**it, connection)) {
            self.set(None);
        }
    }
}
