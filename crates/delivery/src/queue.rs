//! A bounded queue of events with order, overflow policy, expiry and start times. It has no clock and no lock.
//!
//! All events are stored in slots of one block. The events that may be delivered are linked in the order of arrival. A
//! [`Qos`] that sorts, discards by rank, or uses expiry or start times adds heaps of slots. A queue without heaps costs
//! O(1) per event.

mod sources;

#[cfg(test)]
mod tests;

use crate::heap::{Heap, Key};
use crate::{Attributes, Cause, Order, Qos, WhenFull};
use sources::Sources;

/// An event in a queue.
#[derive(Debug)]
pub(crate) struct Entry<E> {
    pub(crate) event: E,
    pub(crate) about: Attributes,
    /// Arrival number.
    pub(crate) arrival: u64,
}

/// Result of the check whether the queue has space for another event.
pub(crate) enum Room<E> {
    /// The queue has space for the event.
    Free,
    /// An event was evicted for this cause. The queue may have space now: check again.
    Evicted(Cause, Entry<E>),
    /// The offered event must be dropped.
    Refused(Cause),
    /// The queue is full, and the caller is prepared to wait.
    Full,
}

/// A bounded queue of events.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    events: usize,
    limit: u64,
    order: Order,
    when_full: WhenFull,
    places: Places<E>,
    octets: u64,
    arrivals: u64,
    /// Events in the order of delivery; empty for [`Order::Fifo`].
    delivery: Heap,
    /// Events in the order of discarding; empty for policies that do not rank events.
    discard: Heap,
    /// Events with an expiry time.
    expiring: Heap,
    /// Events whose start time has not been reached.
    held: Heap,
    sources: Option<Sources>,
}

impl<E> Queue<E> {
    /// Creates a queue and reserves its memory, including space for `spare` events that are put back.
    pub(crate) fn new(qos: &Qos, spare: usize) -> Queue<E> {
        let places = qos.events.saturating_add(spare);
        let heap = |used: bool| Heap::with_capacity(if used { places } else { 0 });
        let discards =
            matches!(qos.when_full, WhenFull::DropLeastUrgent | WhenFull::DropEarliestDeadline);
        let conflates = qos.when_full == WhenFull::KeepLatest;
        Queue {
            events: qos.events,
            limit: qos.octets,
            order: qos.order,
            when_full: qos.when_full,
            places: Places::with_capacity(places),
            octets: 0,
            arrivals: 0,
            delivery: heap(qos.order != Order::Fifo),
            discard: heap(discards),
            expiring: Heap::default(),
            held: Heap::default(),
            sources: conflates.then(|| Sources::with_capacity(places)),
        }
    }

    /// Returns the number of waiting events, including those whose start time has not been reached.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of events that may be delivered.
    pub(crate) fn ready(&self) -> usize {
        self.len() - self.held.len()
    }

    pub(crate) fn octets(&self) -> u64 {
        self.octets
    }

    /// Reports whether the events that may be delivered depend on the current time.
    pub(crate) fn is_timed(&self) -> bool {
        self.expiring.len() + self.held.len() > 0
    }

    /// Returns the start time of the first event that is held back.
    pub(crate) fn next_start(&self) -> Option<u64> {
        self.held.first().map(|((start, ..), _)| start)
    }

    /// Returns the attributes of the next event to deliver.
    pub(crate) fn first(&self) -> Option<&Attributes> {
        let place = self.first_place()?;
        self.places.get(place).map(|entry| &entry.about)
    }

