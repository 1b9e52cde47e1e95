//! Outlets: the queue of one consumer, the delivery from it, and the handles of services.

mod state;
mod turn;

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_sched::queue::Timing;

use crate::clock::{Clock, end_of_wait};
use crate::lane::Lane;
use crate::queue::Room;
use crate::sync::{Lock, Locked, Signal};
use crate::totals::Totals;
use crate::{Attributes, Cause, Counts, Qos, Release, Sink, Timers, TooManyTimers};

use state::Next;
pub(crate) use state::{State, Turns};

/// A consumer's outlet: its bounded queue and the delivery from it. Cheap to clone. Dropping the last clone detaches
/// the outlet.
///
/// **Real-time cost.** An offer takes the lock of the outlet, which is shared only with threads that offer to this
/// outlet or deliver from it. If the outlet must be queued for dispatch, the offer also takes the lock of its lane.
/// Lock holders inherit priority. An offer allocates nothing once the queue has reached its maximum length.
pub struct Outlet<E: Clone + Send + 'static> {
    pub(crate) shared: Arc<Shared<E>>,
}

/// Result of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// The event was queued or delivered.
    Taken,
    /// The event was dropped and counted.
    Dropped(Cause),
}

impl<E: Clone + Send + 'static> Outlet<E> {
    /// Offers one event. Waits for space in the queue for at most [`Qos::wait`]. On a reactive dispatcher, this call
    /// also delivers the event.
    pub fn offer(&self, event: &E, about: &Attributes) -> Offered {
        self.shared.offer(event, about, None)
    }

    /// Takes the next waiting event, if any, of an outlet [without a sink](crate::Dispatcher::connect_pull).
    ///
    /// # Errors
    /// [`PullError::Empty`]; [`PullError::Detached`] if no further event can arrive.
    pub fn try_pull(&self) -> Result<E, PullError> {
        self.shared.pull(Duration::ZERO)
    }

    /// Takes the next event of an outlet without a sink, waiting for at most `limit`.
    ///
    /// # Errors
    /// [`PullError::Empty`] after `limit`; [`PullError::Detached`] if no further event can arrive.
    pub fn pull(&self, limit: Duration) -> Result<E, PullError> {
        self.shared.pull(limit)
    }

    /// Suspends delivery. Further events wait, within the bounds of the queue; deliveries in
    /// progress complete.
    pub fn suspend(&self) {
        self.shared.lock().suspend(true);
    }

    /// Resumes delivery.
    pub fn resume(&self) {
        self.shared.lock().suspend(false);
        self.shared.look();
    }

    /// Reports whether delivery is suspended.
    pub fn is_suspended(&self) -> bool {
        self.shared.lock().is_suspended()
    }

    /// Refuses further events and drops waiting events, as [`Cause::Detached`]. Does not wait for deliveries in
    /// progress; see [`quiesce`](Self::quiesce).
    pub fn detach(&self) {
        self.shared.close(Cause::Detached);
    }

    /// Refuses further events, delivers waiting events for at most `limit`, and detaches the outlet. Returns `true` if
    /// detaching dropped no event.
    pub fn drain(&self, limit: Duration) -> bool {
        let drained = self.shared.drain(Cause::Detached, limit);
        self.detach();
        drained
    }

    /// Detaches the outlet and notifies its sink that the consumer was released, as after a
    /// failure.
    pub fn release(&self, why: Release) {
        self.shared.release(why);
    }

    /// Reports whether the outlet accepts events.
    pub fn is_attached(&self) -> bool {
        self.shared.is_open()
    }

    /// Waits for at most `limit` until no delivery is in progress, and returns `false` if one still is. Must not be
    /// called from within a delivery of the same outlet.
    pub fn quiesce(&self, limit: Duration) -> bool {
        self.shared.quiesce(limit)
    }

    /// Returns the counters. Takes the lock of the queue.
    pub fn counts(&self) -> Counts {
        self.shared.lock().counts()
    }

    /// Returns the quality of service.
    pub fn qos(&self) -> Qos {
        self.shared.lock().qos().clone()
    }

    /// Replaces the quality of service. Waiting events are sorted again, and the new policy drops those that exceed the
    /// new limits. A zero that [`connect`](crate::Dispatcher::connect) refuses counts as 1. If the lane does not exist,
    /// the outlet stays in its present lane. Allocates, unless only lane, order in the lane and execution time differ.
    ///
    /// A new lane takes effect with the next delivery: a delivery in progress ends in the old lane,
    /// and the move does not reorder events.
    pub fn set_qos(&self, qos: Qos) {
        self.shared.set_qos(Qos {
            events: qos.events.max(1),
            batch: qos.batch.max(1),
            concurrency: qos.concurrency.max(1),
            ..qos
        });
    }
}

