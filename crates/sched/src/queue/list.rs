//! Store as a sorted linked list, as in TAO's dispatching modules: insertion in O(n), removal in
//! O(1) (paper 3, 5.3.3).

use super::store::{Entry, Store, sealed};

/// Index that marks the end of a list.
const NONE: u32 = u32::MAX;

/// Requests in a sorted list with nodes in one block, for queues that stay short or whose requests
/// mostly arrive in order. Insertion searches from the back, where a request with a later deadline
/// belongs.
#[derive(Debug)]
pub struct List<T> {
    nodes: Vec<Node<T>>,
    first: u32,
    last: u32,
    /// First free node; free nodes are linked by `next`.
    free: u32,
    len: usize,
    capacity: usize,
}

#[derive(Debug)]
struct Node<T> {
    /// `None` while the node is free.
    entry: Option<Entry<T>>,
    previous: u32,
    next: u32,
}

impl<T> sealed::Sealed for List<T> {}

impl<T> List<T> {
    fn key(&self, node: u32) -> u128 {
        let entry = self.nodes[node as usize].entry.as_ref();
        entry.map_or(0, |entry| entry.key)
    }

    /// Stores an entry in a free node and returns the node's index.
    fn occupy(&mut self, entry: Entry<T>) -> u32 {
        if self.free == NONE {
            self.nodes.push(Node { entry: Some(entry), previous: NONE, next: NONE });
            return (self.nodes.len() - 1) as u32;
        }
        let node = self.free;
        let found = &mut self.nodes[node as usize];
        self.free = found.next;
        found.entry = Some(entry);
        node
    }
}

impl<T> Store for List<T> {
    type Item = T;

    fn with_capacity(capacity: usize) -> Self {
        // Node indices have 32 bits, and `NONE` is not available as an index.
        let capacity = capacity.min(NONE as usize);
        List {
            nodes: Vec::with_capacity(capacity),
            first: NONE,
            last: NONE,
            free: NONE,
            len: 0,
            capacity,
        }
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&self) -> usize {
        self.len
    }

    fn insert(&mut self, entry: Entry<T>) {
        let mut before = self.last;
        while before != NONE && self.key(before) > entry.key {
            before = self.nodes[before as usize].previous;
        }
        let node = self.occupy(entry);
        let after = match before {
            NONE => std::mem::replace(&mut self.first, node),
            before => std::mem::replace(&mut self.nodes[before as usize].next, node),
        };
        match after {
            NONE => self.last = node,
            after => self.nodes[after as usize].previous = node,
        }
        let placed = &mut self.nodes[node as usize];
        (placed.previous, placed.next) = (before, after);
        self.len += 1;
    }

    fn take_first(&mut self) -> Option<Entry<T>> {
        if self.first == NONE {
            return None;
        }
        let node = self.first;
        let taken = &mut self.nodes[node as usize];
        let entry = taken.entry.take();
        self.first = std::mem::replace(&mut taken.next, self.free);
        self.free = node;
        match self.first {
            NONE => self.last = NONE,
            first => self.nodes[first as usize].previous = NONE,
        }
        self.len -= 1;
        entry
    }
}
