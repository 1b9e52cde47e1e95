//! Turns. A turn is one delivery of one outlet.

use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use super::state::{Hand, Next, Pulled, Taken};
use super::{Runner, Shared};
use crate::clock::{end_of_wait, nanoseconds};
use crate::{Cause, Outcome, PullError, Release};

/// Maximum number of turns during one offer of a reactive outlet. After that, a timer continues.
const TURNS: usize = 64;

impl<E: Clone + Send + 'static> Shared<E> {
    /// Executes a turn that was queued in a lane.
    pub(crate) fn turn_of_token(&self, lane: usize) {
        let dispatches = self.lock().token_used(lane);
        if dispatches {
            self.turn();
        }
    }

    /// Executes a turn that the lane dropped as late: drops the event if it is late.
    pub(crate) fn late_token(&self, lane: usize) {
        let now = self.clock.now();
        let mut state = self.lock();
        if !state.token_used(lane) {
            return;
        }
        let late = state.take_late(now);
        let next = state.next(now);
        let awaited = state.ends_awaited;
        drop(state);
        self.notify_ends(awaited);
        if let Some(entry) = late {
            self.report(Cause::Late, &entry.event);
        }
        self.act(next);
    }

    /// Executes turns in the supplier's thread.
    pub(super) fn turns_here(&self) {
        self.lock().token_used(0);
        for _ in 0..TURNS {
            if !self.turn() {
                return;
            }
        }
        self.arm(self.clock.now());
    }

    /// Makes one delivery. Returns whether the caller should make another one.
    fn turn(&self) -> bool {
        let hand = loop {
            let mut state = self.lock();
            let now = if state.is_timed() { self.clock.now() } else { 0 };
            let taken = state.take(now);
            let awaited = state.ends_awaited;
            drop(state);
            match taken {
                Taken::Expired(entry) => {
                    self.report(Cause::Expired, &entry.event);
                    self.notify_ends(awaited);
                }
                Taken::Nothing(next) => {
                    self.act(next);
                    return false;
                }
                Taken::Hand(hand, next) => {
                    self.room.notify();
                    self.act(next);
                    break hand;
                }
            }
        };
        let outcome = match &self.sink {
            Some(sink) => {
                let call = AssertUnwindSafe(|| sink.deliver(&hand.events));
                panic::catch_unwind(call).unwrap_or(Outcome::Failed)
            }
            None => Outcome::Gone,
        };
        let release = self.end_turn(hand, outcome);
        self.after_turn(release)
    }

    /// Counts a delivery. Returns the reason if the consumer must be released.
    fn end_turn(&self, mut hand: Hand<E>, outcome: Outcome) -> Option<Release> {
        let events = hand.events.len();
        match outcome {
            Outcome::Delivered => {
                // Drop the events before taking the lock, because their destructors may take long.
                hand.clear();
                let mut state = self.lock();
                state.delivered(events);
                // Return the buffer while still holding the lock, so that the next turn reuses it instead of allocating
                // another.
                state.keep(hand);
                None
            }
            Outcome::Failed | Outcome::Gone => {
                let gone = outcome == Outcome::Gone;
                let cause = if gone { Cause::Gone } else { Cause::Failed };
                self.report_all(cause, &mut hand);
                let mut state = self.lock();
                let too_many = state.failed(events, cause);
                state.keep(hand);
                let gone = gone.then_some(Release::Gone);
                gone.or(too_many.map(Release::Failures))
            }
            Outcome::Retry(pause) | Outcome::Later(pause) => {
                let at = self.clock.now().saturating_add(nanoseconds(pause));
                let counts = matches!(outcome, Outcome::Retry(_));
                let (cause, too_many) = self.lock().retry(&mut hand, at, counts);
                self.report_all(cause, &mut hand);
                self.lock().keep(hand);
                too_many.map(Release::Failures)
            }
        }
    }

    fn after_turn(&self, release: Option<Release>) -> bool {
        if let Some(why) = release {
            self.release(why);
        }
        let mut state = self.lock();
        let now = if state.is_timed() { self.clock.now() } else { 0 };
        let next = state.next(now);
        let awaited = state.ends_awaited;
        drop(state);
        self.notify_ends(awaited);
        match (&self.runner, next) {
            (Runner::Reactive, Next::Turn(lane, _)) => {
                self.lock().token_used(lane);
                true
            }
            (_, next) => {
                self.act(next);
                false
            }
        }
    }

    /// Wakes the threads that wait for the end of deliveries, if `awaited` is set.
    fn notify_ends(&self, awaited: bool) {
        if awaited {
            self.ends.notify();
        }
    }

    fn report_all(&self, cause: Cause, hand: &mut Hand<E>) {
        for event in &hand.events {
            self.report(cause, event);
        }
        hand.clear();
    }

    /// Takes the next event. Waits for at most `limit`.
    pub(crate) fn pull(&self, limit: Duration) -> Result<E, PullError> {
        let mut until = None;
        loop {
            let seen = self.events.seen();
            let mut state = self.lock();
            let timed = state.is_timed();
            let now = if timed { self.clock.now() } else { 0 };
            let pulled = state.pull(now);
            let awaited = state.ends_awaited;
            drop(state);
            self.notify_ends(awaited);
            let start = match pulled {
                Pulled::Event(event) => {
                    self.room.notify();
                    return Ok(event);
                }
                Pulled::Expired(entry) => {
                    self.report(Cause::Expired, &entry.event);
                    continue;
                }
                Pulled::Over => return Err(PullError::Detached),
                Pulled::Empty(start) => start,
            };
            if limit.is_zero() {
                return Err(PullError::Empty);
            }
            let end = *until.get_or_insert_with(|| end_of_wait(Instant::now(), limit));
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(PullError::Empty);
            }
            let start = start.map(|start| Duration::from_nanos(start.saturating_sub(now)));
            self.events.wait(seen, start.map_or(left, |start| left.min(start)));
        }
    }
}
