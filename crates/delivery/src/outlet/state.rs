//! State of an outlet, which the outlet's lock protects.

use std::sync::Arc;
use std::time::Duration;

use oxorb_sched::queue::Timing;

use crate::clock::nanoseconds;
use crate::lane::TOKENS;
use crate::queue::{Entry, Queue, Room};
use crate::totals::Totals;
use crate::{Attributes, Cause, Counts, Qos, Timer};

/// Maximum number of delivery buffers that an outlet keeps for reuse.
const HANDS: usize = 16;

/// State of an outlet.
pub(crate) struct State<E> {
    pub(super) queue: Queue<E>,
    qos: Qos,
    /// Waiting turns in each lane; one element if there are no lanes.
    lanes: Box<[Place]>,
    counts: Counts,
    totals: Arc<Totals>,
    /// Copy of [`Qos::wait`].
    pub(crate) wait: Duration,
    hands: Vec<Hand<E>>,
    pub(super) in_hand: u64,
    /// Number of deliveries in progress.
    pub(super) running: usize,
    suspended: bool,
    /// Set when the outlet no longer accepts events: the cause for which offered events are dropped.
    pub(super) refusing: Option<Cause>,
    /// Set when the outlet is closed: the cause for which waiting events were dropped.
    pub(super) closed: Option<Cause>,
    /// Number of consecutive failed deliveries.
    failures: u32,
    /// Whether a supplier's wait timed out and no event has been delivered since.
    stalled: bool,
    /// Time before which no event is delivered after a failure; 0 if there is no such time.
    not_before: u64,
    /// Time at which waiting events are delivered even if they do not fill a batch.
    pace_due: u64,
    /// Time for which the timer is armed; `None` if it is not armed.
    pub(super) armed: Option<u64>,
    pub(super) timer: Option<Timer>,
    pub(super) ends_awaited: bool,
}

/// Dispatch mode of a lane: the threads that execute turns, and the order of the outlets. A turn is one dispatch of an
/// outlet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turns {
    /// Suppliers' threads deliver, one event after the other.
    Reactive,
    /// Threads of a lane deliver in the lane's static order.
    Lane,
    /// Threads of a lane deliver in the order of deadline or laxity of each outlet's next event.
    ByDeadline,
}

/// Turns of an outlet in one lane. Turns in a lane that the outlet has left are ignored.
struct Place {
    turns: Turns,
    /// Number of waiting turns.
    tokens: u32,
    /// Deadline of the most urgent waiting turn.
    deadline: u64,
}

/// Buffer for the events that a sink is processing.
pub(super) struct Hand<E> {
    pub(super) events: Vec<E>,
    pub(super) rest: Vec<(Attributes, u64)>,
}

/// Next step of an outlet.
pub(super) enum Next {
    Nothing,
    /// Check the outlet again at this time.
    Look(u64),
    /// Queue a turn in this lane.
    Turn(usize, Timing),
}

/// Result of an attempt to take events for delivery.
pub(super) enum Taken<E> {
    /// Deliver these events. `Next` is the step to perform before the delivery.
    Hand(Hand<E>, Next),
    /// The event has expired: report it and take again.
    Expired(Entry<E>),
    Nothing(Next),
}

impl<E> State<E> {
    /// Creates a state. `lanes` has one element for each lane, or a single one if there are no lanes.
    pub(crate) fn new(qos: Qos, lanes: &[Turns], totals: Arc<Totals>) -> State<E> {
        let place = |turns: &Turns| Place { turns: *turns, tokens: 0, deadline: u64::MAX };
        State {
            lanes: lanes.iter().map(place).collect(),
            queue: Queue::new(&qos, spare(&qos)),
            counts: Counts::default(),
            totals,
            wait: qos.wait,
            hands: vec![Hand::new(&qos)],
            qos,
            in_hand: 0,
            running: 0,
            suspended: false,
            refusing: None,
            closed: None,
            failures: 0,
            stalled: false,
            not_before: 0,
            pace_due: 0,
            armed: None,
            timer: None,
            ends_awaited: false,
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            waiting: self.queue.len() as u64 + self.in_hand,
            octets: self.queue.octets(),
            ..self.counts
        }
    }

