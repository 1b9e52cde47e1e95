//! Placement of messages in memory: some processors copy to unfavourably placed addresses at a fifteenth of their
//! speed.
//!
//! Where the destination of a copy is 1 to 31 octets after its source, both modulo the page size of
//! 4 KiB, AMD processors since Zen 3 move 3 octets per nanosecond with `rep movsb`, and 40
//! otherwise. The kernel copies with this instruction, from pages that it has filled from their
//! start, and glibc's allocator returns large blocks at 16 octets after the start of a page. The
//! first message of such a buffer therefore begins a little later.

use core::ops::Deref;

use super::Inbox;
use crate::prelude::*;
use oxorb_cdr::copies;

impl Inbox {
    /// Number of octets of a buffer in addition to those for messages. If copies to the start of the
    /// buffer would be slow, the first message begins at this offset, which preserves its alignment.
    pub const MARGIN: usize = 48;

    /// Moves the first message to an address to which copies are fast, unless it is borrowed or `octets`
    /// more octets would no longer fit.
    #[inline]
    pub(super) fn place(&mut self, octets: usize) {
        let front = if is_slow(self.buffer.as_ptr().addr()) { Self::MARGIN } else { 0 };
        if front != self.front {
            self.move_to(front, octets);
        }
    }

    #[cold]
    fn move_to(&mut self, front: usize, octets: usize) {
        let end = self.buffer.len() - self.front + front + octets;
        if self.start != self.front
            || self.is_looked_at()
            || self.has_gap
            || end > self.buffer.capacity()
        {
            return;
        }
        match front {
            0 => drop(self.buffer.drain(..self.front)),
            _ => drop(self.buffer.splice(..0, core::iter::repeat_n(0, front))),
        }
        (self.front, self.start) = (front, front);
        // All messages have moved, so recorded positions are no longer valid. The next query for a CancelRequest
        // examines the buffer again.
        self.cancels.clear();
    }
}

/// Reports whether messages in a buffer at this address should begin later. In debug builds this
/// applies to every second address, so that all tests cover such messages.
#[inline]
fn is_slow(address: usize) -> bool {
    let is_tried = cfg!(debug_assertions)
        && (address / 64) % 2 == 1
        && !copies::is_slow_distance(address + Inbox::MARGIN);
    copies::is_slow_distance(address) || is_tried
}

/// Message moved out of an [`Inbox`], in the memory into which it was received.
#[derive(Debug, Default)]
pub struct Taken {
    buffer: Vec<u8>,
    /// Number of octets in the buffer before the message.
    front: usize,
}

impl Taken {
    pub(super) fn new(buffer: Vec<u8>, front: usize) -> Taken {
        Taken { buffer, front }
    }

    /// Returns the memory, and the number of octets in it before the message.
    pub fn into_buffer(self) -> (Vec<u8>, usize) {
        (self.buffer, self.front)
    }
}

impl Deref for Taken {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.buffer[self.front..]
    }
}

impl From<Vec<u8>> for Taken {
    fn from(buffer: Vec<u8>) -> Taken {
        Taken { buffer, front: 0 }
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::{Header, Inbox, MessageLimits, MessageType, cancel_request};
    use oxorb_cdr::{ByteOrder, copies};
    use oxorb_object::Version;

    /// Tests a buffer at each page offset that allocators return.
    #[test]
    fn messages_begin_where_copies_are_fast() {
        for capacity in [8 << 10, 64 << 10, 1 << 20, 5 << 20] {
            let mut inbox =
                Inbox::new(&MessageLimits::default()).reading_into(Vec::with_capacity(capacity));
            let message = cancel_request(Version::V1_2, ByteOrder::Big, 9);
            for _ in 0..3 {
                let (buffer, most) = inbox.room();
                let place = buffer.as_ptr().addr() + buffer.len();
                assert!(!copies::is_slow_distance(place), "{capacity}");
                assert!(most <= buffer.capacity() - buffer.len());
                buffer.extend_from_slice(&message);
                let kind = inbox.poll().unwrap().map(|header: Header| header.kind);
                assert_eq!(kind, Some(MessageType::CANCEL_REQUEST));
                assert_eq!(inbox.frame().bytes, message);
                assert_eq!(inbox.poll(), Ok(None));
            }
        }
    }

    /// The offered space exists, and is never empty, however little of the buffer is left.
    #[test]
    fn what_is_offered_has_room() {
        for octets in (8 << 10..).step_by(613).take(40) {
            let message = big(octets);
            for spare in [0, 1, 47, 48, 49, 96, 4_000] {
                let mut inbox = Inbox::new(&MessageLimits::default())
                    .reading_into(Vec::with_capacity(octets - 48 + spare));
                let mut left = &message[..];
                while !left.is_empty() {
                    assert_eq!(inbox.poll(), Ok(None));
                    let (buffer, most) = inbox.room();
                    assert!(most > 0 && most <= buffer.capacity() - buffer.len());
                    let (now, later) = left.split_at(most.min(left.len()).min(1_000));
                    buffer.extend_from_slice(now);
                    left = later;
                }
                assert!(inbox.poll().unwrap().is_some());
                assert_eq!(inbox.frame().bytes, message);
                let mut other = Inbox::new(&MessageLimits::default());
                inbox.split_to(&mut other);
                inbox.shrink_to(spare);
                assert_eq!(*other.take(), message);
            }
        }
    }

    /// Returns a request of `octets` octets.
    fn big(octets: usize) -> Vec<u8> {
        let mut message = b"GIOP\x01\x02\x01\x00".to_vec();
        message.extend_from_slice(&(octets as u32 - 12).to_le_bytes());
        message.extend((message.len()..octets).map(|at| at as u8));
        message
    }

    #[test]
    fn what_is_taken_begins_with_the_message() {
        let message = cancel_request(Version::V1_2, ByteOrder::Little, 7);
        let mut inbox =
            Inbox::new(&MessageLimits::default()).reading_into(Vec::with_capacity(1 << 20));
        let read = |inbox: &mut Inbox| {
            inbox.room().0.extend_from_slice(&message);
            assert!(inbox.poll().unwrap().is_some());
        };
        read(&mut inbox);
        assert_eq!(*inbox.take(), message);
        read(&mut inbox);
        assert_eq!(*inbox.take(), message);
        read(&mut inbox);
        let mut other =
            Inbox::new(&MessageLimits::default()).reading_into(Vec::with_capacity(1 << 20));
        inbox.split_to(&mut other);
        assert_eq!(other.frame().bytes, message);
        read(&mut inbox);
        assert_eq!(inbox.frame().bytes, message);
    }
}
