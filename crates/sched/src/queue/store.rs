//! Common part of list and heap.

use super::Timing;

/// Request in its place.
#[derive(Debug, Clone, Copy)]
pub struct Entry<T> {
    /// The smallest leaves first; no two are equal.
    pub(super) key: u128,
    pub(super) timing: Timing,
    pub(super) request: T,
}

/// Keeps requests in order of their keys, within memory that was allocated before. [`List`](super::List) and
/// [`Heap`](super::Heap) are the ones there are.
pub trait Store: sealed::Sealed {
    /// Items that are kept.
    type Item;

    /// Room for so many.
    fn with_capacity(capacity: usize) -> Self;

    /// Room there is.
    fn capacity(&self) -> usize;

    /// Returns the number of items.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts one in. There must be room.
    fn insert(&mut self, entry: Entry<Self::Item>);

    /// Takes the one with the smallest key.
    fn take_first(&mut self) -> Option<Entry<Self::Item>>;
}

pub(super) mod sealed {
    /// The stores of this crate.
    pub trait Sealed {}
}
