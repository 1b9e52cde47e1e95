//! Reusable sets of events for queues.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use oxorb::rt::{CarriedQos, carried_qos};
use oxorb::values::TcKind;

use super::encoded::Octets;
use crate::rtec_event_comm::Event;

/// A set of events, shared by all queues that contain it.
pub(super) struct Set {
    pub(super) events: Vec<Event>,
    /// Time of arrival; `None` if latencies are not measured.
    pub(super) arrived: Option<Instant>,
    /// Quality of service of the supplier's request.
    pub(super) qos: CarriedQos,
    pub(super) octets: Octets,
}

/// Maximum number of sets that a supplier's thread keeps for reuse.
const KEPT: usize = 256;

/// Maximum size in octets of the payloads in a set that is kept.
const KEPT_OCTETS: usize = 64 << 10;

/// Number of kept sets that are checked to find one that no queue uses any more.
const LOOKS: usize = 4;

thread_local! {
    /// Last sets of this thread, the oldest first. Queues may still use some of them.
    static SETS: RefCell<VecDeque<Arc<Set>>> = const { RefCell::new(VecDeque::new()) };
}

/// Copies a set of events for queues. Allocates no memory if an earlier set of this thread was at least as large and no
/// queue uses it any more.
pub(super) fn copy(events: &[Event], arrived: Option<Instant>) -> Arc<Set> {
    for _ in 0..LOOKS {
        let Some(mut set) = oldest() else {
            break;
        };
        let Some(free) = Arc::get_mut(&mut set) else {
            keep(set);
            continue;
        };
        free.refill(events, arrived);
        keep(Arc::clone(&set));
        return set;
    }
    let set = Arc::new(Set {
        events: events.to_vec(),
        arrived,
        qos: carried_qos(),
        octets: Octets::default(),
    });
    keep(Arc::clone(&set));
    set
}

// Dropping a set may push events, and thus call `copy` again. No set is dropped here while `SETS` is borrowed.

fn oldest() -> Option<Arc<Set>> {
    let taken = SETS.try_with(|sets| sets.borrow_mut().pop_front());
    taken.ok().flatten()
}

fn keep(set: Arc<Set>) {
    if set.events.iter().any(has_local_value)
        || set.events.iter().map(held_octets).sum::<usize>() > KEPT_OCTETS
    {
        return;
    }
    let _ = SETS.try_with(|sets| {
        let mut sets = sets.borrow_mut();
        if sets.len() < KEPT {
            sets.push_back(set);
        }
    });
}

/// Returns the size in octets of an event's data on the heap. The size of a value that was not received is unknown, and
/// is not counted.
pub(super) fn held_octets(event: &Event) -> usize {
    let value = event.data.any_value.received_octets().unwrap_or(0);
    event.data.payload.len() + value
}

/// Reports whether an event contains a value that was not received. Such a value has an unknown size and may keep any
/// object alive.
fn has_local_value(event: &Event) -> bool {
    let any = &event.data.any_value;
    any.received_octets().is_none() && any.type_code().kind() != TcKind::Null
}

impl Set {
    /// Replaces the events, and reuses the memory of the previous ones.
    fn refill(&mut self, events: &[Event], arrived: Option<Instant>) {
        // Drop the previous encoding first, so that its buffer returns to this thread, which marshals the next set.
        self.octets = Octets::default();
        self.arrived = arrived;
        self.qos = carried_qos();
        self.events.truncate(events.len());
        for (mine, event) in self.events.iter_mut().zip(events) {
            mine.header = event.header;
            mine.data.pad1 = event.data.pad1;
            mine.data.payload.clear();
            mine.data.payload.extend_from_slice(&event.data.payload);
            mine.data.any_value = event.data.any_value.clone();
        }
        let known = self.events.len();
        self.events.extend_from_slice(&events[known..]);
    }
}
