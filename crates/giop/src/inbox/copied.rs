//! Choice of the payloads that are read as they arrive, because lending would only delay their
//! copy.
//!
//! A lent payload must be complete before it can be accessed. If the servant copies it anyway,
//! copying it while the sender still writes takes half the time. The inbox cannot know what the
//! servant will do; it records how the last payload of an object and operation, at the same offset
//! of a message, was used.

use crate::prelude::*;
use core::cell::Cell;
use core::num::NonZero;

use super::Inbox;
use crate::{Frame, Header, Message, Target};

/// Period, in payloads, at which one is lent nevertheless, to observe how it is used now.
const TRIED: u8 = 16;

/// Number of notes of a connection.
const NOTES: usize = 64;

/// Notes on the requests of a connection.
#[derive(Debug, Default)]
pub(super) struct Copied {
    /// Notes by the hash of a request; `None` while no payload was copied.
    notes: Option<Box<[Note; NOTES]>>,
    /// Number of octets of the message that had arrived at the last decision, and whether its payload
    /// is read.
    decided: Cell<Option<(usize, bool)>>,
    /// Whether every payload is lent where possible.
    never: bool,
}

/// Note on the use of payloads of an object and operation, at an offset.
#[derive(Debug, Default)]
struct Note {
    /// Hash of object, operation and offset; a request with a different hash has no note.
    sum: Option<NonZero<u32>>,
    /// Payloads since the note was made, modulo [`TRIED`].
    seen: Cell<u8>,
    /// Whether a payload was ever read in place: all others are then lent, even if some were
    /// copied.
    taken: bool,
}

impl Copied {
    /// Lends every payload from now on.
    pub(super) fn never_reads(&mut self) {
        self.never = true;
    }

    /// Clears the decision about a message.
    #[inline(always)]
    pub(super) fn next(&self) {
        self.decided.set(None);
    }
}

impl Inbox {
    /// Decides whether the next payload of a message is to be read as it arrives.
    pub(super) fn reads_on(&self, header: Header, unread: &[u8]) -> bool {
        let copied = &self.copied;
        let Some(notes) = copied.notes.as_deref().filter(|_| !copied.never) else {
            return false;
        };
        if let Some((at, reads)) = copied.decided.get()
            && (at == unread.len() || reads)
        {
            return reads;
        }
        let sum = self.sum(header, unread);
        let note = sum.map(|sum| &notes[place_of(sum)]);
        let reads = note.is_some_and(|note| {
            let copies = note.sum == sum && !note.taken;
            let seen = (note.seen.get() + u8::from(copies)) % TRIED;
            note.seen.set(seen);
            copies && seen != 0
        });
        copied.decided.set(Some((unread.len(), reads)));
        reads
    }

    /// Records how the payload of a request was used; to be called before its gap is closed.
    pub(super) fn learn(&mut self, header: Header) {
        let Some(gap) = self.gap.as_deref() else {
            return;
        };
        let (copied, taken) = (gap.was_copied(), gap.was_taken());
        if !(copied || taken && self.copied.notes.is_some()) {
            return;
        }
        let head = &self.buffer[self.start..self.start + gap.at()];
        let Some(sum) = self.sum(header, head) else {
            return;
        };
        let notes = self
            .copied
            .notes
            .get_or_insert_with(|| Box::new(core::array::from_fn(|_| Note::default())));
        let note = &mut notes[place_of(sum)];
        let known = note.sum == Some(sum);
        if !known && copied {
            *note = Note { sum: Some(sum), ..Note::default() };
        }
        if known && taken {
            note.taken = true;
        }
    }

    /// Returns a hash of a request's object, operation, and payload offset, where the payload
    /// begins after these octets; `None` if this is not a request, or has no key.
    fn sum(&self, header: Header, bytes: &[u8]) -> Option<NonZero<u32>> {
        let start = Frame {
            header,
            bytes,
            context: self.other.as_deref().map(|other| other.context_of(bytes)),
            gap: None,
        };
        let Ok(Message::Request(request)) = start.message() else {
            return None;
        };
        let Target::Key(key) = request.target else {
            return None;
        };
        let place = bytes.len().to_le_bytes();
        let octets = request.operation.bytes().chain(key.iter().copied());
        let sum = |sum: u32, octet: u8| (sum ^ u32::from(octet)).wrapping_mul(0x0100_0193);
        let sum = octets.chain(place).fold(0x811c_9dc5, sum);
        NonZero::new(sum.max(1))
    }
}

fn place_of(sum: NonZero<u32>) -> usize {
    (sum.get() >> 26) as usize % NOTES
}
