//! A block of places, some of which are linked in the order of arrival.

use super::Entry;

const NONE: u32 = u32::MAX;

/// Entries in one block. Some of them form a doubly linked list.
#[derive(Debug)]
pub(super) struct Places<E> {
    nodes: Vec<Node<E>>,
    /// Head of the list of free nodes, which are linked by `next`.
    free: u32,
    len: usize,
    first: u32,
    last: u32,
}

#[derive(Debug)]
struct Node<E> {
    /// `None` while the node is free.
    entry: Option<Entry<E>>,
    previous: u32,
    next: u32,
}

impl<E> Places<E> {
    pub(super) fn with_capacity(places: usize) -> Places<E> {
        Places { nodes: Vec::with_capacity(places), free: NONE, len: 0, first: NONE, last: NONE }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, place: u32) -> Option<&Entry<E>> {
        self.nodes[place as usize].entry.as_ref()
    }

    /// Clears the start time of an entry.
    pub(super) fn started(&mut self, place: u32) {
        if let Some(entry) = &mut self.nodes[place as usize].entry {
            entry.about.start = None;
        }
    }

    /// Returns the first place of the list.
    pub(super) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    /// Adds an entry without linking it.
    pub(super) fn add(&mut self, entry: Entry<E>) -> u32 {
        self.len += 1;
        let node = Node { entry: Some(entry), previous: NONE, next: NONE };
        if self.free == NONE {
            self.nodes.push(node);
            return (self.nodes.len() - 1) as u32;
        }
        let place = self.free;
        self.free = self.nodes[place as usize].next;
        self.nodes[place as usize] = node;
        place
    }

    /// Removes an entry, which must not be linked.
    pub(super) fn remove(&mut self, place: u32) -> Entry<E> {
        let node = &mut self.nodes[place as usize];
        let entry = node.entry.take().expect("a place that is in use");
        node.next = self.free;
        self.free = place;
        self.len -= 1;
        entry
    }

    /// Links a place at the front of the list if `in_front` is set, otherwise at the end.
    pub(super) fn link(&mut self, place: u32, in_front: bool) {
        let (previous, next) = match in_front {
            true => (NONE, self.first),
            false => (self.last, NONE),
        };
        self.join(previous, place);
        self.join(place, next);
    }

    /// Unlinks a place from the list.
    pub(super) fn unlink(&mut self, place: u32) {
        let node = &self.nodes[place as usize];
        self.join(node.previous, node.next);
    }

    fn join(&mut self, before: u32, after: u32) {
        match before {
            NONE => self.first = after,
            before => self.nodes[before as usize].next = after,
        }
        match after {
            NONE => self.last = before,
            after => self.nodes[after as usize].previous = before,
        }
    }
}