    /// Makes space for one more event, one step at a time. If `crowded` is set, all queues together have reached their
    /// limit, so this queue counts as full too.
    pub(crate) fn room(
        &mut self,
        about: &Attributes,
        now: u64,
        may_wait: bool,
        crowded: bool,
    ) -> Room<E> {
        let octets = u64::from(about.octets);
        if octets > self.limit {
            return Room::Refused(Cause::TooLarge);
        }
        let earlier = self.sources.as_ref();
        if let Some(place) = earlier.and_then(|sources| sources.find(about.source)) {
            return self.evict(Cause::Superseded, place);
        }
        if self.len() < self.events && self.octets + octets <= self.limit && !crowded {
            return Room::Free;
        }
        if let Some(entry) = self.take_expired(now) {
            return Room::Evicted(Cause::Expired, entry);
        }
        if may_wait {
            return Room::Full;
        }
        let (cause, victim) = match self.when_full {
            WhenFull::DropNewest => return Room::Refused(Cause::Newest),
            WhenFull::DropOldest | WhenFull::KeepLatest => (Cause::Oldest, self.oldest()),
            WhenFull::DropLeastUrgent => (Cause::LeastUrgent, self.discarded_before(about)),
            WhenFull::DropEarliestDeadline => {
                (Cause::EarliestDeadline, self.discarded_before(about))
            }
        };
        match victim {
            Some(place) => self.evict(cause, place),
            None => Room::Refused(cause),
        }
    }

    /// Adds an event. The caller must have made [space](Self::room).
    pub(crate) fn push(&mut self, event: E, about: Attributes) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.insert(Entry { event, about, arrival }, false);
    }

    /// Continues the arrival numbers of another queue, so that the events of that queue keep their place before later
    /// ones.
    pub(crate) fn continue_from(&mut self, other: &Queue<E>) {
        self.arrivals = other.arrivals;
    }

    /// Adds an event of another queue, which keeps its arrival number. The caller must have made [space](Self::room),
    /// and must have added earlier arrivals before.
    pub(crate) fn take_over(&mut self, entry: Entry<E>) {
        self.insert(entry, false);
    }

    /// Puts an event that was taken back in front of events that arrived later. Space is always available. Returns the
    /// event if the queue keeps only the latest event of each source and already has a later one.
    pub(crate) fn put_back(&mut self, entry: Entry<E>) -> Option<Entry<E>> {
        let later = self.sources.as_ref();
        if later.is_some_and(|sources| sources.find(entry.about.source).is_some()) {
            return Some(entry);
        }
        self.insert(entry, true);
        None
    }

    /// Takes the next event to deliver.
    pub(crate) fn take(&mut self) -> Option<Entry<E>> {
        let place = self.first_place()?;
        Some(self.remove(place))
    }

    /// Takes one expired event, if there is any.
    pub(crate) fn take_expired(&mut self, now: u64) -> Option<Entry<E>> {
        match self.expiring.first() {
            Some(((expiry, ..), place)) if expiry <= now => Some(self.remove(place)),
            _ => None,
        }
    }

    /// Takes any event that is left, even one that is held back.
    pub(crate) fn take_any(&mut self) -> Option<Entry<E>> {
        let place = self.oldest()?;
        Some(self.remove(place))
    }

    /// Makes the events deliverable whose start time has been reached.
    pub(crate) fn start(&mut self, now: u64) {
        while let Some(((start, ..), place)) = self.held.first() {
            if start > now {
                return;
            }
            self.held.remove(place);
            self.make_ready(place, false);
        }
    }

    fn insert(&mut self, entry: Entry<E>, in_front: bool) {
        let (about, arrival) = (entry.about, entry.arrival);
        self.octets += u64::from(about.octets);
        let place = self.places.add(entry);
        if let Some(key) = self.discard_key(&about, arrival) {
            self.discard.insert(place, key);
        }
        if let Some(expiry) = about.expiry {
            self.expiring.insert(place, (expiry, arrival, 0));
        }
        if let Some(sources) = &mut self.sources {
            sources.add(about.source, place);
        }
        match about.start {
            Some(start) => self.held.insert(place, (start, arrival, 0)),
            None => self.make_ready(place, in_front),
        }
    }

    fn make_ready(&mut self, place: u32, in_front: bool) {
        self.places.link(place, in_front);
        self.places.started(place);
        if let Some(entry) = self.places.get(place)
            && let Some(key) = delivery_key(self.order, &entry.about, entry.arrival)
        {
            self.delivery.insert(place, key);
        }
    }

    fn remove(&mut self, place: u32) -> Entry<E> {
        if !self.held.remove(place) {
            self.places.unlink(place);
            self.delivery.remove(place);
        }
        self.discard.remove(place);
        self.expiring.remove(place);
        let entry = self.places.remove(place);
        if let Some(sources) = &mut self.sources {
            sources.remove(entry.about.source, place);
        }
        self.octets -= u64::from(entry.about.octets);
        entry
    }

    fn evict(&mut self, cause: Cause, place: u32) -> Room<E> {
        Room::Evicted(cause, self.remove(place))
    }

    fn first_place(&self) -> Option<u32> {
        match self.order {
            Order::Fifo => self.places.first(),
            Order::Priority | Order::Deadline => self.delivery.first().map(|(_, place)| place),
        }
    }

    fn oldest(&self) -> Option<u32> {
        let held = || self.held.first().map(|(_, place)| place);
        self.places.first().or_else(held)
    }

    /// Returns the event to discard; `None` if the offered event itself must be discarded.
    fn discarded_before(&self, about: &Attributes) -> Option<u32> {
        let offered = self.discard_key(about, self.arrivals)?;
        let (key, place) = self.discard.first()?;
        (key < offered).then_some(place)
    }

    fn discard_key(&self, about: &Attributes, arrival: u64) -> Option<Key> {
        let deadline = about.deadline_or_never();
        match self.when_full {
            WhenFull::DropLeastUrgent => Some((rising(about.priority), !deadline, !arrival)),
            WhenFull::DropEarliestDeadline => Some((deadline, arrival, 0)),
            WhenFull::DropNewest | WhenFull::DropOldest | WhenFull::KeepLatest => None,
        }
    }
}

