//! One set of events on its way to several consumers: marshalled once, and copied once for all queues, whoever they are.

use std::cell::{Cell, OnceCell};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use oxorb::cdr::{Dialect, Encoder, Result as CdrResult};
use oxorb::{ByteOrder, CharSet, Interface as _, SystemException, TcKind};

use super::sets::{self, Set};
use crate::rtec_event_comm::{Event, PushConsumer, PushConsumerRef, push_consumer};

/// A set of events in the supplier's thread.
pub(super) struct Outgoing<'e> {
    events: &'e [Event],
    /// Time of arrival, where latencies are measured.
    arrived: Option<Instant>,
    octets: Octets,
    /// Made when the first queue needs it.
    set: OnceCell<Arc<Set>>,
}

/// The octets of a set, once a consumer elsewhere needed them.
#[derive(Default)]
pub(super) struct Octets {
    /// In the [`USUAL`] code sets.
    usual: OnceLock<CdrResult<Marshalled>>,
    /// For text in the code sets of the first peer that has others.
    other: OnceLock<CdrResult<Marshalled>>,
}

struct Marshalled {
    /// What is behind `used` is scratch.
    buffer: Vec<u8>,
    used: usize,
    /// Code sets and version, for events whose octets depend on them.
    dialect: Option<Dialect>,
}

/// What ORBs agree upon that know Unicode.
const USUAL: Dialect = Dialect {
    chars: CharSet::Utf8,
    ..Dialect::GIOP_1_2
};

thread_local! {
    /// The octets of the last set of this thread, to be used again.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Larger buffers are not kept.
const KEPT_OCTETS: usize = 1 << 20;

impl<'e> Outgoing<'e> {
    pub(super) fn new(events: &'e [Event], arrived: Option<Instant>) -> Outgoing<'e> {
        Outgoing {
            events,
            arrived,
            octets: Octets::default(),
            set: OnceCell::new(),
        }
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

    /// Returns the set as queues keep it: one copy for all. For a consumer that needs the octets they are made here, in the
    /// supplier's thread: threads that dispatch would wait for each other.
    pub(super) fn set(&self, with_octets: bool) -> &Arc<Set> {
        let set = self
            .set
            .get_or_init(|| sets::copy(self.events, self.arrived));
        if with_octets {
            set.octets.make(&set.events);
        }
        set
    }
}

impl Octets {
    /// Sends a set, always the same: without a message to a servant of this process, with the same octets to each consumer
    /// elsewhere.
    pub(super) fn send(
        &self,
        events: &[Event],
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
        let octets = self.make(events);
        let timed = timed.reference();
        timed.send(&push_consumer::op::PUSH, |e| {
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

    /// Marshals the set, the first time.
    fn make(&self, events: &[Event]) -> &CdrResult<Marshalled> {
        self.usual.get_or_init(|| marshal(events, USUAL))
    }
}

impl Drop for Octets {
    fn drop(&mut self) {
        if let Some(Ok(Marshalled { buffer, .. })) = self.usual.take()
            && buffer.capacity() <= KEPT_OCTETS
        {
            // At the end of a thread its last sets may go after the place of the buffer.
            let _ = BUFFER.try_with(|kept| kept.set(buffer));
        }
    }
}

impl Marshalled {
    /// Copies the octets into a message that takes them as they are: they begin at a multiple of eight, in our own order of
    /// octets, and have its code sets. Returns whether it does.
    fn copy_to(&self, e: &mut Encoder<'_>) -> bool {
        let same_text = self.dialect.is_none_or(|dialect| dialect == e.dialect());
        let fits = same_text && e.order() == ByteOrder::NATIVE && e.position() & 7 == 0;
        if fits {
            e.copy_octets(&self.buffer[..self.used]);
        }
        fits
    }
}

/// Octets that a buffer may have beyond twice what it holds.
const SPARE: usize = 4096;

fn marshal(events: &[Event], dialect: Dialect) -> CdrResult<Marshalled> {
    // Without one where a thread that ends still pushes.
    let buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
    let mut e = Encoder::new(buffer, ByteOrder::NATIVE, dialect);
    e.sequence(events, None)?;
    let encoded = e.finish();
    let used = encoded.len();
    let mut buffer = encoded.into_buffer();
    // A large event's buffer does not stay with the small ones that are kept for later.
    if buffer.capacity() > SPARE + 2 * used {
        buffer.truncate(used);
        buffer.shrink_to_fit();
    }
    Ok(Marshalled {
        used,
        buffer,
        dialect: (!events.iter().all(is_textless)).then_some(dialect),
    })
}

/// Whether the `any` of an event is empty: what it holds may depend on code sets, and on the ORB that reads it.
fn is_textless(event: &Event) -> bool {
    event.data.any_value.type_code().kind() == TcKind::Null
}