    pub(crate) fn qos(&self) -> &Qos {
        &self.qos
    }

    /// Returns the index of the lane that dispatches the outlet; 0 if there are no lanes.
    fn lane(&self) -> usize {
        self.qos.lane.min(self.lanes.len() - 1)
    }

    /// Replaces the quality of service, and returns the events that exceed the new limits. If the lane does not exist,
    /// the outlet stays in its present lane.
    pub(crate) fn set_qos(&mut self, mut qos: Qos) -> Vec<(Cause, Entry<E>)> {
        if qos.lane >= self.lanes.len() {
            qos.lane = self.qos.lane;
        }
        self.qos.lane = qos.lane;
        self.qos.order_in_lane = qos.order_in_lane;
        self.qos.execution = qos.execution;
        // Only lane settings differ, so the queue need not be rebuilt.
        if qos == self.qos {
            return Vec::new();
        }
        let mut old = std::mem::replace(&mut self.queue, Queue::new(&qos, spare(&qos)));
        // A failed delivery may put its events back into the new queue, which orders them by their old arrival numbers.
        self.queue.continue_from(&old);
        self.wait = qos.wait;
        self.qos = qos;
        self.hands.clear();
        let mut out = Vec::new();
        let mut left: Vec<Entry<E>> = std::iter::from_fn(|| old.take_any()).collect();
        left.sort_by_key(|entry| entry.arrival);
        for entry in left {
            loop {
                match self.queue.room(&entry.about, 0, false, false) {
                    Room::Free => {
                        self.queue.take_over(entry);
                        break;
                    }
                    Room::Evicted(cause, evicted) => out.push((cause, evicted)),
                    Room::Refused(cause) => {
                        out.push((cause, entry));
                        break;
                    }
                    Room::Full => break,
                }
            }
        }
        for (cause, _) in &out {
            self.drop_queued(*cause);
        }
        out
    }

    pub(super) fn may_wait(&self) -> bool {
        !self.wait.is_zero() && !self.stalled
    }

    /// Counts a supplier's wait. If `in_vain` is set, records instead that the wait timed out.
    pub(super) fn waited(&mut self, in_vain: bool) {
        self.counts.waits += u64::from(!in_vain);
        self.stalled |= in_vain;
    }

    /// Reports whether the current time affects this event or the waiting events.
    pub(super) fn needs_time(&self, about: &Attributes) -> bool {
        about.start.is_some()
            || about.expiry.is_some()
            || self.queue.is_timed()
            || self.not_before > 0
            || !self.qos.pacing.is_zero()
    }

    pub(super) fn is_timed(&self) -> bool {
        self.needs_time(&Attributes::default())
    }

    /// Makes space for one event. If the result is [`Room::Free`], the caller must call [`push`](Self::push).
    pub(super) fn room(&mut self, about: &Attributes, now: u64, may_wait: bool) -> Room<E> {
        let reserved = self.totals.reserve();
        let room = self.queue.room(about, now, may_wait, !reserved);
        match &room {
            Room::Free => {}
            _ if reserved => self.totals.free(1),
            _ => {}
        }
        if let Room::Evicted(cause, _) = &room {
            self.drop_queued(*cause);
        }
        room
    }

    pub(super) fn push(&mut self, event: E, about: &Attributes, now: u64) {
        self.counts.offered += 1;
        let start = about.start.filter(|&start| start > now);
        self.queue.push(event, Attributes { start, ..*about });
        self.counts.most = self.counts.most.max(self.queue.len() as u64);
        if self.queue.ready() == 1 {
            self.pace_from(now);
        }
    }

    /// Counts an offered event that was dropped without being queued.
    pub(super) fn drop_offered(&mut self, cause: Cause) {
        self.counts.offered += 1;
        self.counts.dropped[cause as usize] += 1;
    }

    /// Counts an event that was removed from the queue without being delivered.
    fn drop_queued(&mut self, cause: Cause) {
        self.counts.dropped[cause as usize] += 1;
        self.totals.free(1);
    }

