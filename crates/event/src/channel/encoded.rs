//! A set of events for several consumers. It is marshalled at most once, and copied once for all queues. Queues reuse
//! earlier copies.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use oxorb::cdr::{Dialect, Encoder, Result as CdrResult};
use oxorb::rt::{CarriedQos, carried_qos};
use oxorb::values::{ByteOrder, CharSet, TcKind};
use oxorb::{Interface as _, SystemException};

use crate::rtec_event_comm::{Event, PushConsumer, PushConsumerRef, push_consumer};

/// A set of events in the supplier's thread.
pub(super) struct Outgoing<'e> {
    events: &'e [Event],
    /// Encoded set as received from the supplier, if it can be sent without changes.
    received: Option<&'e [u8]>,
    /// Time of arrival; `None` if latencies are not measured.
    arrived: Option<Instant>,
    octets: Octets,
    /// Copy of the set for queues, created when the first queue needs it.
    set: OnceCell<Arc<Set>>,
}

/// Encoded forms of a set, created when the first remote consumer needs them.
#[derive(Default)]
pub(super) struct Octets {
    /// Encoding in the code sets of [`USUAL`].
    usual: OnceLock<CdrResult<Marshalled>>,
    /// Encoding in other code sets, namely those of the first peer that needs them.
    other: OnceLock<CdrResult<Marshalled>>,
}

struct Marshalled {
    /// Buffer with the encoded octets. Octets after `used` are not part of the encoding.
    buffer: Vec<u8>,
    used: usize,
    /// Code sets and GIOP version; `None` if the octets of the events do not depend on them.
    dialect: Option<Dialect>,
}

/// Dialect that ORBs with support for Unicode negotiate.
const USUAL: Dialect = Dialect { chars: CharSet::Utf8, ..Dialect::GIOP_1_2 };

thread_local! {
    /// Buffer of the last set that this thread encoded, kept for reuse.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Maximum capacity in octets of a buffer that is kept for reuse.
const KEPT_OCTETS: usize = 1 << 20;

impl<'e> Outgoing<'e> {
    pub(super) fn new(events: &'e [Event], arrived: Option<Instant>) -> Outgoing<'e> {
        Outgoing {
            events,
            received: None,
            arrived,
            octets: Octets::default(),
            set: OnceCell::new(),
        }
    }

    /// Sets the octets of the set as received. They must be a sequence in this host's byte order, aligned to eight,
    /// whose encoding does not depend on code sets.
    pub(super) fn with_received(self, received: Option<&'e [u8]>) -> Outgoing<'e> {
        Outgoing { received, ..self }
    }

    pub(super) fn received(&self) -> Option<&'e [u8]> {
        self.received
    }

    pub(super) fn events(&self) -> &'e [Event] {
        self.events
    }

    pub(super) fn arrived(&self) -> Option<Instant> {
        self.arrived
    }

    pub(super) fn octets(&self) -> &Octets {
        &self.octets
    }

    /// Returns the set in the form for queues, which all queues share. If `with_octets` is set, for a remote consumer,
    /// the set is encoded here in the supplier's thread. If dispatching threads encoded it, they would wait for each
    /// other.
    pub(super) fn set(&self, with_octets: bool) -> &Arc<Set> {
        let set = self.set.get_or_init(|| copied(self.events, self.arrived));
        if with_octets {
            match self.received {
                Some(received) => set.octets.take_over(received),
                None => drop(set.octets.make(&set.events)),
            }
        }
        set
    }
}

impl Octets {
    /// Sends a set. A local servant is called without a message. All remote consumers receive the same octets, those in
    /// `received` if possible.
    pub(super) fn send(
        &self,
        events: &[Event],
        received: Option<&[u8]>,
        consumer: &PushConsumerRef,
        timed: &PushConsumerRef,
    ) -> Result<(), SystemException> {
        let direct = |servant: &dyn PushConsumer| servant.push(events);
        let reference = consumer.reference();
        if reference.is_near()
            && events.iter().all(is_textless)
            && reference.direct_oneway(&push_consumer::op::PUSH, direct)
        {
            return Ok(());
        }
        let timed = timed.reference();
        timed.send(&push_consumer::op::PUSH, |e| {
            if let Some(received) = received
                && takes_as_it_is(e)
            {
                e.octets(received);
                return Ok(());
            }
            let octets = self.make(events);
            if !octets.as_ref().is_ok_and(|octets| octets.copy_to(e)) {
                let other = || marshal(events, e.dialect());
                let other = self.other.get_or_init(other);
                if !other.as_ref().is_ok_and(|other| other.copy_to(e)) {
                    return e.sequence(events, None);
                }
            }
            Ok(())
        })
    }

    /// Copies the octets of the set from the received message, unless the set is already encoded.
    fn take_over(&self, received: &[u8]) {
        self.usual.get_or_init(|| {
            let mut buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
            buffer.clear();
            buffer.extend_from_slice(received);
            let used = buffer.len();
            Ok(Marshalled { used, buffer: shrunk(buffer, used), dialect: None })
        });
    }

    /// Marshals the set. Further calls return the same result.
    fn make(&self, events: &[Event]) -> &CdrResult<Marshalled> {
        self.usual.get_or_init(|| marshal(events, USUAL))
    }
}

impl Drop for Octets {
    fn drop(&mut self) {
        if let Some(Ok(Marshalled { buffer, .. })) = self.usual.take()
            && buffer.capacity() <= KEPT_OCTETS
        {
            // Ignore the error: when a thread ends, its last sets may be dropped after the thread-local buffer.
            let _ = BUFFER.try_with(|kept| kept.set(buffer));
        }
    }
}

impl Marshalled {
    /// Copies the octets into a message if they can be used without changes: the position must be a multiple of eight,
    /// and byte order and code sets must be the same. Returns whether the octets were copied.
    fn copy_to<'a>(&'a self, e: &mut Encoder<'a>) -> bool {
        let same_text = self.dialect.is_none_or(|dialect| dialect == e.dialect());
        let fits = same_text && takes_as_it_is(e);
        if fits {
            e.octets(&self.buffer[..self.used]);
        }
        fits
    }
}

