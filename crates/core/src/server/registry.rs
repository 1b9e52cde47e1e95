//! Which connections are open, so that shutdown can end them.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, MutexGuard};
use std::time::Instant;

use oxorb_transport::Link;

use crate::lock::Mutex;

/// The open server connections of one ORB. Touched when a connection begins
/// and ends, never per request.
#[derive(Default)]
pub(crate) struct Registry {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    next_id: u64,
    links: HashMap<u64, Arc<dyn Link>>,
    closing: bool,
}

/// Takes its connection out of the registry when dropped.
pub(crate) struct Guard<'r> {
    registry: &'r Registry,
    id: u64,
}

impl Registry {
    /// Registers a connection; `None` when there are `limit` already or the
    /// ORB is closing.
    pub(crate) fn add(&self, link: &Arc<dyn Link>, limit: usize) -> Option<u64> {
        let mut state = self.lock();
        if state.closing || state.links.len() >= limit {
            return None;
        }
        let id = state.next_id;
        state.next_id += 1;
        state.links.insert(id, Arc::clone(link));
        Some(id)
    }

    pub(crate) fn guard(&self, id: u64) -> Guard<'_> {
        Guard { registry: self, id }
    }

    pub(crate) fn remove(&self, id: u64) {
        self.lock().links.remove(&id);
        self.changed.notify_all();
    }

    /// Whether no connection is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().links.is_empty()
    }

    /// Wakes every reader: each finishes the request it runs, says
    /// CloseConnection and ends.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        for link in state.links.values() {
            link.close_read();
        }
    }

    /// Waits until every connection has ended; false when `until` came first.
    pub(crate) fn wait_empty(&self, until: Option<Instant>) -> bool {
        let mut state = self.lock();
        while !state.links.is_empty() {
            state = match until {
                None => self.changed.wait(state).expect(UNPOISONED),
                Some(until) => {
                    let Some(left) = until.checked_duration_since(Instant::now()) else {
                        return false;
                    };
                    self.changed.wait_timeout(state, left).expect(UNPOISONED).0
                }
            };
        }
        true
    }

    /// Cuts every connection that is still open.
    pub(crate) fn cut(&self) {
        for link in self.lock().links.values() {
            link.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNPOISONED)
    }
}

const UNPOISONED: &str = "no panic while the lock is held";

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.registry.remove(self.id);
    }
}
