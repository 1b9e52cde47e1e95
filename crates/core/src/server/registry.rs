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
    links: HashMap<u64, Entry>,
    closing: bool,
}

struct Entry {
    link: Arc<dyn Link>,
    /// Threads that serve it: one, and more while callbacks nest.
    servers: usize,
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
        let entry = Entry {
            link: Arc::clone(link),
            servers: 1,
        };
        state.links.insert(id, entry);
        Some(id)
    }

    /// One more thread serves a connection.
    pub(crate) fn share(&self, id: u64) {
        if let Some(entry) = self.lock().links.get_mut(&id) {
            entry.servers += 1;
        }
    }

    /// A thread is done with a connection; whether it was the last one, which
    /// closes it and then [removes](Self::remove) it.
    pub(crate) fn leave(&self, id: u64) -> bool {
        match self.lock().links.get_mut(&id) {
            Some(entry) => {
                entry.servers -= 1;
                entry.servers == 0
            }
            None => true,
        }
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
        for entry in state.links.values() {
            entry.link.close_read();
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
        for entry in self.lock().links.values() {
            entry.link.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNPOISONED)
    }
}

const UNPOISONED: &str = "no panic while the lock is held";
