//! Bounded queue of requests that wait for a thread, with a reserved position for each accepted request.
//!
//! The caller [reserves](Queue::reserve) a position first, so that a request without one is refused before anything is
//! done with it, and then [pushes](Queue::push) the request. Threads take the next request if there is one
//! ([`pop`](Queue::pop)), or wait for it ([`wait`](Queue::wait)). Some requests [give way](Queue::displace) to others
//! when the queue is full; they are kept separately, so that finding one needs no search.

use std::cmp::{Ordering as Order, Reverse};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::Duration;

use oxorb_object::Urgency;

use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::{
    Condvar,
    atomic::{AtomicUsize, Ordering},
};

/// Largest initial capacity; longer queues grow.
const AHEAD: usize = 4096;

/// Queue of `T`, bounded in number and octets.
pub(crate) struct Queue<T> {
    state: Mutex<QueueState<T>>,
    came: Condvar,
    /// Number of reserved positions, for threads that do not take the lock.
    taken: AtomicUsize,
    max_requests: usize,
    max_octets: usize,
}

struct QueueState<T> {
    /// Requests ordered by urgency, in a heap, so that each costs logarithmic time.
    urgent: BinaryHeap<Urgent<T>>,
    /// Requests without urgency, which come after those, in the order of their arrival.
    others: VecDeque<WaitingRequest<T>>,
    /// Requests that give way when the queue is full, with and without urgency.
    urgent_yielding: BTreeMap<Rank, WaitingRequest<T>>,
    others_yielding: VecDeque<WaitingRequest<T>>,
    /// Number of requests so far.
    arrivals: u64,
    /// Total octets of queued and reserved requests.
    octets: usize,
    /// Number of waiting threads.
    idle: usize,
    /// Number of waiting threads that were woken and have not returned yet.
    called: usize,
    closed: bool,
}

struct WaitingRequest<T> {
    request: T,
    octets: usize,
    arrival: u64,
}

/// Urgency, and the order of arrival among equals.
type Rank = (Urgency, Reverse<u64>);

struct Urgent<T> {
    rank: Rank,
    waiting: WaitingRequest<T>,
}

impl<T> PartialEq for Urgent<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<T> Eq for Urgent<T> {}

impl<T> PartialOrd for Urgent<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Urgent<T> {
    fn cmp(&self, other: &Self) -> Order {
        self.rank.cmp(&other.rank)
    }
}

impl<T> Queue<T> {
    pub(crate) fn new(max_requests: usize, max_octets: usize) -> Queue<T> {
        Queue {
            state: Mutex::new(QueueState {
                urgent: BinaryHeap::new(),
                others: VecDeque::with_capacity(max_requests.min(AHEAD)),
                urgent_yielding: BTreeMap::new(),
                others_yielding: VecDeque::new(),
                arrivals: 0,
                octets: 0,
                idle: 0,
                called: 0,
                closed: false,
            }),
            came: Condvar::new(),
            taken: AtomicUsize::new(0),
            max_requests,
            max_octets,
        }
    }

    /// Reserves capacity for requests ordered by urgency, too.
    pub(crate) fn with_urgency(self) -> Queue<T> {
        let ahead = self.max_requests.min(AHEAD);
        self.state.lock().urgent.reserve(ahead);
        self
    }

    /// Reserves a position for a request of `octets`; returns false if the queue is full or closed. If it returns true,
    /// the caller has to push a request.
    pub(crate) fn reserve(&self, octets: usize) -> bool {
        let mut state = self.state.lock();
        if self.has_room(&state, octets) && !state.closed {
            self.take_place(&mut state, octets);
            return true;
        }
        false
    }

    /// Reserves a position for work that cannot be refused, such as the end of a connection, of
    /// which there is at most one per connection.
    pub(crate) fn reserve_anyway(&self, octets: usize) {
        self.take_place(&mut self.state.lock(), octets);
    }

    fn take_place(&self, state: &mut QueueState<T>, octets: usize) {
        state.octets += octets;
        self.taken.fetch_add(1, Ordering::SeqCst);
    }

    /// Queues a request in its reserved position, after those of the same urgency. `urgency` is
    /// `None` if it does not matter.
    pub(crate) fn push(&self, request: T, octets: usize, urgency: Option<Urgency>) {
        self.add(request, octets, urgency, false);
    }

    /// Queues a request that gives way when the queue is full.
    pub(crate) fn push_yielding(&self, request: T, octets: usize, urgency: Option<Urgency>) {
        self.add(request, octets, urgency, true);
    }

