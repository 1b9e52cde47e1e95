//! Cancelling a distributable thread that has gone elsewhere.
//!
//! The process that it went to is told over the reference of the call: by a question that every object answers, whose service
//! context says which thread is meant. So the message takes the way that the thread has taken, and needs no address of its
//! own; a server that does not know the context only answers.

use std::cell::Cell;
use std::time::Duration;

use oxorb::cdr::{Decoder, Dialect, Encoder};
use oxorb::{ByteOrder, Ref};

use crate::{BadContext, Id};

/// Id of the service context that cancels a thread: of OxORB's own.
pub(crate) const CANCEL: u32 = 0x4f58_4f1e;

/// Most processes that a cancel passes through.
pub(crate) const HOPS: u8 = 32;

thread_local! {
    /// Thread that the question of this native thread cancels, and processes that may be told after the next.
    static CANCELLING: Cell<Option<(Id, u8)>> = const { Cell::new(None) };
}

/// Returns which thread is cancelled by the call that this native thread makes.
pub(crate) fn cancelling() -> Option<(Id, u8)> {
    CANCELLING.get()
}

/// Tells those to whom a thread went that it was cancelled. Returns whether all have answered.
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

/// Reads the service context.
pub(crate) fn read(octets: &[u8]) -> Result<(Id, u8), BadContext> {
    let mut d = Decoder::encapsulated(octets, Dialect::GIOP_1_2)?;
    let length = d.length(None, 1)?;
    let id = Id::from_octets(d.octets(length)?).ok_or(BadContext::IdTooLong(length))?;
    let hops = d.octet()?;
    d.finish()?;
    Ok((id, hops.min(HOPS)))
}
