//! Cancellation of a distributable thread that has left the process.
//!
//! The process that serves its call is notified through the reference of that call: by an operation
//! that every object answers, with a service context that names the thread. So the notification
//! follows the route of the thread and needs no address of its own. A server that does not know the
//! context ignores it and answers the operation.

use std::cell::Cell;
use std::time::Duration;

use oxorb::Ref;
use oxorb::cdr::{Decoder, Dialect, Encoder};
use oxorb::values::ByteOrder;

use crate::{BadContext, Id};

/// Id of OxORB's service context that cancels a thread.
pub(crate) const CANCEL: u32 = 0x4f58_4f1e;

/// Maximum number of processes that a cancellation passes through.
pub(crate) const HOPS: u8 = 32;

thread_local! {
    /// Thread that this native thread's notification cancels, and the number of further processes
    /// it may pass through.
    static CANCELLING: Cell<Option<(Id, u8)>> = const { Cell::new(None) };
}

/// Returns the thread that this native thread's call cancels.
pub(crate) fn cancelling() -> Option<(Id, u8)> {
    CANCELLING.get()
}

/// Notifies the processes to which a thread has moved of its cancellation. Reports whether all have
/// answered.
pub(crate) fn follow(id: &Id, away: &[Ref], hops: u8, limit: Duration) -> bool {
    let Some(hops) = hops.checked_sub(1) else {
        return away.is_empty();
    };
    let mut all = true;
    for target in away {
        let before = CANCELLING.replace(Some((*id, hops)));
        let _restored = Restore(before);
        all &= target.with_timeout(limit).non_existent().is_ok();
    }
    all
}

struct Restore(Option<(Id, u8)>);

impl Drop for Restore {
    fn drop(&mut self) {
        CANCELLING.set(self.0);
    }
}

/// Appends the service context: an encapsulation of `struct { sequence<octet> id; octet hops; }`.
pub(crate) fn write(id: &Id, hops: u8, octets: &mut Vec<u8>) {
    let written = Encoder::encapsulated(ByteOrder::NATIVE, Dialect::GIOP_1_2, |e| {
        e.length(id.octets().len(), None)?;
        e.copy_octets(id.octets());
        e.octet(hops);
        Ok(())
    });
    octets.extend(written.expect("an id is short"));
}

/// Decodes the service context.
pub(crate) fn read(octets: &[u8]) -> Result<(Id, u8), BadContext> {
    let mut d = Decoder::encapsulated(octets, Dialect::GIOP_1_2)?;
    let length = d.length(None, 1)?;
    let id = Id::from_octets(d.octets(length)?).ok_or(BadContext::IdTooLong(length))?;
    let hops = d.octet()?;
    d.finish()?;
    Ok((id, hops.min(HOPS)))
}
