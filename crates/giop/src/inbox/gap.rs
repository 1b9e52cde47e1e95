//! Requests of which a large payload lies in memory that the transport lends.

use oxorb_cdr::Gap;
use oxorb_lend::Lease;

use super::{Announced, Inbox, no_message};
use crate::{Frame, Header, Message, MessageType, Violation};

/// Octets below which copying a payload costs less than lending it.
const SMALLEST_LEASE: usize = 16 << 10;

impl Inbox {
    /// Returns the most octets that may come next by a [lease](Self::lend) instead of being read; `None` when they are to be
    /// read: it is the middle of no large request, or one that came in fragments, or of another protocol than GIOP.
    #[inline]
    pub fn borrows(&self) -> Option<usize> {
        match self.awaited {
            0..SMALLEST_LEASE => None,
            _ => self.may_borrow(),
        }
    }

    fn may_borrow(&self) -> Option<usize> {
        let unread = &self.buffer[self.start..];
        let header = Header::parse(unread.first_chunk()?).ok()?;
        let plain = header.kind == MessageType::REQUEST && !header.more_fragments;
        let left = self.awaited.checked_sub(unread.len())?;
        let may = self.borrows && self.other.is_none() && !self.has_gap;
        let fits = may && plain && left >= SMALLEST_LEASE;
        fits.then_some(left)
    }

    /// Takes the octets that come next, at most as many as the inbox [borrows](Self::borrows). Allocates the first time.
    ///
    /// # Panics
    /// When they are too many.
    pub fn lend(&mut self, lease: Lease) {
        let most = self.borrows();
        assert!(
            most.is_some_and(|most| lease.len() <= most),
            "more was lent than is awaited"
        );
        self.awaited -= lease.len();
        let at = self.buffer.len() - self.start;
        self.gap.get_or_insert_default().open(at, lease);
        self.has_gap = true;
    }

    /// Octets of a message with a gap that are in the buffer.
    pub(super) fn held(&self, header: Header) -> usize {
        header.total() - self.gap.as_ref().map_or(0, |gap| gap.octets())
    }

    /// Returns the header of the message with the gap, if all of it is there.
    pub(super) fn peek_gap(&self) -> Option<Header> {
        let unread = &self.buffer[self.start..];
        let header = Header::parse(unread.first_chunk()?).ok()?;
        (self.held(header) <= unread.len()).then_some(header)
    }

    /// Does what [`poll`](Self::poll) does, for the message with the gap.
    #[cold]
    pub(super) fn poll_gap(&mut self) -> Result<Option<Header>, Violation> {
        let Some(header) = self.peek_gap() else {
            return Ok(None);
        };
        self.announced = Announced::Lent(header);
        if !self.is_among_arguments(header) {
            self.fill();
            return self.poll();
        }
        Ok(Some(header))
    }

    /// Whether all that is no argument stands before the gap.
    pub(super) fn is_among_arguments(&self, header: Header) -> bool {
        let frame = self.lent_frame(header);
        let at = self.gap.as_ref().map_or(0, |gap| gap.at());
        let start = Frame {
            bytes: &frame.bytes[..at],
            gap: None,
            ..frame
        };
        let message = start.message();
        matches!(message, Ok(Message::Request(request)) if request.body <= at)
    }

    /// Copies the octets that were lent to their place.
    pub(super) fn fill(&mut self) {
        let Some(gap) = self.gap.as_deref_mut() else {
            return;
        };
        let (rest, behind) = self.buffer.split_at(self.start + gap.at());
        let mut filled = gap.into_whole(&rest[self.start..]);
        filled.extend_from_slice(behind);
        self.buffer = filled;
        self.start = 0;
        self.announced = Announced::Nothing;
        self.cancels.clear();
        self.close_gap();
    }

    pub(super) fn lent_frame(&self, header: Header) -> Frame<'_> {
        Frame {
            header,
            bytes: &self.buffer[self.start..self.start + self.held(header)],
            context: None,
            gap: self.gap.as_deref(),
        }
    }

    /// Moves the announced message out, copied together.
    #[cold]
    pub(super) fn take_lent(&mut self, header: Header) -> Vec<u8> {
        let held = self.held(header);
        let Some(gap) = self.gap.as_deref_mut() else {
            no_message()
        };
        let message = gap.into_whole(&self.buffer[self.start..self.start + held]);
        self.close_gap();
        self.consume(held);
        message
    }

    /// Moves the announced message to `to`, with its lease.
    #[cold]
    pub(super) fn split_lent(&mut self, header: Header, to: &mut Self) {
        let held = self.held(header);
        core::mem::swap(&mut self.gap, &mut to.gap);
        (self.has_gap, to.has_gap) = (false, true);
        to.buffer.clear();
        to.buffer
            .extend_from_slice(&self.buffer[self.start..self.start + held]);
        self.consume(held);
    }

    /// Drops the announced message, and ends its lease.
    #[cold]
    pub(super) fn release_lent(&mut self, header: Header) {
        let held = self.held(header);
        self.announced = Announced::Nothing;
        self.close_gap();
        self.consume(held);
    }

    pub(super) fn close_gap(&mut self) {
        if self.has_gap {
            self.has_gap = false;
            if let Some(gap) = &mut self.gap {
                gap.close(self.limits.kept_capacity);
            }
        }
    }

    /// Octets of memory held for copies of what was lent.
    pub(super) fn memory_of_gap(&self) -> usize {
        self.gap.as_deref().map_or(0, Gap::memory)
    }
}
