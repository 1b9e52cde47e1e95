//! Messages between gateways, each of which contains a set of events.

use oxorb::cdr::{Decoder, Dialect, Encode as _, Encoder, Result};
use oxorb::values::ByteOrder;

use crate::rtec_event_comm::Event;

/// Encodes a set of one event to `buffer`, replacing its contents. The `ttl` of the event is decremented.
pub(super) fn write(event: &Event, buffer: &mut Vec<u8>) -> Result<()> {
    let mut header = event.header;
    header.ttl -= 1;
    let taken = std::mem::take(buffer);
    let mut e = Encoder::new(taken, ByteOrder::NATIVE, Dialect::GIOP_1_2);
    e.ulong(1);
    header.encode(&mut e)?;
    event.data.encode(&mut e)?;
    let encoded = e.finish();
    let used = encoded.len();
    *buffer = encoded.into_buffer();
    buffer.truncate(used);
    Ok(())
}

/// Decodes a set of events.
pub(crate) fn read(octets: &[u8], order: ByteOrder) -> Result<Vec<Event>> {
    let mut d = Decoder::new(octets, order, Dialect::GIOP_1_2);
    let events = d.sequence(None)?;
    d.finish()?;
    Ok(events)
}