    fn add(&self, request: T, octets: usize, urgency: Option<Urgency>, yields: bool) {
        let mut state = self.state.lock();
        state.arrivals += 1;
        let arrival = state.arrivals;
        let waiting = WaitingRequest { request, octets, arrival };
        let rank = urgency.map(|urgency| (urgency, Reverse(arrival)));
        match (rank, yields) {
            (None, false) => state.others.push_back(waiting),
            (None, true) => state.others_yielding.push_back(waiting),
            (Some(rank), false) => state.urgent.push(Urgent { rank, waiting }),
            (Some(rank), true) => drop(state.urgent_yielding.insert(rank, waiting)),
        }
        // Each thread that was woken and has not returned yet takes one request, so another one is woken only if more
        // threads sleep.
        let somebody_sleeps = state.idle > state.called;
        state.called += usize::from(somebody_sleeps);
        drop(state);
        if somebody_sleeps {
            self.came.notify_one();
        }
    }

    /// Returns the next request, if there is one.
    pub(crate) fn pop(&self) -> Option<T> {
        if self.is_idle() {
            return None;
        }
        self.next(&mut self.state.lock())
    }

    /// Returns the next request; waits for it up to `limit`, or until the queue [has ended](Self::has_ended).
    pub(crate) fn wait(&self, limit: Duration) -> Option<T> {
        let until = clock::after(limit);
        let mut state = self.state.lock();
        loop {
            if let Some(next) = self.next(&mut state) {
                return Some(next);
            }
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() || state.closed && self.is_idle() {
                return None;
            }
            state.idle += 1;
            let (again, timed_out) = self.came.wait_timeout(state, left);
            state = again;
            state.idle -= 1;
            state.called = match timed_out.timed_out() {
                // A thread that timed out did not use up a wake-up, but no more threads can be called than still wait.
                true => state.called.min(state.idle),
                false => state.called.saturating_sub(1),
            };
            if timed_out.timed_out() {
                return self.next(&mut state);
            }
        }
    }

    /// Removes a request that gives way, with its position: the oldest of the least urgent. `None` if there is none, or
    /// the queue is not full.
    pub(crate) fn displace(&self, octets: usize) -> Option<T> {
        let mut state = self.state.lock();
        if self.has_room(&state, octets) || octets > self.max_octets {
            return None;
        }
        let oldest = state.others_yielding.pop_front();
        let waiting = oldest.or_else(|| {
            let least = state.urgent_yielding.first_key_value()?.0.0;
            let up_to = ..=(least, Reverse(0));
            let rank = *state.urgent_yielding.range(up_to).next_back()?.0;
            state.urgent_yielding.remove(&rank)
        })?;
        Some(self.leave(&mut state, waiting))
    }

    fn has_room(&self, state: &QueueState<T>, octets: usize) -> bool {
        self.taken.load(Ordering::SeqCst) < self.max_requests
            && state.octets + octets <= self.max_octets
    }

    fn next(&self, state: &mut QueueState<T>) -> Option<T> {
        let next = state.next_urgent().or_else(|| state.next_other())?;
        Some(self.leave(state, next))
    }

    fn leave(&self, state: &mut QueueState<T>, next: WaitingRequest<T>) -> T {
        state.octets -= next.octets;
        let last = self.taken.fetch_sub(1, Ordering::SeqCst) == 1;
        if last && state.closed {
            self.came.notify_all();
        }
        next.request
    }

    /// Reports whether no position is reserved, so that no request is or will be queued.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.taken.load(Ordering::SeqCst) == 0
    }

    /// Returns the number of reserved positions, and their maximum. Takes no lock.
    pub(crate) fn occupancy(&self) -> (usize, usize) {
        (self.taken.load(Ordering::Relaxed), self.max_requests)
    }

    /// Reports whether the queue is closed and empty.
    pub(crate) fn has_ended(&self) -> bool {
        let state = self.state.lock();
        state.closed && self.is_idle()
    }

    /// Stops accepting requests; those with a position are still served.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.came.notify_all();
    }
}

impl<T> QueueState<T> {
    fn next_urgent(&mut self) -> Option<WaitingRequest<T>> {
        let yielding = self.urgent_yielding.last_key_value().map(|(rank, _)| *rank);
        match (self.urgent.peek().map(|urgent| urgent.rank), yielding) {
            (Some(stays), Some(yields)) if yields > stays => self.last_yielding(),
            (None, Some(_)) => self.last_yielding(),
            (_, _) => self.urgent.pop().map(|urgent| urgent.waiting),
        }
    }

    fn last_yielding(&mut self) -> Option<WaitingRequest<T>> {
        self.urgent_yielding.pop_last().map(|(_, waiting)| waiting)
    }

