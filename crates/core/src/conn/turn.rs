//! Coordination of several threads of a connection: the right to write, and cancelled requests.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::{
    Condvar, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// Number of writes that may overtake a thread which waits to write for a limited time.
const OVERTAKING: u32 = 4;

/// Longest time for which other threads leave the right to write to a thread that was overtaken too often. It may not
/// run, because a more urgent thread has its processor; then it may be overtaken again.
const GIVEN: Duration = match cfg!(test) {
    true => Duration::from_secs(60),
    false => Duration::from_millis(1),
};

/// State shared by the threads of a connection; created when a second thread begins to use it.
///
/// Threads take the right to write in any order, most of them by a lock of the system. One that waits for a limited time
/// cannot: it tries again after each write. Therefore the writes that overtake it are counted, and after a few of them
/// the other threads leave the right to it.
#[derive(Default)]
pub(crate) struct Turn {
    write: Mutex<()>,
    /// Number of threads that wait to write, for a limited time.
    waiting: AtomicUsize,
    /// Whether the first of these threads was overtaken too often. Set under the lock of the queue.
    owed: AtomicBool,
    /// Threads that wait for a limited time. The lock is held only for moments.
    queue: Mutex<TurnQueue>,
    /// Signals these threads that the right to write is free, and others that it is no longer owed.
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
struct TurnQueue {
    /// Number of the last thread.
    last: u64,
    /// Numbers of the threads, in the order of their arrival.
    waiting: VecDeque<u64>,
    /// Number of writes since one of these threads wrote, or the first of them came.
    overtaking: u32,
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
    #[inline]
    pub(crate) fn to_write(&self) -> WriteTurn<'_> {
        if self.owed.load(Ordering::Relaxed) {
            self.give_way();
        }
        self.writing(self.write.lock())
    }

