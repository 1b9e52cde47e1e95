//! Agreement of several threads of a connection: who writes, and which requests were cancelled.

use std::collections::HashMap;

use crate::lock::Mutex;
use crate::sync::{
    MutexGuard,
    atomic::{AtomicBool, Ordering},
};

/// Made when a second thread begins to use a connection.
#[derive(Default)]
pub(crate) struct Turn {
    write: Mutex<()>,
    /// Requests of threads that no longer read the connection themselves, by their ids.
    running: Mutex<HashMap<u32, Running>>,
    /// The peer is gone: nobody waits for any answer.
    ended: AtomicBool,
}

#[derive(Default)]
struct Running {
    /// Number of requests with the id: 1, or more where the client uses an id again too early.
    requests: usize,
    cancelled: bool,
}

impl Turn {
    /// Takes the turn to write; as long as the guard lives, no other thread writes.
    pub(crate) fn to_write(&self) -> MutexGuard<'_, ()> {
        self.write.lock()
    }

    /// Takes the turn to write, unless a thread is writing.
    pub(crate) fn to_write_now(&self) -> Option<MutexGuard<'_, ()>> {
        self.write.try_lock()
    }

    /// A request goes on while another thread reads what comes after it.
    pub(crate) fn begin(&self, id: u32) {
        self.running.lock().entry(id).or_default().requests += 1;
    }

    /// Notes the end of a request.
    pub(crate) fn finish(&self, id: u32) {
        let mut running = self.running.lock();
        if let Some(request) = running.get_mut(&id) {
            request.requests -= 1;
            if request.requests == 0 {
                running.remove(&id);
            }
        }
    }

    /// The client does not wait for `id` any more.
    pub(crate) fn cancel(&self, id: u32) {
        if let Some(request) = self.running.lock().get_mut(&id) {
            request.cancelled = true;
        }
    }

    /// The client is gone.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Whether nobody waits for the answer to `id` any more.
    pub(crate) fn is_cancelled(&self, id: u32) -> bool {
        self.ended.load(Ordering::Relaxed) || self.was_cancelled(id)
    }

    /// Whether the client has said so.
    pub(crate) fn was_cancelled(&self, id: u32) -> bool {
        self.running.lock().get(&id).is_some_and(|it| it.cancelled)
    }
}
