//! One set of events on its way to several consumers: marshalled once, and copied once for all queues, whoever they are.

use std::cell::{Cell, OnceCell};
use std::sync::{Arc, OnceLock};

use oxorb::cdr::{Dialect, Encoder, Result as CdrResult};
use oxorb::{ByteOrder, Interface as _, SystemException, TcKind};

use crate::rtec_event_comm::{Event, PushConsumer, PushConsumerRef, push_consumer};

/// A set of events in the supplier's thread.
pub(super) struct Outgoing<'e> {
    events: &'e [Event],
    octets: Octets,
    /// Made when the first queue needs it.
    set: OnceCell<Arc<Set>>,
}

/// A set of events in queues.
pub(super) struct Set {
    pub(super) events: Vec<Event>,
    pub(super) octets: Octets,
}

/// The octets of a set, once a consumer elsewhere needed them.
#[derive(Default)]
pub(super) struct Octets(OnceLock<CdrResult<Marshalled>>);

struct Marshalled {
    /// What is behind `used` is scratch.
    buffer: Vec<u8>,
    used: usize,
    /// Whether the octets are the same whatever code sets the peer knows.
    textless: bool,
}

thread_local! {
    /// The octets of the last set of this thread, to be used again.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Larger buffers are not kept.
const KEPT_OCTETS: usize = 1 << 20;

impl<'e> Outgoing<'e> {
    pub(super) fn new(events: &'e [Event]) -> Outgoing<'e> {
        Outgoing {
            events,
            octets: Octets::default(),
            set: OnceCell::new(),
        }
    }

    pub(super) fn events(&self) -> &'e [Event] {
        self.events
    }

    pub(super) fn octets(&self) -> &Octets {
        &self.octets
    }

    /// Returns the set as queues keep it: one copy for all.
    pub(super) fn set(&self) -> &Arc<Set> {
        self.set.get_or_init(|| {
            Arc::new(Set {
                events: self.events.to_vec(),
                octets: Octets::default(),
            })
        })
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
        let octets = self.0.get_or_init(|| marshal(events));
        let timed = timed.reference();
        timed.send(&push_consumer::op::PUSH, |e| match octets {
            Ok(octets) if octets.fit(e) => {
                e.copy_octets(&octets.buffer[..octets.used]);
                Ok(())
            }
            _ => e.sequence(events, None),
        })
    }
}

impl Drop for Octets {
    fn drop(&mut self) {
        if let Some(Ok(Marshalled { buffer, .. })) = self.0.take()
            && buffer.capacity() <= KEPT_OCTETS
        {
            BUFFER.set(buffer);
        }
    }
}

impl Marshalled {
    /// Whether a message takes the octets as they are: they begin at a multiple of eight, in our own order of octets.
    fn fit(&self, e: &Encoder<'_>) -> bool {
        let same_text = self.textless || e.dialect() == Dialect::GIOP_1_2;
        same_text && e.order() == ByteOrder::NATIVE && e.position() & 7 == 0
    }
}

fn marshal(events: &[Event]) -> CdrResult<Marshalled> {
    let mut e = Encoder::new(BUFFER.take(), ByteOrder::NATIVE, Dialect::GIOP_1_2);
    e.sequence(events, None)?;
    let encoded = e.finish();
    Ok(Marshalled {
        used: encoded.len(),
        buffer: encoded.into_buffer(),
        textless: events.iter().all(is_textless),
    })
}

/// Whether the `any` of an event is empty: what it holds may depend on code sets, and on the ORB that reads it.
fn is_textless(event: &Event) -> bool {
    event.data.any_value.type_code().kind() == TcKind::Null
}