fn delivery_key(order: Order, about: &Attributes, arrival: u64) -> Option<Key> {
    match order {
        Order::Fifo => None,
        Order::Priority => Some((!rising(about.priority), arrival, 0)),
        Order::Deadline => Some((about.deadline_or_never(), arrival, 0)),
    }
}

/// Maps a priority to an unsigned number of the same order.
fn rising(priority: i16) -> u64 {
    (i64::from(priority) - i64::from(i16::MIN)) as u64
}

/// Index that marks the end of a list of places.
const NONE: u32 = u32::MAX;

/// Entries in one block. Some of them form a doubly linked list, in the order of arrival.
#[derive(Debug)]
struct Places<E> {
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
    fn with_capacity(places: usize) -> Places<E> {
        Places { nodes: Vec::with_capacity(places), free: NONE, len: 0, first: NONE, last: NONE }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, place: u32) -> Option<&Entry<E>> {
        self.nodes[place as usize].entry.as_ref()
    }

    /// Clears the start time of an entry.
    fn started(&mut self, place: u32) {
        if let Some(entry) = &mut self.nodes[place as usize].entry {
            entry.about.start = None;
        }
    }

    /// Returns the first place of the list.
    fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    /// Adds an entry without linking it.
    fn add(&mut self, entry: Entry<E>) -> u32 {
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
    fn remove(&mut self, place: u32) -> Entry<E> {
        let node = &mut self.nodes[place as usize];
        let entry = node.entry.take().expect("a place that is in use");
        node.next = self.free;
        self.free = place;
        self.len -= 1;
        entry
    }

    /// Links a place at the front of the list if `in_front` is set, otherwise at the end.
    fn link(&mut self, place: u32, in_front: bool) {
        let (previous, next) = match in_front {
            true => (NONE, self.first),
            false => (self.last, NONE),
        };
        self.join(previous, place);
        self.join(place, next);
    }

    /// Unlinks a place from the list.
    fn unlink(&mut self, place: u32) {
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
