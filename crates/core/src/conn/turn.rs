//! Coordination of several threads of a connection: the right to write, and cancelled requests.

use std::collections::HashMap;
use std::sync::Arc;

use crate::threads::lock::Mutex;
use crate::threads::sync::{
    MutexGuard,
    atomic::{AtomicBool, Ordering},
};

/// State shared by the threads of a connection; created when a second thread begins to use it.
#[derive(Default)]
pub(crate) struct Turn {
    write: Mutex<()>,
    /// Requests of threads that no longer read the connection themselves, and requests for which calls are made that
    /// end with them; by id.
    running: Mutex<HashMap<u32, RunningId>>,
    /// Whether the connection has ended, other than in order by this side, so that no answer is awaited.
    ended: AtomicBool,
    /// Whether the peer has left, so that calls made for its requests are useless.
    left: AtomicBool,
}

#[derive(Default)]
struct RunningId {
    /// Number of requests with the id: 1, or more if the client reuses an id too early.
    requests: usize,
    cancelled: bool,
    /// Calls that end when the request is cancelled.
    calls: Vec<Arc<dyn NestedCall>>,
}

/// Call that is made for a request, and ends when the client of the request no longer waits.
pub(crate) trait NestedCall: Send + Sync {
    /// Ends the call, if it still runs, and notifies its server if that is possible at once. May be called more than
    /// once.
    fn cancel(&self);
}

/// Guard of a call that is cancelled with a request.
pub(crate) struct CancelWatch {
    turn: Arc<Turn>,
    /// Id of the request.
    id: u32,
    call: Arc<dyn NestedCall>,
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

    /// Marks request `id` as cancelled, and ends the calls that are made for it.
    pub(crate) fn cancel(&self, id: u32) {
        let calls = match self.running.lock().get_mut(&id) {
            None => return,
            Some(request) => {
                request.cancelled = true;
                request.calls.clone()
            }
        };
        // The calls write to other connections, so the lock is not held.
        calls.iter().for_each(|call| call.cancel());
    }

    /// Records that the connection has ended, other than in order by this side. If the peer has left, or can no longer
    /// be reached, ends the calls that are made for its requests.
    pub(crate) fn end(&self, has_left: bool) {
        self.ended.store(true, Ordering::Relaxed);
        if !has_left {
            return;
        }
        self.left.store(true, Ordering::Relaxed);
        let calls: Vec<_> = {
            let running = self.running.lock();
            running.values().flat_map(|request| request.calls.iter().cloned()).collect()
        };
        calls.iter().for_each(|call| call.cancel());
    }

    /// Registers a call to be cancelled with request `id`, until the guard is dropped. If the client has cancelled the
    /// request or left, the call is cancelled at once.
    pub(crate) fn watch(self: &Arc<Self>, id: u32, call: Arc<dyn NestedCall>) -> CancelWatch {
        self.begin(id);
        if let Some(request) = self.running.lock().get_mut(&id) {
            request.calls.push(Arc::clone(&call));
        }
        if self.left.load(Ordering::Relaxed) || self.was_cancelled(id) {
            call.cancel();
        }
        CancelWatch { turn: Arc::clone(self), id, call }
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

impl Drop for CancelWatch {
    fn drop(&mut self) {
        if let Some(request) = self.turn.running.lock().get_mut(&self.id) {
            request.calls.retain(|call| !Arc::ptr_eq(call, &self.call));
        }
        self.turn.finish(self.id);
    }
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Call that counts how often it is cancelled.
    #[derive(Default)]
    struct CountedCall(AtomicUsize);

    impl NestedCall for CountedCall {
        fn cancel(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Registers a call with a request.
    fn watched(turn: &Arc<Turn>, id: u32) -> (Arc<CountedCall>, CancelWatch) {
        let call = Arc::new(CountedCall::default());
        let watch = turn.watch(id, Arc::clone(&call) as Arc<dyn NestedCall>);
        (call, watch)
    }

    fn cancelled(call: &CountedCall) -> usize {
        call.0.load(Ordering::SeqCst)
    }

    #[test]
    fn a_call_ends_with_its_request_only() {
        let turn = Arc::<Turn>::default();
        let (one, _watch) = watched(&turn, 1);
        let (two, _watch_of_two) = watched(&turn, 2);
        turn.cancel(2);
        assert_eq!((cancelled(&one), cancelled(&two)), (0, 1));
        turn.end(true);
        assert_eq!(cancelled(&one), 1);
    }

    #[test]
    fn a_call_goes_on_if_the_peer_has_not_left() {
        let turn = Arc::<Turn>::default();
        let (running, _watch) = watched(&turn, 1);
        turn.end(false);
        let (next, _watch_of_next) = watched(&turn, 2);
        assert_eq!((cancelled(&running), cancelled(&next)), (0, 0));
        assert!(turn.is_cancelled(1));
    }

    #[test]
    fn a_call_for_a_request_that_was_cancelled_ends_at_once() {
        let turn = Arc::<Turn>::default();
        turn.begin(1);
        turn.cancel(1);
        let (late, _watch) = watched(&turn, 1);
        assert_eq!(cancelled(&late), 1);
        turn.end(true);
        let (later, _watch) = watched(&turn, 2);
        assert_eq!(cancelled(&later), 1);
    }

    #[test]
    fn a_call_that_has_ended_is_forgotten_with_its_request() {
        let turn = Arc::<Turn>::default();
        let (ended, watch) = watched(&turn, 1);
        drop(watch);
        turn.cancel(1);
        turn.end(true);
        assert_eq!(cancelled(&ended), 0);
        assert!(turn.running.lock().is_empty());
    }
}
