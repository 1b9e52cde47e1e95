//! Coordination of several threads of a connection: the right to write, and cancelled requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::{
    Condvar, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// State shared by the threads of a connection; created when a second thread begins to use it.
#[derive(Default)]
pub(crate) struct Turn {
    write: Mutex<()>,
    /// Number of threads that wait to write, for a limited time.
    waiting: AtomicUsize,
    /// Lock of the threads that wait for a limited time. It is held only for moments.
    queue: Mutex<()>,
    /// Signals these threads that the right to write is free.
    freed: Condvar,
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

/// Right to write to a connection, until it is dropped.
pub(crate) struct WriteTurn<'t> {
    turn: &'t Turn,
    /// `None` while the guard is being dropped.
    lock: Option<MutexGuard<'t, ()>>,
}

impl Turn {
    /// Waits for the right to write. The time limit of the link's writes bounds each write of the other threads.
    pub(crate) fn to_write(&self) -> WriteTurn<'_> {
        self.writing(self.write.lock())
    }

    /// Takes the right to write, unless a thread is writing.
    pub(crate) fn to_write_now(&self) -> Option<WriteTurn<'_>> {
        self.write.try_lock().map(|lock| self.writing(lock))
    }

    /// Waits for the right to write until `until`; returns `None` if it is not free by then. Costs as much as
    /// [`to_write_now`](Self::to_write_now) if no thread is writing.
    pub(crate) fn to_write_until(&self, until: Instant) -> Option<WriteTurn<'_>> {
        self.to_write_now().or_else(|| self.wait_to_write(until))
    }

    #[cold]
    fn wait_to_write(&self, until: Instant) -> Option<WriteTurn<'_>> {
        let mut queue = self.queue.lock();
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let ours = loop {
            // A thread that stops writing after this attempt finds this one counted, and signals.
            if let Some(ours) = self.to_write_now() {
                break Some(ours);
            }
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() {
                break None;
            }
            queue = self.freed.wait_timeout(queue, left).0;
        };
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        ours
    }

    fn writing<'t>(&'t self, lock: MutexGuard<'t, ()>) -> WriteTurn<'t> {
        WriteTurn { turn: self, lock: Some(lock) }
    }

    /// Wakes the threads that wait for a limited time.
    #[cold]
    fn signal_free(&self) {
        // A thread that has just failed to take the right holds this lock until it waits.
        drop(self.queue.lock());
        self.freed.notify_all();
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

impl Drop for WriteTurn<'_> {
    fn drop(&mut self) {
        drop(self.lock.take());
        // An exchange reads the last value of the counter: a thread that counts itself later finds the right free.
        if self.turn.waiting.fetch_add(0, Ordering::AcqRel) > 0 {
            self.turn.signal_free();
        }
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
    use std::thread;
    use std::time::Duration;

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
    fn a_wait_to_write_ends_at_its_time() {
        let turn = Turn::default();
        let writing = turn.to_write();
        assert!(turn.to_write_now().is_none());
        assert!(turn.to_write_until(clock::now() + Duration::from_millis(1)).is_none());
        drop(writing);
        assert!(turn.to_write_until(clock::now()).is_some(), "a free turn needs no time");
        assert_eq!(turn.waiting.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn threads_that_wait_to_write_are_woken() {
        let turn = Turn::default();
        let later = clock::now() + Duration::from_secs(3600);
        thread::scope(|scope| {
            let writing = turn.to_write();
            let waiting: Vec<_> =
                (0..3).map(|_| scope.spawn(|| turn.to_write_until(later).is_some())).collect();
            while turn.waiting.load(Ordering::SeqCst) < 3 {
                thread::yield_now();
            }
            drop(writing);
            waiting.into_iter().for_each(|each| assert!(each.join().unwrap()));
        });
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