impl<E: Clone + Send + 'static> Clone for Outlet<E> {
    fn clone(&self) -> Self {
        Outlet { shared: Arc::clone(&self.shared) }
    }
}

impl<E: Clone + Send + 'static> fmt::Debug for Outlet<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").field("counts", &self.counts()).finish()
    }
}

/// Reason why no event was pulled.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PullError {
    /// The queue is empty.
    #[error("no event is waiting")]
    Empty,
    /// The outlet is detached, and no event is left.
    #[error("the outlet is detached: no event will arrive")]
    Detached,
}

impl fmt::Debug for PullError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Outlet of one consumer. Handles, lanes and timers share it.
pub(crate) struct Shared<E: Clone + Send + 'static> {
    state: Lock<State<E>>,
    /// Changes when a slot of the queue becomes free.
    room: Signal,
    /// Changes when an event can be pulled.
    events: Signal,
    /// Changes when a delivery ends while a thread waits for that.
    ends: Signal,
    /// Consumer to which events are pushed; `None` if the consumer pulls.
    sink: Option<Arc<dyn Sink<E>>>,
    runner: Runner<E>,
    clock: Arc<dyn Clock>,
    timers: Timers,
    totals: Arc<Totals>,
    /// Weak reference to the outlet itself, for entries in lanes and for timers.
    this: Weak<Shared<E>>,
}

/// Threads that deliver the events of an outlet.
pub(crate) enum Runner<E: Clone + Send + 'static> {
    /// The supplier's thread.
    Reactive,
    /// Threads of a lane, which the quality of service selects.
    Lanes(Arc<[Arc<Lane<E>>]>),
    /// Threads of a test under the model checker.
    #[cfg(all(test, feature = "model"))]
    Model(shuttle::sync::mpsc::Sender<(usize, Arc<Shared<E>>)>),
}

/// Result of an offer without a wait.
pub(crate) enum Asked {
    Done(Offered),
    /// The queue is full, and the consumer's policy is to wait.
    Full,
}

