//! Connections of a lane whose reading thread runs a request.

use std::collections::VecDeque;

use crate::lock::Mutex;
use crate::sync::{
    MutexGuard,
    atomic::{AtomicUsize, Ordering},
};

/// The longest handed on first.
pub(super) struct HandedOn<C> {
    connections: Mutex<VecDeque<C>>,
    /// Number of these, for threads that do not take the lock.
    count: AtomicUsize,
}

impl<C> Default for HandedOn<C> {
    fn default() -> Self {
        HandedOn {
            connections: Mutex::default(),
            count: AtomicUsize::new(0),
        }
    }
}

impl<C> HandedOn<C> {
    pub(super) fn push(&self, connection: C) {
        let mut connections = self.connections();
        connections.push_back(connection);
        self.count.store(connections.len(), Ordering::SeqCst);
    }

    pub(super) fn pop(&self) -> Option<C> {
        if self.is_empty() {
            return None;
        }
        let mut connections = self.connections();
        let first = connections.pop_front();
        self.count.store(connections.len(), Ordering::SeqCst);
        first
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    fn connections(&self) -> MutexGuard<'_, VecDeque<C>> {
        self.connections
            .lock()
            .expect("no panic while the lock is held")
    }
}