    /// Takes the right to write, unless a thread is writing or another one is to write next.
    #[inline]
    pub(crate) fn to_write_now(&self) -> Option<WriteTurn<'_>> {
        match self.owed.load(Ordering::Relaxed) {
            true => None,
            false => self.try_to_write(),
        }
    }

    fn try_to_write(&self) -> Option<WriteTurn<'_>> {
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
        queue.last += 1;
        let own = queue.last;
        queue.waiting.push_back(own);
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let ours = loop {
            // A thread that stops writing after this attempt finds this one counted, and signals.
            let may_write =
                !self.owed.load(Ordering::Relaxed) || queue.waiting.front() == Some(&own);
            if may_write && let Some(ours) = self.try_to_write() {
                break Some(ours);
            }
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() {
                break None;
            }
            queue = self.freed.wait_timeout(queue, left).0;
        };
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        let was_first = queue.waiting.front() == Some(&own);
        queue.waiting.retain(|number| *number != own);
        if ours.is_some() || was_first {
            self.owe_nothing(&mut queue);
        }
        ours
    }

    fn writing<'t>(&'t self, lock: MutexGuard<'t, ()>) -> WriteTurn<'t> {
        WriteTurn { turn: self, lock: Some(lock) }
    }

    /// Wakes the threads that wait for a limited time, after a write that has overtaken them.
    #[cold]
    fn signal_free(&self) {
        // A thread that has just failed to take the right holds this lock until it waits.
        let mut queue = self.queue.lock();
        if !queue.waiting.is_empty() {
            queue.overtaking += 1;
            if queue.overtaking > OVERTAKING {
                self.owed.store(true, Ordering::Relaxed);
            }
        }
        drop(queue);
        self.freed.notify_all();
    }

    /// Waits until a thread that was overtaken too often has the right to write, for a short time.
    #[cold]
    fn give_way(&self) {
        let until = clock::after(GIVEN);
        let mut queue = self.queue.lock();
        while self.owed.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() {
                self.owe_nothing(&mut queue);
            } else {
                queue = self.freed.wait_timeout(queue, left).0;
            }
        }
    }

    /// Begins to count overtaking writes anew.
    fn owe_nothing(&self, queue: &mut TurnQueue) {
        queue.overtaking = 0;
        if self.owed.swap(false, Ordering::Relaxed) {
            self.freed.notify_all();
        }
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

    /// A thread that writes again and again would otherwise win each race against a thread that has to wake up first.
    #[test]
    fn a_thread_that_waits_to_write_is_overtaken_a_few_times_at_most() {
        let turn = Turn::default();
        let later = clock::now() + Duration::from_secs(3600);
        let has_written = AtomicBool::new(false);
        thread::scope(|scope| {
            let mut ours = turn.to_write();
            scope.spawn(|| {
                let theirs = turn.to_write_until(later);
                has_written.store(true, Ordering::SeqCst);
                drop(theirs);
            });
            while turn.waiting.load(Ordering::SeqCst) < 1 {
                thread::yield_now();
            }
            for _ in 0..=OVERTAKING {
                drop(ours);
                ours = turn.to_write();
            }
            drop(ours);
            assert!(turn.to_write_now().is_none() || has_written.load(Ordering::SeqCst));
            drop(turn.to_write());
            assert!(has_written.load(Ordering::SeqCst));
        });
        assert!(turn.to_write_now().is_some(), "nobody waits");
        assert_eq!(turn.queue.lock().overtaking, 0);
    }

    #[test]
    fn a_thread_whose_time_is_over_is_not_waited_for() {
        let turn = Turn::default();
        let writing = turn.to_write();
        turn.queue.lock().overtaking = OVERTAKING;
        thread::scope(|scope| {
            let late = scope
                .spawn(|| turn.to_write_until(clock::now() + Duration::from_millis(5)).is_none());
            assert!(late.join().unwrap());
        });
        drop(writing);
        assert!(turn.to_write_now().is_some());
        assert!(turn.queue.lock().waiting.is_empty());
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

#[cfg(all(test, feature = "model"))]
mod model {
    use shuttle::thread;

    use super::*;
    use crate::sim::model::explore;

    /// Checks that no two threads write at once, that each writes in the end, and that a thread that waits for a limited
    /// time is overtaken a few times at most.
    #[test]
    fn everybody_writes_and_is_overtaken_a_few_times_at_most() {
        explore(|| {
            let turn = Arc::<Turn>::default();
            let writing = Arc::<AtomicBool>::default();
            // Writes of the busy thread while the other one waits.
            let overtaking = Arc::<AtomicUsize>::default();
            let write = |writing: &AtomicBool| {
                assert!(!writing.swap(true, Ordering::SeqCst));
                thread::yield_now();
                writing.store(false, Ordering::SeqCst);
            };
            let busy = {
                let (turn, writing) = (Arc::clone(&turn), Arc::clone(&writing));
                let overtaking = Arc::clone(&overtaking);
                thread::spawn(move || {
                    for _ in 0..3 * OVERTAKING {
                        let _ours = turn.to_write();
                        if turn.waiting.load(Ordering::SeqCst) > 0 {
                            overtaking.fetch_add(1, Ordering::SeqCst);
                        }
                        write(&writing);
                    }
                })
            };
            let later = clock::now() + Duration::from_secs(3600);
            for _ in 0..2 {
                overtaking.store(0, Ordering::SeqCst);
                let ours = turn.to_write_until(later);
                assert!(ours.is_some());
                // One write may have been under way, and one thread may have asked for the right before it was owed.
                let overtaking = overtaking.load(Ordering::SeqCst);
                assert!(overtaking <= OVERTAKING as usize + 2, "{overtaking}");
                write(&writing);
            }
            busy.join().unwrap();
            assert!(turn.to_write_now().is_some(), "nothing is owed");
            assert_eq!(turn.waiting.load(Ordering::SeqCst), 0);
        });
    }

    /// Checks that threads that wait for a limited time write one after another, whichever of them is owed the right.
    #[test]
    fn several_threads_that_wait_for_a_limited_time_all_write() {
        explore(|| {
            let turn = Arc::<Turn>::default();
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    let turn = Arc::clone(&turn);
                    thread::spawn(move || {
                        let later = clock::now() + Duration::from_secs(3600);
                        for _ in 0..3 {
                            match number {
                                0 => drop(turn.to_write()),
                                _ => assert!(turn.to_write_until(later).is_some()),
                            }
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            assert!(turn.to_write_now().is_some(), "nothing is owed");
        });
    }
}
