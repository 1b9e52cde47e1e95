//! Which payloads are read as they come, because lending them would only put their copy off.
//!
//! A payload that is lent must be whole before anybody looks at it. Where the servant takes a copy anyway, copying it while
//! the sender still writes takes half the time. The inbox cannot know what the servant will do; it remembers what became of
//! the last payload of an object and operation at the same place of a message.

use core::cell::Cell;

use super::Inbox;
use crate::{Frame, Header, Message, Target};

/// One payload of so many is lent nevertheless, and shows what becomes of it now.
const TRIED: u32 = 16;

/// What is remembered of the requests of a connection.
#[derive(Debug, Default)]
pub(super) struct Copied {
    /// A bit for each of 64 classes into which requests fall: the last payload of the class that was lent was copied.
    classes: u64,
    /// Payloads of such classes.
    seen: Cell<u32>,
    /// How many octets of the message were there when it was decided whether it is read.
    decided: Cell<Option<(usize, bool)>>,
}

impl Copied {
    /// Ends what was decided about a message.
    #[inline(always)]
    pub(super) fn next(&self) {
        self.decided.set(None);
    }
}

impl Inbox {
    /// Decides whether the payload that comes next in a message is to be read as it comes.
    pub(super) fn reads_on(&self, header: Header, unread: &[u8]) -> bool {
        let copied = &self.copied;
        if copied.classes == 0 {
            return false;
        }
        if let Some((at, reads)) = copied.decided.get()
            && (at == unread.len() || reads)
        {
            return reads;
        }
        let reads = self.class(header, unread) & copied.classes != 0;
        if reads {
            copied.seen.set(copied.seen.get().wrapping_add(1));
        }
        let reads = reads && !copied.seen.get().is_multiple_of(TRIED);
        copied.decided.set(Some((unread.len(), reads)));
        reads
    }

    /// Learns from what became of the payload of a request: before its gap is closed.
    pub(super) fn learn(&mut self, header: Header) {
        let Some(gap) = self.gap.as_deref() else {
            return;
        };
        let (copied, taken) = (gap.was_copied(), gap.was_taken());
        if copied || taken && self.copied.classes != 0 {
            let head = &self.buffer[self.start..self.start + gap.at()];
            let class = self.class(header, head);
            match copied {
                true => self.copied.classes |= class,
                false => self.copied.classes &= !class,
            }
        }
    }

    /// Returns the bit of a request's object, operation, and place of the payload, which begins behind these octets; 0: it is
    /// none of GIOP.
    fn class(&self, header: Header, bytes: &[u8]) -> u64 {
        let start = Frame {
            header,
            bytes,
            context: None,
            gap: None,
        };
        if self.other.is_some() {
            return 0;
        }
        let Ok(Message::Request(request)) = start.message() else {
            return 0;
        };
        let Target::Key(key) = request.target else {
            return 0;
        };
        let place = bytes.len().to_le_bytes();
        let octets = request.operation.bytes().chain(key.iter().copied());
        let sum = |sum: u32, octet: u8| (sum ^ u32::from(octet)).wrapping_mul(0x0100_0193);
        let sum = octets.chain(place).fold(0x811c_9dc5, sum);
        1 << (sum >> 26)
    }
}