    fn next_other(&mut self) -> Option<WaitingRequest<T>> {
        let arrival =
            |queue: &VecDeque<WaitingRequest<T>>| queue.front().map(|first| first.arrival);
        let yields = match (arrival(&self.others), arrival(&self.others_yielding)) {
            (Some(stays), Some(yields)) => yields < stays,
            (None, yields) => yields.is_some(),
            (Some(_), None) => false,
        };
        match yields {
            true => self.others_yielding.pop_front(),
            false => self.others.pop_front(),
        }
    }
}

#[cfg(test)]
mod tests {
    use oxorb_object::Qos;

    use super::*;

    const SOON: Duration = Duration::from_millis(1);

    #[test]
    fn there_is_a_place_for_so_many_and_for_so_many_octets() {
        let queue = Queue::new(2, 100);
        assert!(queue.reserve(60) && !queue.is_idle());
        assert!(!queue.reserve(41), "octets");
        assert!(queue.reserve(40));
        assert!(!queue.reserve(0), "requests");
        queue.push('a', 60, None);
        queue.push('b', 40, None);
        assert_eq!((queue.pop(), queue.reserve(0)), (Some('a'), true));
        queue.reserve_anyway(1000);
        queue.push('c', 0, None);
        queue.push('d', 1000, None);
        assert_eq!(
            [(); 4].map(|()| queue.pop()),
            ['b', 'c', 'd', '-'].map(|c| (c != '-').then_some(c))
        );
        assert!(queue.is_idle());
    }

    #[test]
    fn the_most_urgent_come_first_and_each_in_the_order_of_arrival() {
        let urgency = |importance| {
            let qos = Qos { importance, ..Qos::default() };
            Some(qos.urgency())
        };
        let queue = Queue::new(8, 100).with_urgency();
        let coming = [
            ('a', None),
            ('b', urgency(1)),
            ('c', urgency(2)),
            ('d', urgency(1)),
            ('e', None),
            ('f', urgency(2)),
        ];
        for (request, urgency) in coming {
            assert!(queue.reserve(0));
            queue.push(request, 0, urgency);
        }
        let served: String = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(served, "cfbdae");
    }

    #[test]
    fn those_that_give_way_do_so_when_the_queue_is_full_and_are_served_in_turn_otherwise() {
        let urgency = |importance| {
            let qos = Qos { importance, ..Qos::default() };
            Some(qos.urgency())
        };
        let rest = |queue: &Queue<char>| -> String { std::iter::from_fn(|| queue.pop()).collect() };
        // Without urgency, requests are served, and give way, in the order of arrival.
        let full = || {
            let queue = Queue::new(4, 100);
            for (request, yields) in [('a', false), ('b', true), ('c', false), ('d', true)] {
                assert!(queue.displace(10).is_none() && queue.reserve(10));
                match yields {
                    true => queue.push_yielding(request, 10, None),
                    false => queue.push(request, 10, None),
                }
            }
            queue
        };
        assert_eq!(rest(&full()), "abcd");
        let queue = full();
        assert!(queue.displace(101).is_none(), "it would never fit");
        assert!(!queue.reserve(10));
        assert_eq!(queue.displace(10), Some('b'));
        assert_eq!(queue.displace(10), None, "there is room");
        assert!(queue.reserve(10));
        queue.push('e', 10, None);
        assert_eq!(queue.displace(10), Some('d'));
        assert!(queue.reserve(10));
        assert_eq!(queue.displace(10), None, "those that are left stay");
        queue.push('f', 10, None);
        assert_eq!(rest(&queue), "acef");
        // With urgency, the oldest of the least urgent requests gives way.
        let full = || {
            let queue = Queue::new(5, 100).with_urgency();
            for (request, importance, yields) in
                [('a', 1, false), ('b', 2, true), ('c', 2, true), ('d', 3, true), ('e', 9, false)]
            {
                assert!(queue.reserve(1));
                match yields {
                    true => queue.push_yielding(request, 1, urgency(importance)),
                    false => queue.push(request, 1, urgency(importance)),
                }
            }
            queue
        };
        assert_eq!(rest(&full()), "edbca");
        let queue = full();
        assert_eq!(queue.displace(1), Some('b'));
        assert_eq!(rest(&queue), "edca");
    }

    #[test]
    fn a_closed_queue_gives_what_it_has_and_lets_nothing_in() {
        let queue = Queue::new(2, 100);
        assert!(queue.reserve(1));
        queue.close();
        assert!(!queue.reserve(1));
        assert_eq!(queue.wait(SOON), None);
        assert!(!queue.has_ended(), "one has a place");
        queue.push('a', 1, None);
        assert_eq!(queue.wait(SOON), Some('a'));
        assert!(queue.has_ended());
        assert_eq!(queue.wait(Duration::MAX), None, "nobody waits");
    }
}