    /// Returns the next step for a consumer to which events are pushed.
    pub(super) fn next(&mut self, now: u64) -> Next {
        if self.may_deliver(now) {
            let first = self.queue.first();
            let deadline = first.map_or(u64::MAX, Attributes::deadline_or_never);
            let lane = self.lane();
            let place = &mut self.lanes[lane];
            let overtakes = place.turns == Turns::ByDeadline
                && place.tokens < TOKENS
                && deadline < place.deadline;
            if place.tokens > 0 && !overtakes {
                return Next::Nothing;
            }
            place.tokens += 1;
            place.deadline = deadline;
            let timing = Timing {
                // Limit deadlines to half the range of `u64`, so that computing a laxity cannot overflow.
                deadline: deadline.min(u64::MAX / 2),
                execution: nanoseconds(self.qos.execution),
                order: self.qos.order_in_lane,
            };
            return Next::Turn(lane, timing);
        }
        if self.suspended || self.closed.is_some() || !self.is_timed() {
            return Next::Nothing;
        }
        let ready = self.queue.ready() > 0;
        let later = [
            self.queue.next_start(),
            ready.then_some(self.not_before),
            ready.then_some(self.pace_due),
        ];
        let later = later.into_iter().flatten().filter(|&at| at > now).min();
        match later {
            Some(at) if self.armed.is_none_or(|armed| armed > at) => {
                self.armed = Some(at);
                Next::Look(at)
            }
            _ => Next::Nothing,
        }
    }

    fn may_deliver(&self, now: u64) -> bool {
        let ready = self.queue.ready();
        let is_time = self.qos.pacing.is_zero()
            || ready >= self.qos.batch
            || now >= self.pace_due
            || self.refusing.is_some();
        ready > 0
            && is_time
            && !self.suspended
            && self.running < self.qos.concurrency
            && now >= self.not_before
    }

    /// Takes the events of one delivery.
    pub(super) fn take(&mut self, now: u64) -> Taken<E> {
        self.queue.start(now);
        if let Some(entry) = self.queue.take_expired(now) {
            self.drop_queued(Cause::Expired);
            return Taken::Expired(entry);
        }
        if !self.may_deliver(now) {
            return Taken::Nothing(self.next(now));
        }
        self.not_before = 0;
        let mut hand = self.hands.pop().unwrap_or_else(|| Hand::new(&self.qos));
        while hand.events.len() < self.qos.batch
            && let Some(entry) = self.queue.take()
        {
            hand.rest.push((entry.about, entry.arrival));
            hand.events.push(entry.event);
        }
        self.totals.free(hand.events.len());
        self.in_hand += hand.events.len() as u64;
        self.running += 1;
        self.pace_from(now);
        let next = match self.lanes[self.lane()].turns {
            // Do not start a turn here: it would be nested in this one. The caller of `turn` continues in a loop.
            Turns::Reactive => Next::Nothing,
            Turns::Lane | Turns::ByDeadline => self.next(now),
        };
        Taken::Hand(hand, next)
    }

    /// Ends a delivery. Its events are counted by the caller.
    fn end(&mut self, events: usize) {
        self.running -= 1;
        self.in_hand -= events as u64;
    }

    pub(super) fn delivered(&mut self, events: usize) {
        self.end(events);
        self.counts.delivered += events as u64;
        self.failures = 0;
        self.stalled = false;
    }

    /// Counts the events of a failed delivery. Returns the number of consecutive failures if it has reached the limit.
    pub(super) fn failed(&mut self, events: usize, cause: Cause) -> Option<u32> {
        self.end(events);
        self.counts.dropped[cause as usize] += events as u64;
        self.one_more_failure()
    }

    /// Puts the events of a delivery back and delays the next delivery until the given time. If `counts` is set, the
    /// delivery counts as failed. Events that can no longer be kept remain in `hand`, and are counted for the returned
    /// cause.
    pub(super) fn retry(
        &mut self,
        hand: &mut Hand<E>,
        at: u64,
        counts: bool,
    ) -> (Cause, Option<u32>) {
        self.end(hand.events.len());
        if let Some(cause) = self.closed {
            self.counts.dropped[cause as usize] += hand.events.len() as u64;
            return (cause, None);
        }
        self.not_before = at;
        let mut superseded = Vec::new();
        while let (Some(event), Some((about, arrival))) = (hand.events.pop(), hand.rest.pop()) {
            let entry = Entry { event, about, arrival };
            match self.queue.put_back(entry) {
                None => self.totals.add(1),
                Some(entry) => {
                    self.counts.dropped[Cause::Superseded as usize] += 1;
                    superseded.push(entry.event);
                }
            }
        }
        hand.events.append(&mut superseded);
        let too_many = counts.then(|| self.one_more_failure()).flatten();
        (Cause::Superseded, too_many)
    }

