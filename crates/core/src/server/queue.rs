//! Requests that wait for a thread: bounded, in an order, with one place for each that was let in.
//!
//! Whoever brings a request [reserves](Queue::reserve) its place first, so that one for which there is none is refused
//! before anything was done with it, and [pushes](Queue::push) it then. Threads take the next one when they come by
//! ([`pop`](Queue::pop)), or wait for it ([`wait`](Queue::wait)).

use std::cmp::{Ordering as Order, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use oxorb_object::Urgency;

use crate::clock;
use crate::lock::Mutex;
use crate::sync::{
    Condvar, MutexGuard,
    atomic::{AtomicUsize, Ordering},
};

/// Room for so many is there from the start; a queue that may hold more grows.
const AHEAD: usize = 4096;

/// A queue of `T` that holds so many, of so many octets in all.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    came: Condvar,
    /// Places that are taken, for threads that do not want the lock.
    taken: AtomicUsize,
    max_requests: usize,
    max_octets: usize,
}

struct State<T> {
    /// Requests whose urgency decides: a heap, so that one among many costs a logarithm of them.
    urgent: BinaryHeap<Urgent<T>>,
    /// All others, which come after those, in the order of their arrival.
    others: VecDeque<Waiting<T>>,
    /// Number of requests that became urgent ones so far.
    arrivals: u64,
    /// Of all that have a place.
    octets: usize,
    /// Threads that wait for one.
    idle: usize,
    /// So many of them were woken, and have not come yet.
    called: usize,
    closed: bool,
}

struct Waiting<T> {
    request: T,
    octets: usize,
}

struct Urgent<T> {
    /// Urgency, and the place among those that are as urgent.
    rank: (Urgency, Reverse<u64>),
    waiting: Waiting<T>,
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
            state: Mutex::new(State {
                urgent: BinaryHeap::new(),
                others: VecDeque::with_capacity(max_requests.min(AHEAD)),
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

    /// Makes room for requests whose urgency decides, too.
    pub(crate) fn with_urgency(self) -> Queue<T> {
        let ahead = self.max_requests.min(AHEAD);
        self.state().urgent.reserve(ahead);
        self
    }

    /// Takes a place for a request of so many octets; false when there is none. Whoever has one pushes.
    pub(crate) fn reserve(&self, octets: usize) -> bool {
        let mut state = self.state();
        let room = self.taken.load(Ordering::SeqCst) < self.max_requests
            && state.octets + octets <= self.max_octets;
        if room && !state.closed {
            self.take_place(&mut state, octets);
            return true;
        }
        false
    }

    /// The same for what cannot be refused: an end of a connection, say, of which there is one for each at most.
    pub(crate) fn reserve_anyway(&self, octets: usize) {
        self.take_place(&mut self.state(), octets);
    }

    fn take_place(&self, state: &mut State<T>, octets: usize) {
        state.octets += octets;
        self.taken.fetch_add(1, Ordering::SeqCst);
    }

    /// Puts a request that has its place behind all that are as urgent. `urgency`: where it decides.
    pub(crate) fn push(&self, request: T, octets: usize, urgency: Option<Urgency>) {
        let mut state = self.state();
        let waiting = Waiting { request, octets };
        match urgency {
            None => state.others.push_back(waiting),
            Some(urgency) => {
                state.arrivals += 1;
                let rank = (urgency, Reverse(state.arrivals));
                state.urgent.push(Urgent { rank, waiting });
            }
        }
        // Who was woken for another request and finds that gone takes this one.
        let somebody_sleeps = state.idle > state.called;
        state.called += usize::from(somebody_sleeps);
        drop(state);
        if somebody_sleeps {
            self.came.notify_one();
        }
    }

    /// The next request, if there is one.
    pub(crate) fn pop(&self) -> Option<T> {
        if self.is_idle() {
            return None;
        }
        self.next(&mut self.state())
    }

    /// The next request; waits for it at most so long, and not once there will be [none](Self::has_ended) any more.
    pub(crate) fn wait(&self, limit: Duration) -> Option<T> {
        let until = clock::now() + limit;
        let mut state = self.state();
        loop {
            if let Some(next) = self.next(&mut state) {
                return Some(next);
            }
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() || state.closed && self.is_idle() {
                return None;
            }
            state.idle += 1;
            let (again, timed_out) = self.came.wait_timeout(state, left).expect(UNPOISONED);
            state = again;
            state.idle -= 1;
            state.called = match timed_out.timed_out() {
                // Nobody else was called in its place.
                true => state.called.min(state.idle),
                false => state.called.saturating_sub(1),
            };
            if timed_out.timed_out() {
                return self.next(&mut state);
            }
        }
    }

    fn next(&self, state: &mut State<T>) -> Option<T> {
        let urgent = state.urgent.pop().map(|urgent| urgent.waiting);
        let next = urgent.or_else(|| state.others.pop_front())?;
        state.octets -= next.octets;
        let last = self.taken.fetch_sub(1, Ordering::SeqCst) == 1;
        if last && state.closed {
            self.came.notify_all();
        }
        Some(next.request)
    }

    /// Whether no place is taken: nothing waits, and nothing is about to.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.taken.load(Ordering::SeqCst) == 0
    }

    /// Whether no request is in it, nor will be.
    pub(crate) fn has_ended(&self) -> bool {
        let state = self.state();
        state.closed && self.is_idle()
    }

    /// Lets no further request in; those that have a place are still served.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.came.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect(UNPOISONED)
    }
}

const UNPOISONED: &str = "no panic while the lock is held";

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
            let qos = Qos {
                importance,
                ..Qos::default()
            };
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
        let long = Duration::from_secs(3600);
        assert_eq!(queue.wait(long), None, "nobody waits");
    }
}
