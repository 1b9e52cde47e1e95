//! The object to which a remote supplier pushes. It decodes events into the memory of previous events.

use std::cell::Cell;
use std::sync::Arc;

use oxorb::__gen::Handles;
use oxorb::cdr::{Decode as _, Decoder, Result as CdrResult};
use oxorb::values::ByteOrder;
use oxorb::{Any, Outcome, Servant, Upcall};

use crate::channel::{SupplierProxy, is_textless};
use crate::rtec_event_comm::{Event, EventHeader};

/// Servant of a supplier's proxy. It implements `push` itself, and uses the generated skeleton for all other
/// operations.
pub(super) struct Intake {
    proxy: Arc<SupplierProxy>,
    skeleton: Arc<dyn Servant>,
}

thread_local! {
    /// Last events that this thread decoded, whose memory is reused.
    static EVENTS: Cell<Vec<Event>> = const { Cell::new(Vec::new()) };
}

/// Maximum size in octets of the payloads of events that are kept for reuse.
const KEPT_OCTETS: usize = 128 << 10;

/// Maximum number of events that are kept for reuse.
const KEPT: usize = 64;

impl Intake {
    pub(super) fn new(proxy: Arc<SupplierProxy>, skeleton: Arc<dyn Servant>) -> Intake {
        Intake { proxy, skeleton }
    }

    /// Decodes events and pushes them. Allocates no memory if this thread has previously decoded as many events of the
    /// same size.
    fn push(&self, mut upcall: Upcall<'_>) -> Outcome {
        // Take the events out of the thread-local: if a consumer makes this thread serve a nested push, that push must
        // not use them.
        let mut events = EVENTS.try_with(Cell::take).unwrap_or_default();
        let received = match upcall.args(|d| read(d, &mut events)) {
            Ok(received) => received,
            Err(rejected) => return upcall.reject(rejected),
        };
        // Ignore the error: a oneway has no reply, so refused events are only counted.
        let _ = self.proxy.push_received(&events, received);
        keep(events);
        upcall.done()
    }
}

impl Servant for Intake {
    fn repository_id(&self) -> &str {
        self.skeleton.repository_id()
    }

    fn is_a(&self, id: &str) -> bool {
        self.skeleton.is_a(id)
    }

    fn identity(&self) -> usize {
        self.skeleton.identity()
    }

    fn handles(&self) -> Option<&Handles> {
        self.skeleton.handles()
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "push" => self.push(upcall),
            _ => self.skeleton.dispatch(upcall),
        }
    }
}

/// Decodes events. If they are a set of one event that any ORB with this byte order can read unchanged, also returns
/// its octets.
fn read<'m>(d: &mut Decoder<'m>, events: &mut Vec<Event>) -> CdrResult<Option<&'m [u8]>> {
    let mut before = d.clone();
    d.sequence_into(events, |d, event: &mut Event| {
        event.header = EventHeader::decode(d)?;
        event.data.pad1 = d.long()?;
        d.octets_into(&mut event.data.payload)?;
        event.data.any_value = Any::decode(d)?;
        Ok(())
    })?;
    let octets = d.position() - before.position();
    let goes_on = d.order() == ByteOrder::NATIVE
        && before.position() & 7 == 0
        // The octets can be passed on only if they are contiguous in the message.
        && octets <= before.remaining()
        && matches!(&events[..], [one] if is_textless(one));
    goes_on.then(|| before.octets(octets)).transpose()
}

/// Keeps events so that their memory is reused, unless it is large. Drops their values, because a value can keep any
/// object alive.
fn keep(mut events: Vec<Event>) {
    let held: usize = events.iter().map(|one| one.data.payload.capacity()).sum();
    if events.len() > KEPT || held > KEPT_OCTETS {
        return;
    }
    for event in &mut events {
        event.data.any_value = Any::default();
    }
    // Ignore the error: when a thread ends, its last events may be dropped after the thread-local.
    let _ = EVENTS.try_with(|kept| kept.set(events));
}