impl<E: Clone + Send + 'static> Shared<E> {
    pub(crate) fn new(
        state: State<E>,
        sink: Option<Arc<dyn Sink<E>>>,
        runner: Runner<E>,
        clock: Arc<dyn Clock>,
        timers: Timers,
        totals: Arc<Totals>,
    ) -> Arc<Shared<E>> {
        Arc::new_cyclic(|this| Shared {
            state: Lock::new(state),
            room: Signal::default(),
            events: Signal::default(),
            ends: Signal::default(),
            sink,
            runner,
            clock,
            timers,
            totals,
            this: Weak::clone(this),
        })
    }

    pub(crate) fn lock(&self) -> Locked<'_, State<E>> {
        self.state.lock()
    }

    /// Offers an event without waiting for space.
    pub(crate) fn ask(&self, event: &E, about: &Attributes) -> Asked {
        let state = self.lock();
        let may_wait = state.may_wait();
        self.offer_step(state, event, about, may_wait)
    }

    /// Offers an event, and waits for space until `until`, or for [`Qos::wait`](crate::Qos::wait) if `until` is `None`.
    pub(crate) fn offer(&self, event: &E, about: &Attributes, until: Option<Instant>) -> Offered {
        let mut state = self.lock();
        let mut until = until;
        loop {
            let may_wait = state.may_wait();
            // Read the counter before checking for space, so that the wait below ends if a slot is freed after the
            // check.
            let seen = self.room.seen();
            let wait = state.wait;
            match self.offer_step(state, event, about, may_wait) {
                Asked::Done(offered) => return offered,
                Asked::Full => {}
            }
            let end = *until.get_or_insert_with(|| end_of_wait(Instant::now(), wait));
            let left = end.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                self.room.wait(seen, left);
            }
            state = self.lock();
            state.waited(left.is_zero());
        }
    }

    /// Queues an event. If the queue is full, first drops other events one by one, as the policy requires.
    fn offer_step<'s>(
        &'s self,
        mut state: Locked<'s, State<E>>,
        event: &E,
        about: &Attributes,
        may_wait: bool,
    ) -> Asked {
        loop {
            if let Some(cause) = state.refusing {
                return Asked::Done(self.refuse(state, event, cause));
            }
            let now = match state.needs_time(about) {
                true => self.clock.now(),
                false => 0,
            };
            match state.room(about, now, may_wait) {
                Room::Free => {
                    state.push(event.clone(), about, now);
                    self.after_push(state, now);
                    return Asked::Done(Offered::Taken);
                }
                Room::Evicted(cause, entry) => {
                    drop(state);
                    self.report(cause, &entry.event);
                    state = self.lock();
                }
                Room::Refused(cause) => return Asked::Done(self.refuse(state, event, cause)),
                Room::Full => return Asked::Full,
            }
        }
    }

    fn refuse(&self, mut state: Locked<'_, State<E>>, event: &E, cause: Cause) -> Offered {
        state.drop_offered(cause);
        drop(state);
        self.report(cause, event);
        Offered::Dropped(cause)
    }

    /// Reports a dropped event to the sink. If the sink panics, the report is lost.
    fn report(&self, cause: Cause, event: &E) {
        if let Some(sink) = &self.sink {
            let call = AssertUnwindSafe(|| sink.dropped(cause, event));
            let _ = panic::catch_unwind(call);
        }
    }

    fn after_push(&self, mut state: Locked<'_, State<E>>, now: u64) {
        if self.sink.is_none() {
            drop(state);
            self.events.notify();
            return;
        }
        let next = state.next(now);
        drop(state);
        self.act(next);
    }

    /// Performs the step that [`State::next`] returned. The caller must not hold the lock.
    fn act(&self, next: Next) {
        match next {
            Next::Nothing => {}
            Next::Look(at) => self.arm(at),
            Next::Turn(lane, timing) => self.dispatch(lane, timing),
        }
    }

    fn dispatch(&self, lane: usize, timing: Timing) {
        let sent = match &self.runner {
            Runner::Reactive => return self.turns_here(),
            Runner::Lanes(lanes) => {
                let this = self.this.upgrade();
                this.is_some_and(|this| lanes[lane].dispatch(this, timing))
            }
            #[cfg(all(test, feature = "model"))]
            Runner::Model(turns) => {
                let this = self.this.upgrade();
                this.is_some_and(|this| turns.send((lane, this)).is_ok())
            }
        };
        if !sent {
            // The lane has stopped, so the turn will not take place. The dispatcher closes the outlet.
            self.lock().token_used(lane);
        }
    }

    /// Arms the timer so that the outlet is checked again at the time `at`.
    fn arm(&self, at: u64) {
        let is_there = self.lock().timer.is_some();
        let made = if is_there { Ok(()) } else { self.make_timer() };
        let mut state = self.lock();
        // Another thread may have armed the timer for an earlier time, which must be kept.
        let at = state.armed.map_or(at, |armed| armed.min(at));
        state.armed = match &state.timer {
            Some(timer) if made.is_ok() => {
                timer.at(at);
                Some(at)
            }
            // There is no timer. With `armed` cleared, the next offer tries again.
            _ => None,
        };
    }

    /// Creates the timer in advance if the quality of service requires one.
    pub(crate) fn prepare(&self) -> Result<(), TooManyTimers> {
        let needed = {
            let state = self.lock();
            state.timer.is_none() && !state.qos().pacing.is_zero()
        };
        if needed { self.make_timer() } else { Ok(()) }
    }

    fn make_timer(&self) -> Result<(), TooManyTimers> {
        let this = Weak::clone(&self.this);
        let timer = self.timers.add(move |_| {
            if let Some(outlet) = this.upgrade() {
                outlet.look();
            }
        })?;
        let mut state = self.lock();
        let other = match state.closed {
            None if state.timer.is_none() => state.timer.replace(timer),
            _ => Some(timer),
        };
        drop(state);
        drop(other);
        Ok(())
    }

    /// Delivers, or has a lane deliver, if an event is ready now.
    pub(crate) fn look(&self) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.armed = None;
        state.queue.start(now);
        if self.sink.is_none() {
            drop(state);
            self.events.notify();
            return;
        }
        let next = state.next(now);
        drop(state);
        self.act(next);
    }

    /// Refuses further events and drops waiting events; reports whether this call closed the outlet.
    pub(crate) fn close(&self, cause: Cause) -> bool {
        let mut state = self.lock();
        let Some(mut left) = state.close(cause) else {
            return false;
        };
        let timer = state.timer.take();
        drop(state);
        drop(timer);
        self.totals.connected.fetch_sub(1, Ordering::SeqCst);
        self.room.notify();
        self.events.notify();
        self.ends.notify();
        while let Some(entry) = left.take_any() {
            self.report(cause, &entry.event);
        }
        true
    }

    pub(crate) fn is_open(&self) -> bool {
        self.lock().refusing.is_none()
    }

    pub(crate) fn is_pulled(&self) -> bool {
        self.sink.is_none()
    }

    /// Replaces the quality of service.
    pub(crate) fn set_qos(&self, qos: Qos) {
        let out = self.lock().set_qos(qos);
        for (cause, entry) in out {
            self.report(cause, &entry.event);
        }
        self.room.notify();
        self.look();
    }

    /// Queues a turn without an event, so that a thread that waits for a turn checks whether the model has ended.
    #[cfg(all(test, feature = "model"))]
    pub(crate) fn wake_model(&self) {
        if let (Runner::Model(turns), Some(this)) = (&self.runner, self.this.upgrade()) {
            self.lock().token_given();
            turns.send((0, this)).unwrap();
        }
    }

    /// Closes the outlet and notifies its sink that the consumer was released.
    pub(crate) fn release(&self, why: Release) {
        if self.close(Cause::Gone)
            && let Some(sink) = &self.sink
        {
            let _ = panic::catch_unwind(AssertUnwindSafe(|| sink.released(why)));
        }
    }

    /// Refuses further events, and waits for at most `limit` until all waiting events are delivered or dropped.
    pub(crate) fn drain(&self, cause: Cause, limit: Duration) -> bool {
        self.lock().refusing.get_or_insert(cause);
        self.look();
        self.wait_until(limit, |state| state.queue.len() == 0 && state.in_hand == 0)
    }

    /// Drains the outlet before its threads end, for at most `limit`. Does not wait for the events of a suspended
    /// outlet, because no consumer will accept them. Returns whether the queue is empty and no delivery is in progress.
    pub(crate) fn finish(&self, cause: Cause, limit: Duration) -> bool {
        self.lock().refusing.get_or_insert(cause);
        self.look();
        let is_empty = |state: &State<E>| state.queue.len() == 0;
        let ends = self.wait_until(limit, |state| {
            (is_empty(state) || state.is_suspended()) && state.in_hand == 0
        });
        ends && is_empty(&self.lock())
    }

    /// Waits for at most `limit` until no delivery is in progress.
    pub(crate) fn quiesce(&self, limit: Duration) -> bool {
        self.wait_until(limit, |state| state.running == 0)
    }

    fn wait_until(&self, limit: Duration, done: impl Fn(&State<E>) -> bool) -> bool {
        let until = end_of_wait(Instant::now(), limit);
        loop {
            let seen = self.ends.seen();
            let mut state = self.lock();
            let closed = state.closed.is_some() && state.running == 0;
            if done(&state) || closed {
                return true;
            }
            state.ends_awaited = true;
            drop(state);
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.ends.wait(seen, left);
        }
    }
}

impl<E: Clone + Send + 'static> Drop for Shared<E> {
    fn drop(&mut self) {
        self.close(Cause::Detached);
        let counts = self.lock().counts();
        self.totals.departed(counts);
    }
}
