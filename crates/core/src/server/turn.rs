//! What several threads of one connection agree on: who writes, and which requests were cancelled.

use crate::lock::Mutex;
use crate::sync::{
    MutexGuard,
    atomic::{AtomicBool, Ordering},
};

/// Made when a second thread begins to use a connection.
#[derive(Default)]
pub(crate) struct Turn {
    write: Mutex<()>,
    /// Requests of threads that no longer read the connection themselves.
    running: Mutex<Vec<Running>>,
    /// The peer is gone: nobody waits for any answer.
    ended: AtomicBool,
}

struct Running {
    id: u32,
    cancelled: bool,
}

impl Turn {
    /// For as long as the guard lives, nobody else writes.
    pub(crate) fn to_write(&self) -> MutexGuard<'_, ()> {
        self.write.lock().expect(UNPOISONED)
    }

    /// The same, unless somebody is writing.
    pub(crate) fn to_write_now(&self) -> Option<MutexGuard<'_, ()>> {
        self.write.try_lock().ok()
    }

    /// A request goes on while another thread reads what comes after it.
    pub(super) fn begin(&self, id: u32) {
        self.running().push(Running {
            id,
            cancelled: false,
        });
    }

    /// It has ended.
    pub(super) fn finish(&self, id: u32) {
        let mut running = self.running();
        if let Some(at) = running.iter().position(|each| each.id == id) {
            running.swap_remove(at);
        }
    }

    /// The client does not wait for `id` any more.
    pub(super) fn cancel(&self, id: u32) {
        for each in self.running().iter_mut().filter(|each| each.id == id) {
            each.cancelled = true;
        }
    }

    /// The client is gone.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_cancelled(&self, id: u32) -> bool {
        let named = |each: &Running| each.id == id && each.cancelled;
        self.ended.load(Ordering::Relaxed) || self.running().iter().any(named)
    }

    fn running(&self) -> MutexGuard<'_, Vec<Running>> {
        self.running.lock().expect(UNPOISONED)
    }
}

const UNPOISONED: &str = "no panic while the lock is held";
