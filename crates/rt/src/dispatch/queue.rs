//! Queue with storage chosen at run time.

use oxorb_sched::Dispatching;
use oxorb_sched::queue::{DispatchQueue, Full, Heap, List, Missed, Taken, Timing};
use oxorb_sched::time::Nanos;

use crate::dispatch::QueueStorage;

pub(crate) enum Queue<T> {
    List(DispatchQueue<List<T>>),
    Heap(DispatchQueue<Heap<T>>),
}

impl<T> Queue<T> {
    pub(crate) fn new(
        storage: QueueStorage,
        dispatching: Dispatching,
        missed: Missed,
        capacity: usize,
    ) -> Queue<T> {
        match storage {
            QueueStorage::List => {
                Queue::List(DispatchQueue::with_capacity(dispatching, missed, capacity))
            }
            QueueStorage::Heap => {
                Queue::Heap(DispatchQueue::with_capacity(dispatching, missed, capacity))
            }
        }
    }

    pub(crate) fn enqueue(&mut self, request: T, timing: Timing) -> Result<(), Full<T>> {
        match self {
            Queue::List(queue) => queue.enqueue(request, timing),
            Queue::Heap(queue) => queue.enqueue(request, timing),
        }
    }

    pub(crate) fn dequeue(&mut self, now: Nanos) -> Option<Taken<T>> {
        match self {
            Queue::List(queue) => queue.dequeue(now),
            Queue::Heap(queue) => queue.dequeue(now),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Queue::List(queue) => queue.len(),
            Queue::Heap(queue) => queue.len(),
        }
    }

    pub(crate) fn misses(&self) -> u64 {
        match self {
            Queue::List(queue) => queue.misses(),
            Queue::Heap(queue) => queue.misses(),
        }
    }
}
