//! Dispatching queues: STATIC, DEADLINE and LAXITY, as a sorted list or as a heap.
//!
//! A [`DispatchQueue`] holds requests of one dispatching priority until a thread takes them, the most urgent one first. It
//! is made with all the room it will ever have: [`enqueue`](DispatchQueue::enqueue) and
//! [`dequeue`](DispatchQueue::dequeue) allocate nothing, take no lock and read no clock; what does not fit is given back.
//! Its owner passes the time and brings the lock, if threads share it.
//!
//! Requests that wait never change places: by deadline because it is fixed, by laxity because the laxity of all that wait
//! falls alike. So the dynamic part is computed once, when a request comes, and the clock decides only when a request is
//! late. Late requests are found when one is taken: the [`Missed`] policy says what becomes of them.

mod heap;
mod list;
mod store;

pub use heap::Heap;
pub use list::List;
pub use store::{Entry, Store};

use crate::strategy::Dispatching;
use crate::time::Nanos;

/// Times of a request that the queue has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// Time at which it should be done, in nanoseconds of the owner's clock.
    pub deadline: Nanos,
    /// The longest it takes.
    pub execution: Nanos,
    /// Static order: smaller goes first among equals. Larger subpriorities of a schedule are more urgent, so pass
    /// `u32::MAX` less those.
    pub order: u32,
}

/// Treatment of a request that cannot be in time any more when it would be taken. By laxity that is
/// known before the deadline, by deadline only after it; a STATIC queue has no late requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missed {
    /// Runs the request where it stands.
    #[default]
    Run,
    /// Moves the request to the late queue, from which requests are taken only when nothing else
    /// waits, the latest first.
    Demote,
    /// Gives the request back as [`Taken::Dropped`], not to be run.
    Drop,
}

/// Request as it leaves the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken<T> {
    /// Request to be run, and in time as far as the queue knows.
    Due(T),
    /// Request to be run, and late.
    Late(T),
    /// Request that is not to be run: its caller is to be told.
    Dropped(T),
}

/// Told of each request that is found late, once, before anything else becomes of it.
pub type OnMissed<T> = Box<dyn FnMut(&T, Timing) + Send>;

/// A bounded queue of one dispatching priority; see the [module](self).
///
/// ```
/// use oxorb_sched::Dispatching;
/// use oxorb_sched::queue::{DispatchQueue, Heap, Missed, Taken, Timing};
///
/// let mut queue: DispatchQueue<Heap<&str>> =
///     DispatchQueue::with_capacity(Dispatching::Laxity, Missed::Demote, 64);
/// let timing = |deadline, execution| Timing { deadline, execution, order: 0 };
/// queue.enqueue("long", timing(100, 60)).unwrap();
/// queue.enqueue("short", timing(80, 10)).unwrap();
/// // At 30, long has 10 left to wait and short 40; at 50, long is late.
/// assert_eq!(queue.dequeue(50), Some(Taken::Due("short")));
/// assert_eq!(queue.dequeue(50), Some(Taken::Late("long")));
/// assert_eq!(queue.dequeue(50), None);
/// ```
pub struct DispatchQueue<S: Store> {
    dispatching: Dispatching,
    missed: Missed,
    pending: S,
    late: S,
    /// Counts up with each request, so that equals leave as they came.
    arrivals: u64,
    on_missed: Option<OnMissed<S::Item>>,
    misses: u64,
}

/// The queue was full; here is the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the dispatching queue is full")]
pub struct Full<T>(pub T);

impl<S: Store> DispatchQueue<S> {
    /// A queue for `capacity` requests; all its memory is allocated here.
    pub fn with_capacity(dispatching: Dispatching, missed: Missed, capacity: usize) -> Self {
        let late = match missed {
            Missed::Demote => capacity,
            _ => 0,
        };
        DispatchQueue {
            dispatching,
            missed,
            pending: S::with_capacity(capacity),
            late: S::with_capacity(late),
            arrivals: 0,
            on_missed: None,
            misses: 0,
        }
    }

    /// Calls `told` for each request that is found late, on the thread that dequeues.
    pub fn on_missed(&mut self, told: OnMissed<S::Item>) {
        self.on_missed = Some(told);
    }

    /// Puts a request in. A heap takes O(log n), a list O(n) at worst.
    ///
    /// # Errors
    /// Gives the request back if the queue is full.
    pub fn enqueue(&mut self, request: S::Item, timing: Timing) -> Result<(), Full<S::Item>> {
        if self.len() >= self.pending.capacity() {
            return Err(Full(request));
        }
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.pending.insert(Entry {
            key: key(self.dynamic(timing), timing.order, arrival),
            timing,
            request,
        });
        Ok(())
    }

    /// Takes the most urgent request at the time `now`. A heap takes O(log n), a list O(1); so does each late request that
    /// is diverted on the way, of which each is diverted once.
    pub fn dequeue(&mut self, now: Nanos) -> Option<Taken<S::Item>> {
        while let Some(entry) = self.pending.take_first() {
            if !self.is_late(entry.timing, now) {
                return Some(Taken::Due(entry.request));
            }
            self.misses += 1;
            if let Some(told) = &mut self.on_missed {
                told(&entry.request, entry.timing);
            }
            match self.missed {
                Missed::Run => return Some(Taken::Late(entry.request)),
                Missed::Drop => return Some(Taken::Dropped(entry.request)),
                // By laxity and by deadline, the latest is the one with the smallest key (A12.18).
                Missed::Demote => self.late.insert(entry),
            }
        }
        self.late.take_first().map(|entry| Taken::Late(entry.request))
    }

    /// Requests that wait, late ones included.
    pub fn len(&self) -> usize {
        self.pending.len() + self.late.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most that may wait.
    pub fn capacity(&self) -> usize {
        self.pending.capacity()
    }

    /// Requests that were found late so far.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// Returns the number that orders requests, whatever the time is: the deadline, or the last
    /// moment to begin.
    fn dynamic(&self, timing: Timing) -> u64 {
        match self.dispatching {
            Dispatching::Static => 0,
            Dispatching::Deadline => timing.deadline,
            // Below 2^63, so that moments before the clock's beginning have an order as well.
            Dispatching::Laxity => (timing.deadline | (1 << 63)).saturating_sub(timing.execution),
        }
    }

    fn is_late(&self, timing: Timing, now: Nanos) -> bool {
        match self.dispatching {
            Dispatching::Static => false,
            Dispatching::Deadline => now >= timing.deadline,
            // A laxity of 0 counts as late (paper 3, 2.3.2 footnote 5).
            Dispatching::Laxity => now.saturating_add(timing.execution) >= timing.deadline,
        }
    }
}

/// Returns a single number to compare: dynamic part, static order, arrival. Arrivals are compared
/// by their lowest 32 bits, which is enough as long as fewer than 2^31 requests wait.
fn key(dynamic: u64, order: u32, arrival: u64) -> u128 {
    (u128::from(dynamic) << 64) | (u128::from(order) << 32) | u128::from(arrival as u32)
}

impl<S: Store> std::fmt::Debug for DispatchQueue<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DispatchQueue")
            .field("dispatching", &self.dispatching)
            .field("missed", &self.missed)
            .field("pending", &self.pending.len())
            .field("late", &self.late.len())
            .field("capacity", &self.pending.capacity())
            .finish()
    }
}

#[cfg(test)]
mod tests;
