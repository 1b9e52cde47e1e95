//! The object to which a remote supplier pushes, which reads events into the memory of earlier events.

use std::cell::Cell;
use std::sync::Arc;

use oxorb::__gen::Handles;
use oxorb::cdr::{Decode as _, Decoder, Result as CdrResult};
use oxorb::values::ByteOrder;
use oxorb::{Any, Outcome, Servant, Upcall};

use crate::channel::{SupplierProxy, is_textless};
use crate::rtec_event_comm::{Event, EventHeader};

/// Servant of a supplier's proxy: implements `push` itself, and all other operations by the generated skeleton.
pub(super) struct Intake {
    proxy: Arc<SupplierProxy>,
    skeleton: Arc<dyn Servant>,
}

thread_local! {
    /// Latest events of this thread, kept for their memory.
    static EVENTS: Cell<Vec<Event>> = const { Cell::new(Vec::new()) };
}

/// Maximum size in octets of the payloads of kept events.
const KEPT_OCTETS: usize = 128 << 10;

/// Maximum number of kept events.
const KEPT: usize = 64;

impl Intake {
    pub(super) fn new(proxy: Arc<SupplierProxy>, skeleton: Arc<dyn Servant>) -> Intake {
        Intake { proxy, skeleton }
    }

    /// Reads events and pushes them. Allocates nothing if earlier events of this thread were as many and as large.
    fn push(&self, mut upcall: Upcall<'_>) -> Outcome {
        // A local consumer may make the thread serve another push before this one ends; that push finds no kept events.
        let mut events = EVENTS.try_with(Cell::take).unwrap_or_default();
        let received = match upcall.args(|d| read(d, &mut events)) {
            Ok(received) => received,
            Err(rejected) => return upcall.reject(rejected),
        };
        // A oneway has no answer, so refused events are only counted.
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

/// Reads events. Returns their octets if they are a set of one event that any ORB of this byte order can read
/// unchanged.
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
        // The octets must be contiguous.
        && octets <= before.remaining()
        && matches!(&events[..], [one] if is_textless(one));
    goes_on.then(|| before.octets(octets)).transpose()
}

/// Keeps the memory of events for reuse, unless it is large. Values are dropped, since they may keep any object alive.
fn keep(mut events: Vec<Event>) {
    let held: usize = events.iter().map(|one| one.data.payload.capacity()).sum();
    if events.len() > KEPT || held > KEPT_OCTETS {
        return;
    }
    for event in &mut events {
        event.data.any_value = Any::default();
    }
    // At the end of a thread its last events may be dropped after the thread-local.
    let _ = EVENTS.try_with(|kept| kept.set(events));
}
