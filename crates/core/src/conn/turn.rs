//! Coordination of several threads of a connection: the right to write, and cancelled requests.

use std::collections::HashMap;

use crate::threads::lock::Mutex;
use crate::threads::sync::{
    MutexGuard,
    atomic::{AtomicBool, Ordering},
};

/// State shared by the threads of a connection; created when a second thread begins to use it.
#[derive(Default)]
pub(crate) struct Turn {
    write: Mutex<()>,
    /// Requests of threads that no longer read the connection themselves, by id.
    running: Mutex<HashMap<u32, RunningId>>,
    /// Whether the peer has closed the connection, so that no answer is awaited.
    ended: AtomicBool,
}

#[derive(Default)]
struct RunningId {
    /// Number of requests with the id: 1, or more if the client reuses an id too early.
    requests: usize,
    cancelled: bool,
}

impl Turn {
    /// Locks the right to write until the guard is dropped.
    pub(crate) fn to_write(&self) -> MutexGuard<'_, ()> {
        self.write.lock()
    }

    /// Locks the right to write, unless a thread is writing.
    pub(crate) fn to_write_now(&self) -> Option<MutexGuard<'_, ()>> {
        self.write.try_lock()
    }

    /// Registers a request that runs while another thread reads the connection.
    pub(crate) fn begin(&self, id: u32) {
        self.running.lock().entry(id).or_default().requests += 1;
    }

    /// Deregisters a request.
    pub(crate) fn finish(&self, id: u32) {
        let mut running = self.running.lock();
        if let Some(request) = running.get_mut(&id) {
            request.requests -= 1;
            if request.requests == 0 {
                running.remove(&id);
            }
        }
    }

    /// Marks request `id` as cancelled.
    pub(crate) fn cancel(&self, id: u32) {
        if let Some(request) = self.running.lock().get_mut(&id) {
            request.cancelled = true;
        }
    }

    /// Records that the peer has closed the connection.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Reports whether the answer to `id` is no longer awaited.
    pub(crate) fn is_cancelled(&self, id: u32) -> bool {
        self.ended.load(Ordering::Relaxed) || self.was_cancelled(id)
    }

    /// Reports whether the client has cancelled request `id`.
    pub(crate) fn was_cancelled(&self, id: u32) -> bool {
        self.running.lock().get(&id).is_some_and(|it| it.cancelled)
    }
}