    fn one_more_failure(&mut self) -> Option<u32> {
        self.failures += 1;
        (self.qos.failures > 0 && self.failures >= self.qos.failures).then_some(self.failures)
    }

    pub(super) fn keep(&mut self, hand: Hand<E>) {
        if self.hands.len() < HANDS {
            self.hands.push(hand);
        }
    }

    /// Takes an event for a consumer that pulls.
    pub(super) fn pull(&mut self, now: u64) -> Pulled<E> {
        self.queue.start(now);
        if let Some(entry) = self.queue.take_expired(now) {
            self.drop_queued(Cause::Expired);
            return Pulled::Expired(entry);
        }
        let entry = if self.suspended { None } else { self.queue.take() };
        match entry {
            Some(entry) => {
                self.totals.free(1);
                self.counts.delivered += 1;
                self.stalled = false;
                Pulled::Event(entry.event)
            }
            None if self.closed.is_some() => Pulled::Over,
            None if self.refusing.is_some() && self.queue.len() == 0 => Pulled::Over,
            None => Pulled::Empty(self.queue.next_start()),
        }
    }

    /// Drops the next event if it is late. Only for lanes that drop late events.
    pub(super) fn take_late(&mut self, now: u64) -> Option<Entry<E>> {
        let deadline = self.queue.first()?.deadline?;
        let late = now.saturating_add(nanoseconds(self.qos.execution)) >= deadline;
        let entry = if late { self.queue.take() } else { None }?;
        self.drop_queued(Cause::Late);
        Some(entry)
    }

    /// Removes a turn that a lane has dequeued. Returns `false` if the outlet has left the lane: the waiting events
    /// then have a turn in the new lane.
    pub(super) fn token_used(&mut self, lane: usize) -> bool {
        let place = &mut self.lanes[lane];
        place.tokens -= 1;
        if place.tokens == 0 {
            place.deadline = u64::MAX;
        }
        lane == self.lane()
    }

    /// Adds a turn without an event, for models.
    #[cfg(all(test, feature = "model"))]
    pub(super) fn token_given(&mut self) {
        self.lanes[0].tokens += 1;
    }

    pub(crate) fn suspend(&mut self, suspended: bool) {
        self.suspended = suspended;
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// Closes the outlet and returns the waiting events, which are counted as dropped; `None` if it was closed already.
    pub(super) fn close(&mut self, cause: Cause) -> Option<Queue<E>> {
        if self.closed.is_some() {
            return None;
        }
        self.refusing.get_or_insert(cause);
        self.closed = Some(cause);
        let nothing = Qos { events: 0, ..Qos::default() };
        let left = std::mem::replace(&mut self.queue, Queue::new(&nothing, 0));
        self.counts.dropped[cause as usize] += left.len() as u64;
        self.totals.free(left.len());
        Some(left)
    }

    fn pace_from(&mut self, now: u64) {
        self.pace_due = now.saturating_add(nanoseconds(self.qos.pacing));
    }
}

/// Result of a pull.
pub(super) enum Pulled<E> {
    Event(E),
    /// The event has expired: report it and try again.
    Expired(Entry<E>),
    /// The queue has no event that may be delivered now. If an event is held, the value is its start time.
    Empty(Option<u64>),
    /// The outlet is empty, and no further event can arrive.
    Over,
}

impl<E> Hand<E> {
    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.rest.clear();
    }

    fn new(qos: &Qos) -> Hand<E> {
        let most = qos.batch.min(qos.events);
        Hand { events: Vec::with_capacity(most), rest: Vec::with_capacity(most) }
    }
}

/// Returns the maximum number of events that may be put back.
fn spare(qos: &Qos) -> usize {
    qos.batch.min(qos.events) * qos.concurrency.min(HANDS)
}
