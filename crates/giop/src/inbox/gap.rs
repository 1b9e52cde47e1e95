//! Requests and replies with a large payload in memory that the transport lends.

use crate::prelude::*;
use oxorb_cdr::Gap;
use oxorb_lend::Lease;

use super::{Announced, Inbox, Taken, header_at, no_message};
use crate::{Frame, Header, Message, MessageType, Violation};

/// Smallest payload, in octets, for which a lease costs less than a copy.
const SMALLEST_LEASE: usize = 16 << 10;

impl Inbox {
    /// Returns the maximum number of octets that may come next as a [lease](Self::lend); `None` if
    /// they are to be read: outside a large Request or Reply, in one that arrives in fragments, or
    /// in a Request whose operation had its last payloads copied.
    #[inline]
    pub fn borrows(&self) -> Option<usize> {
        match self.awaited {
            0..SMALLEST_LEASE => None,
            _ => self.may_borrow(),
        }
    }

    /// Makes the inbox [borrow](Self::borrows) payloads regardless of the use of earlier ones: for
    /// requests that are rejected if they were copied.
    pub fn always_borrow(&mut self) {
        self.copied.never_reads();
    }

    fn may_borrow(&self) -> Option<usize> {
        let (header, left) = self.lendable()?;
        let unread = &self.buffer[self.start..];
        (!self.reads_on(header, unread)).then_some(left)
    }

    /// Returns the header of the message whose payload may come next as a lease, and the number of
    /// octets still to come.
    fn lendable(&self) -> Option<(Header, usize)> {
        let unread = &self.buffer[self.start..];
        let header = header_at(unread, self.other.as_deref())?.ok()?;
        let carries = matches!(header.kind, MessageType::REQUEST | MessageType::REPLY);
        let left = self.awaited.checked_sub(unread.len())?;
        let may = self.borrows && !self.has_gap && carries && !header.more_fragments;
        (may && left >= SMALLEST_LEASE).then_some((header, left))
    }

    /// Accepts the next octets as a lease, at most as many as the inbox [borrows](Self::borrows),
    /// and returns whether the message is now complete. Allocates the first time.
    ///
    /// # Panics
    /// When the lease has more octets.
    pub fn lend(&mut self, lease: Lease) -> bool {
        let most = self.lendable();
        assert!(most.is_some_and(|(_, most)| lease.len() <= most), "more was lent than is awaited");
        self.awaited -= lease.len();
        let at = self.buffer.len() - self.start;
        self.gap.get_or_insert_default().open(at, lease);
        self.has_gap = true;
        self.awaited <= at
    }

    /// Returns the number of octets in the buffer that belong to a message with a gap.
    pub(super) fn held(&self, header: Header) -> usize {
        header.total() - self.gap.as_ref().map_or(0, |gap| gap.octets())
    }

    /// Returns the header of the message with the gap, if the message is complete.
    pub(super) fn peek_gap(&self) -> Option<Header> {
        let unread = &self.buffer[self.start..];
        let header = header_at(unread, self.other.as_deref())?.ok()?;
        (self.held(header) <= unread.len()).then_some(header)
    }

    /// Implements [`poll`](Self::poll) for the message with the gap.
    #[cold]
    pub(super) fn poll_gap(&mut self) -> Result<Option<Header>, Violation> {
        let Some(header) = self.peek_gap() else {
            return Ok(None);
        };
        if !self.is_in_body(header) {
            self.fill();
            return self.poll();
        }
        self.announced = Announced::Lent(header);
        Ok(Some(header))
    }

    /// Reports whether all header fields of the message precede the gap. Passes a Request to the
    /// aliases of the protocol, if it has any, as every complete Request is.
    pub(super) fn is_in_body(&mut self, header: Header) -> bool {
        let at = self.gap.as_ref().map_or(0, |gap| gap.at());
        let bytes = &self.buffer[self.start..self.start + at];
        // If the request contains a violation, the caller joins its octets, and `poll` then reports the violation.
        if let Some(other) = &mut self.other
            && other.arrived(header, bytes).is_err()
        {
            return false;
        }
        let start = Frame {
            header,
            bytes,
            context: self.other.as_ref().map(|other| &other.announced),
            gap: None,
        };
        match start.message() {
            Ok(Message::Request(request)) => request.body <= at,
            Ok(Message::Reply(reply)) => reply.body <= at,
            _ => false,
        }
    }

    /// Copies the lent octets into the buffer.
    pub(super) fn fill(&mut self) {
        let Some(gap) = self.gap.as_deref_mut() else {
            return;
        };
        let (rest, behind) = self.buffer.split_at(self.start + gap.at());
        let mut filled = gap.into_whole(&rest[self.start..]);
        filled.extend_from_slice(behind);
        self.buffer = filled;
        (self.front, self.start) = (0, 0);
        self.announced = Announced::Nothing;
        self.cancels.clear();
        self.close_gap();
    }

    pub(super) fn lent_frame(&self, header: Header) -> Frame<'_> {
        Frame {
            header,
            bytes: &self.buffer[self.start..self.start + self.held(header)],
            context: self.context(),
            gap: self.gap.as_deref(),
        }
    }

    /// Moves the announced message out, joined by copying.
    #[cold]
    pub(super) fn take_lent(&mut self, header: Header) -> Vec<u8> {
        let held = self.held(header);
        let Some(gap) = self.gap.as_deref_mut() else { no_message() };
        // This copy does not show how the servant uses the payload, so `learn` is not called.
        let message = gap.into_whole(&self.buffer[self.start..self.start + held]);
        self.close_gap();
        self.consume(held);
        message
    }

    /// Moves the announced message out as [`take`](Self::take) does, but leaves lent octets where
    /// they are: for [`Frame::parse_lent`].
    ///
    /// # Panics
    /// When the last [`poll`](Self::poll) announced none, or it was already taken.
    pub fn take_apart(&mut self) -> (Taken, Option<Box<Gap>>) {
        let Announced::Lent(header) = self.announced else {
            return (self.take(), None);
        };
        let held = self.held(header);
        let rest = self.buffer[self.start..self.start + held].to_vec();
        self.announced = Announced::Nothing;
        self.has_gap = false;
        let gap = self.gap.take();
        self.consume(held);
        (rest.into(), gap)
    }

    /// Moves the announced message to `to`, with its lease.
    #[cold]
    pub(super) fn split_lent(&mut self, header: Header, to: &mut Self) {
        let held = self.held(header);
        core::mem::swap(&mut self.gap, &mut to.gap);
        (self.has_gap, to.has_gap) = (false, true);
        to.buffer.extend_from_slice(&self.buffer[self.start..self.start + held]);
        self.consume(held);
    }

    /// Drops the announced message, and ends its lease.
    #[cold]
    pub(super) fn release_lent(&mut self, header: Header) {
        let held = self.held(header);
        self.learn(header);
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

    /// Returns the memory held for copies of lent octets, in octets.
    pub(super) fn memory_of_gap(&self) -> usize {
        self.gap.as_deref().map_or(0, Gap::memory)
    }
}