/// Reports whether octets can be copied into a message without changes. They are in this host's byte order and aligned
/// to eight.
fn takes_as_it_is(e: &Encoder<'_>) -> bool {
    e.order() == ByteOrder::NATIVE && e.position() & 7 == 0
}

/// Maximum unused capacity in octets of a kept buffer, in addition to twice the size of its contents.
const SPARE: usize = 4096;

fn marshal(events: &[Event], dialect: Dialect) -> CdrResult<Marshalled> {
    // When a thread that still pushes events is ending, its thread-local may be gone. Use an empty buffer then.
    let buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
    let mut e = Encoder::new(buffer, ByteOrder::NATIVE, dialect);
    e.sequence(events, None)?;
    let encoded = e.finish();
    let used = encoded.len();
    Ok(Marshalled {
        used,
        buffer: shrunk(encoded.into_buffer(), used),
        dialect: (!events.iter().all(is_textless)).then_some(dialect),
    })
}

/// Shrinks the buffer of a large event, because it may be kept and used for small events.
fn shrunk(mut buffer: Vec<u8>, used: usize) -> Vec<u8> {
    if buffer.capacity() > SPARE + 2 * used {
        buffer.truncate(used);
        buffer.shrink_to_fit();
    }
    buffer
}

/// Reports whether the `any` of an event is empty. The encoding of an `any` with a value may depend on code sets and on
/// the ORB that receives it.
pub(crate) fn is_textless(event: &Event) -> bool {
    event.data.any_value.type_code().kind() == TcKind::Null
}

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
const KEPT_SETS: usize = 256;

/// Maximum size in octets of the payloads in a set that is kept.
const KEPT_SET_OCTETS: usize = 64 << 10;

/// Number of kept sets that are checked to find one that no queue uses any more.
const LOOKS: usize = 4;

thread_local! {
    /// Last sets of this thread, the oldest first. Queues may still use some of them.
    static SETS: RefCell<VecDeque<Arc<Set>>> = const { RefCell::new(VecDeque::new()) };
}

/// Copies a set of events for queues. Allocates no memory if an earlier set of this thread was at least as large and no
/// queue uses it any more.
fn copied(events: &[Event], arrived: Option<Instant>) -> Arc<Set> {
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

// Dropping a set may push events, and thus call `copied` again. No set is dropped here while `SETS` is borrowed.

fn oldest() -> Option<Arc<Set>> {
    let taken = SETS.try_with(|sets| sets.borrow_mut().pop_front());
    taken.ok().flatten()
}

fn keep(set: Arc<Set>) {
    if set.events.iter().any(has_local_value)
        || set.events.iter().map(held_octets).sum::<usize>() > KEPT_SET_OCTETS
    {
        return;
    }
    let _ = SETS.try_with(|sets| {
        let mut sets = sets.borrow_mut();
        if sets.len() < KEPT_SETS {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_that_were_received_do_not_keep_a_large_buffer() {
        BUFFER.with(|kept| kept.set(Vec::with_capacity(KEPT_OCTETS)));
        let octets = Octets::default();
        octets.take_over(&[1; 100]);
        let Some(Ok(taken)) = octets.usual.get() else {
            panic!("nothing was taken over");
        };
        assert_eq!(taken.buffer, [1; 100]);
        assert!(taken.buffer.capacity() <= SPARE + 200);
    }
}
