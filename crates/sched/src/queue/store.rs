//! Common interface of the list and the heap.

use super::Timing;

/// Stored request.
#[derive(Debug, Clone, Copy)]
pub struct Entry<T> {
    /// Unique key; the smallest leaves first.
    pub(super) key: u128,
    pub(super) timing: Timing,
    pub(super) request: T,
}

/// Bounded store of requests in order of their keys, in preallocated memory; implemented by
/// [`List`](super::List) and [`Heap`](super::Heap).
pub trait Store: sealed::Sealed {
    /// Stored items.
    type Item;

    /// Returns an empty store with this capacity.
    fn with_capacity(capacity: usize) -> Self;

    /// Returns the capacity.
    fn capacity(&self) -> usize;

    /// Returns the number of items.
    fn len(&self) -> usize;

    /// Reports whether the store is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Inserts an entry. The store must not be full.
    fn insert(&mut self, entry: Entry<Self::Item>);

    /// Removes the entry with the smallest key.
    fn take_first(&mut self) -> Option<Entry<Self::Item>>;
}

pub(super) mod sealed {
    /// Marker that prevents implementations of [`Store`](super::Store) outside this crate.
    pub trait Sealed {}
}
