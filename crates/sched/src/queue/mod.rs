//! Dispatching queues: STATIC, DEADLINE and LAXITY, as a sorted list or as a heap.
//!
//! A [`DispatchQueue`] holds requests of one dispatching priority until a thread takes them, the
//! most urgent one first. All its memory is allocated at creation:
//! [`enqueue`](DispatchQueue::enqueue) and [`dequeue`](DispatchQueue::dequeue) allocate nothing,
//! take no lock and read no clock; a request that exceeds the capacity is returned. The owner
//! passes the time, and provides the lock if threads share the queue.
//!
//! Waiting requests never change their order: deadlines are fixed, and the laxities of all waiting
//! requests decrease at the same rate. So the dynamic part is computed once, when a request is
//! enqueued, and the clock decides only whether a request is late. Late requests are detected when
//! they are dequeued, and the [`Missed`] policy is applied to them.

mod heap;
mod list;
mod store;

pub use heap::Heap;
pub use list::List;
pub use store::{Entry, Store};

use crate::strategy::Dispatching;
use crate::time::Nanos;

/// Timing of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// Deadline, in nanoseconds of the owner's clock.
    pub deadline: Nanos,
    /// Longest execution time, in ns.
    pub execution: Nanos,
    /// Static order among requests that are otherwise equally urgent; the smaller number goes
    /// first. As larger subpriorities of a schedule are more urgent, pass `u32::MAX` minus the
    /// subpriority.
    pub order: u32,
}

/// Treatment of a request that is late when dequeued. A queue ordered by laxity detects lateness
/// before the deadline, a queue ordered by deadline only after it; a STATIC queue has no late
/// requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missed {
    /// Runs the request in its order.
    #[default]
    Run,
    /// Moves the request to the late queue, which is served only when nothing else waits, the
    /// latest request first.
    Demote,
    /// Returns the request as [`Taken::Dropped`]; it must not run.
    Drop,
}

/// Request taken from the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken<T> {
    /// Request to run that has not been found to be late.
    Due(T),
    /// Request to run that is late.
    Late(T),
    /// Request that must not run; its caller must be notified.
    Dropped(T),
}

/// Callback that is called once for each late request, before the [`Missed`] policy is applied.
pub type OnMissed<T> = Box<dyn FnMut(&T, Timing) + Send>;

/// Bounded queue of one dispatching priority; see the [module](self).
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
    /// Number of the next request, which keeps equally urgent requests in the order of arrival. Counts from the time at
    /// which the queue was empty; after 2^32 requests without such a time, the order of equals may change.
    arrivals: u32,
    on_missed: Option<OnMissed<S::Item>>,
    misses: u64,
}

/// Error of a full queue, which returns the rejected request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the dispatching queue is full")]
pub struct Full<T>(pub T);

impl<S: Store> DispatchQueue<S> {
    /// Returns a queue for `capacity` requests and allocates all its memory.
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

    /// Sets the callback for late requests; it runs on the dequeuing thread.
    pub fn on_missed(&mut self, told: OnMissed<S::Item>) {
        self.on_missed = Some(told);
    }

    /// Enqueues a request. A heap takes O(log n), a list O(n) at worst.
    ///
    /// # Errors
    /// [`Full`] with the request if the queue is full.
    pub fn enqueue(&mut self, request: S::Item, timing: Timing) -> Result<(), Full<S::Item>> {
        let waiting = self.len();
        if waiting >= self.pending.capacity() {
            return Err(Full(request));
        }
        if waiting == 0 {
            self.arrivals = 0;
        }
        let arrival = self.arrivals;
        self.arrivals = arrival.wrapping_add(1);
        self.pending.insert(Entry {
            key: key(self.dynamic(timing), timing.order, arrival),
            timing,
            request,
        });
        Ok(())
    }

    /// Dequeues the most urgent request at the time `now`. A heap takes O(log n), a list O(1), plus
    /// the same for each late request that is moved to the late queue; each is moved once.
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
                // A late request keeps its key. The latest one has the smallest key and is taken
                // first.
                Missed::Demote => self.late.insert(entry),
            }
        }
        self.late.take_first().map(|entry| Taken::Late(entry.request))
    }

    /// Returns the number of waiting requests, including late ones.
    pub fn len(&self) -> usize {
        self.pending.len() + self.late.len()
    }

    /// Reports whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the maximum number of waiting requests.
    pub fn capacity(&self) -> usize {
        self.pending.capacity()
    }

    /// Returns the number of late requests so far.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// Returns the time-independent number that orders requests: the deadline, or the latest start.
    fn dynamic(&self, timing: Timing) -> u64 {
        match self.dispatching {
            Dispatching::Static => 0,
            Dispatching::Deadline => timing.deadline,
            // Add 2^63, so that a latest start before the origin of the clock does not underflow.
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

/// Returns a single comparable number of dynamic part, static order and arrival.
fn key(dynamic: u64, order: u32, arrival: u32) -> u128 {
    (u128::from(dynamic) << 64) | (u128::from(order) << 32) | u128::from(arrival)
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
