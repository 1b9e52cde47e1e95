//! Connections of a lane whose reading thread runs a request.

use std::collections::VecDeque;

use super::connection::Connection;
use crate::lock::Mutex;
use crate::sync::{
    MutexGuard,
    atomic::{AtomicUsize, Ordering},
};

/// The longest handed on first.
#[derive(Default)]
pub(super) struct HandedOn {
    connections: Mutex<VecDeque<Connection>>,
    /// Number of these, for threads that do not take the lock.
    count: AtomicUsize,
}

impl HandedOn {
    pub(super) fn push(&self, connection: Connection) {
        let mut connections = self.connections();
        connections.push_back(connection);
        self.count.store(connections.len(), Ordering::SeqCst);
    }

    pub(super) fn pop(&self) -> Option<Connection> {
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

    fn connections(&self) -> MutexGuard<'_, VecDeque<Connection>> {
        self.connections
            .lock()
            .expect("no panic while the lock is held")
    }
}
