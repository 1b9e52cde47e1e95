//! Store as a binary heap: insertion and removal in O(log n).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::store::{Entry, Store, sealed};

/// Requests in a heap, for queues that may get long.
#[derive(Debug)]
pub struct Heap<T> {
    entries: BinaryHeap<First<T>>,
    capacity: usize,
}

/// Entry in reversed order, as the heap of the standard library has the largest on top.
#[derive(Debug)]
struct First<T>(Entry<T>);

impl<T> Ord for First<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.key.cmp(&self.0.key)
    }
}

impl<T> PartialOrd for First<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for First<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl<T> Eq for First<T> {}

impl<T> sealed::Sealed for Heap<T> {}

impl<T> Store for Heap<T> {
    type Item = T;

    fn with_capacity(capacity: usize) -> Self {
        Heap { entries: BinaryHeap::with_capacity(capacity), capacity }
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn insert(&mut self, entry: Entry<T>) {
        self.entries.push(First(entry));
    }

    fn take_first(&mut self) -> Option<Entry<T>> {
        self.entries.pop().map(|First(entry)| entry)
    }
}
