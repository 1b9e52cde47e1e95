//! A set of events on its way to several consumers: marshalled at most once, and copied once for all queues.

use std::cell::{Cell, OnceCell};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use oxorb::cdr::{Dialect, Encoder, Result as CdrResult};
use oxorb::values::{ByteOrder, CharSet, TcKind};
use oxorb::{Interface as _, SystemException};

use super::sets::{self, Set};
use crate::rtec_event_comm::{Event, PushConsumer, PushConsumerRef, push_consumer};

/// A set of events in the supplier's thread.
pub(super) struct Outgoing<'e> {
    events: &'e [Event],
    /// Encoded set as received, if it can be sent unchanged.
    received: Option<&'e [u8]>,
    /// Time of arrival, if latencies are measured.
    arrived: Option<Instant>,
    octets: Octets,
    /// Copy for queues, made when the first queue needs it.
    set: OnceCell<Arc<Set>>,
}

/// Encoded form of a set, made when a remote consumer first needs it.
#[derive(Default)]
pub(super) struct Octets {
    /// Encoding in the [`USUAL`] code sets.
    usual: OnceLock<CdrResult<Marshalled>>,
    /// Encoding in the code sets of the first peer that has others.
    other: OnceLock<CdrResult<Marshalled>>,
}

struct Marshalled {
    /// Buffer of the octets. The part after `used` is scratch.
    buffer: Vec<u8>,
    used: usize,
    /// Code sets and version, for events whose octets depend on them.
    dialect: Option<Dialect>,
}

/// Dialect that ORBs with Unicode support negotiate.
const USUAL: Dialect = Dialect { chars: CharSet::Utf8, ..Dialect::GIOP_1_2 };

thread_local! {
    /// Buffer of the last set that this thread encoded, for reuse.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Larger buffers are not kept.
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

    /// Sends the octets of the set as received: a sequence in this host's byte order, aligned to eight, without
    /// anything that depends on code sets.
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

    /// Returns the set as queues keep it: one copy for all. For remote consumers the set is encoded here, in the
    /// supplier's thread; dispatching threads would wait for each other.
    pub(super) fn set(&self, with_octets: bool) -> &Arc<Set> {
        let set = self.set.get_or_init(|| sets::copy(self.events, self.arrived));
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
    /// Sends a set: to a local servant without a message, to each remote consumer with the same octets, those
    /// `received` if there are any.
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

    /// Copies the octets of the set from the received message, unless they were made before.
    fn take_over(&self, received: &[u8]) {
        self.usual.get_or_init(|| {
            let mut buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
            buffer.clear();
            buffer.extend_from_slice(received);
            let used = buffer.len();
            Ok(Marshalled { used, buffer: shrunk(buffer, used), dialect: None })
        });
    }

    /// Marshals the set on the first call.
    fn make(&self, events: &[Event]) -> &CdrResult<Marshalled> {
        self.usual.get_or_init(|| marshal(events, USUAL))
    }
}

impl Drop for Octets {
    fn drop(&mut self) {
        if let Some(Ok(Marshalled { buffer, .. })) = self.usual.take()
            && buffer.capacity() <= KEPT_OCTETS
        {
            // At the end of a thread its last sets may be dropped after the thread-local buffer.
            let _ = BUFFER.try_with(|kept| kept.set(buffer));
        }
    }
}

impl Marshalled {
    /// Copies the octets into a message if it can contain them unchanged: at a multiple of eight, in this host's byte
    /// order, with the same code sets. Returns whether it does.
    fn copy_to<'a>(&'a self, e: &mut Encoder<'a>) -> bool {
        let same_text = self.dialect.is_none_or(|dialect| dialect == e.dialect());
        let fits = same_text && takes_as_it_is(e);
        if fits {
            e.octets(&self.buffer[..self.used]);
        }
        fits
    }
}

/// Reports whether octets that begin at a multiple of eight, in this host's byte order, fit a message unchanged.
fn takes_as_it_is(e: &Encoder<'_>) -> bool {
    e.order() == ByteOrder::NATIVE && e.position() & 7 == 0
}

/// Maximum unused octets of a kept buffer, beyond twice its contents.
const SPARE: usize = 4096;

fn marshal(events: &[Event], dialect: Dialect) -> CdrResult<Marshalled> {
    // An empty buffer where a thread that is ending still pushes.
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

/// Shrinks the buffer of a large event before it is kept for small ones.
fn shrunk(mut buffer: Vec<u8>, used: usize) -> Vec<u8> {
    if buffer.capacity() > SPARE + 2 * used {
        buffer.truncate(used);
        buffer.shrink_to_fit();
    }
    buffer
}

/// Reports whether the `any` of an event is empty. The octets of an `any` with a value may depend on code sets, and on
/// the ORB that reads them.
pub(crate) fn is_textless(event: &Event) -> bool {
    event.data.any_value.type_code().kind() == TcKind::Null
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
