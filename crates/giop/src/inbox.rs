//! Inbox, which assembles complete messages from octets in any split.

use crate::prelude::*;
use core::fmt;

use alloc::sync::Arc;

use oxorb_cdr::{Gap, copies};

use crate::{
    CancelRequest, Form, Frame, FrameContext, Header, MessageLimits, MessageType, Messaging, Side,
    Violation, Wire,
};

use cancels::Cancels;
use copied::Copied;
pub use other::Reading;

use other::Other;
use partial::Partials;
pub use placed::Taken;

mod cancels;
mod copied;
mod gap;
mod other;
mod partial;
mod placed;

/// Receiving half of a connection: accepts octets, returns complete messages with fragments joined.
///
/// Two methods accept octets ([`room`](Self::room)) and announce messages ([`poll`](Self::poll));
/// the others access the announced message. The order of calls, in a loop:
///
/// 1. `poll` until it returns `None`; process each announced message with [`frame`](Self::frame)
///    before the next `poll`, which drops it.
/// 2. `room`, then append octets to the buffer that it returns.
///
/// Memory stays within [`MessageLimits`], and is only allocated for octets that have arrived: a header
/// that announces 4 GiB reserves at most 1 MiB. After warm-up, unfragmented messages cause no
/// allocation.
///
/// GIOP 1.1 restarts alignment in each fragment, 1.2 aligns through the whole message. A joined 1.1
/// message therefore keeps the boundaries ([`Frame::in_pieces`]), and takes twice the memory. OxORB
/// never sends 1.1 fragments.
///
/// After an error the inbox accepts nothing more: octets after an invalid message cannot be
/// interpreted, so the connection must end.
///
/// ```
/// use oxorb_giop::{Inbox, MessageLimits, MessageType, cancel_request};
/// use oxorb_object::Version;
///
/// let mut inbox = Inbox::new(&MessageLimits::default());
/// for octet in cancel_request(Version::V1_2, oxorb_cdr::ByteOrder::Big, 9) {
///     assert_eq!(inbox.poll(), Ok(None));
///     let (buffer, _at_most) = inbox.room();
///     buffer.push(octet);
/// }
/// assert_eq!(inbox.poll()?.map(|header| header.kind), Some(MessageType::CANCEL_REQUEST));
/// assert_eq!(inbox.frame().bytes.len(), 16);
/// assert_eq!(inbox.poll()?, None);
/// # Ok::<(), oxorb_giop::Violation>(())
/// ```
pub struct Inbox {
    limits: MessageLimits,
    /// Protocol of the messages; `None` for GIOP.
    other: Option<Box<Other>>,
    /// Octets of the message at `start` that are stored elsewhere, if `has_gap`; otherwise retained
    /// so that its allocation is reused.
    gap: Option<Box<Gap>>,
    has_gap: bool,
    borrows: bool,
    copied: Copied,
    /// Octets in order of arrival.
    buffer: Vec<u8>,
    /// Number of unused octets at the front of `buffer`. They move messages to an address to which
    /// copies are fast.
    front: usize,
    /// Offset in `buffer` of the first octet after the messages already dropped.
    start: usize,
    announced: Announced,
    /// Size of the message at `start`, while its header is complete and the rest is not; otherwise
    /// 0.
    awaited: usize,
    /// Capacity for the next buffer, after the last one was moved out.
    habit: usize,
    partials: Partials,
    /// Requests cancelled by complete messages after the announced one.
    cancels: Cancels,
    /// Announced message if it arrived in fragments; otherwise empty, and retained so that its
    /// capacity is reused.
    joined: Vec<u8>,
}

impl Inbox {
    /// Creates an empty inbox for GIOP. Allocates nothing before the first [`room`](Self::room).
    pub fn new(limits: &MessageLimits) -> Self {
        Self {
            limits: limits.clone(),
            other: None,
            gap: None,
            has_gap: false,
            borrows: true,
            copied: Copied::default(),
            buffer: Vec::new(),
            front: 0,
            start: 0,
            announced: Announced::Nothing,
            awaited: 0,
            habit: READ_AHEAD,
            partials: Partials::default(),
            cancels: Cancels::default(),
            joined: Vec::new(),
        }
    }

    /// Returns this inbox, which must be empty, so that it reads into `buffer` as long as messages fit into its
    /// capacity less [`MARGIN`](Self::MARGIN) octets. It then never [borrows](Self::borrows), because joining lent
    /// octets would require other memory.
    pub fn reading_into(self, mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        let mut inbox = Self { buffer, front: 0, start: 0, borrows: false, ..self };
        inbox.habit = inbox.usable().max(READ_AHEAD);
        inbox.place(inbox.usable());
        inbox
    }

    /// Returns this inbox, empty, for messages of `wire`. Allocates only for another protocol than GIOP.
    pub fn speaking(self, wire: Wire) -> Self {
        Self { other: Reading::of(wire).map(|reading| Box::new(Other::new(reading))), ..self }
    }

    /// Returns this inbox, empty, to continue a connection with the given reader; `None` for GIOP.
    pub fn continuing(self, reading: Option<&Reading>) -> Self {
        Self { other: reading.map(|reading| Box::new(Other::new(reading.clone()))), ..self }
    }

    /// Returns the messaging that this inbox reads, unless it is GIOP.
    #[inline]
    pub fn messaging(&self) -> Option<&'static dyn Messaging> {
        self.other.as_ref().map(|other| other.reading.messaging())
    }

    /// Returns the context of the announced message, for [`Frame::parse_in`] once it was
    /// [taken](Self::take) or copied; `None` for GIOP.
    #[inline]
    pub fn context(&self) -> Option<&Arc<FrameContext>> {
        self.other.as_ref().map(|other| &other.announced)
    }

    /// Returns the memory into which octets are read, possibly different from the initial one; its
    /// contents are unspecified.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Returns the buffer to which octets are to be appended, and the maximum number, for which it
    /// has capacity.
    ///
    /// Offers the buffer's whole capacity, at least 4 KiB, while nothing is known about the next
    /// message: a small message then needs one read, and so does one of up to 256 KiB once one of
    /// its size has arrived before. (Reading a complete message at once also keeps Linux from sending
    /// many small acknowledgements.) Once the header of a large message is known, offers at most
    /// the rest of it, so that the buffer ends with the message, which can be [taken](Self::take)
    /// without a copy. Never offers more than 256 KiB.
    #[inline]
    pub fn room(&mut self) -> (&mut Vec<u8>, usize) {
        let usable = self.usable();
        // The usual state is between two messages of common size. The inbox then offers its full capacity.
        if self.buffer.len() == self.front
            && self.awaited == 0
            && usable >= self.habit.max(SMALLEST_OFFER)
        {
            return (&mut self.buffer, usable.min(AT_ONCE));
        }
        self.room_any()
    }

    /// Implements [`room`](Self::room) for all states, including partial messages.
    #[inline(never)]
    fn room_any(&mut self) -> (&mut Vec<u8>, usize) {
        self.compact();
        let have = self.buffer.len() - self.start;
        // Additional capacity, for moving the first message to an address to which copies are fast.
        let beyond = Self::MARGIN - self.front;
        let offer = if self.awaited > READ_AHEAD.max(have) {
            // The offer is at most as large as what has already arrived, or 1 MiB if that is more, because a size that
            // is only announced must not make this side allocate memory.
            let offer = (self.awaited - have).min(STEP.max(have));
            if self.buffer.capacity() - self.buffer.len() < offer + beyond {
                self.buffer.reserve_exact(offer + beyond + SLACK);
            }
            offer
        } else {
            let held = self.buffer.len() - self.front;
            let spare = self.usable().max(self.habit).saturating_sub(held);
            let offer = if spare < SMALLEST_OFFER { READ_AHEAD } else { spare };
            self.buffer.reserve_exact(offer + beyond);
            offer
        };
        self.place(offer);
        (&mut self.buffer, offer.min(AT_ONCE))
    }

    /// Drops the message announced before, and announces the next one if it is complete.
    ///
    /// Costs about ten nanoseconds for an unfragmented message. Fragments are joined by copying; a
    /// CancelRequest drops the incomplete message it names, and is announced as well.
    ///
    /// # Errors
    /// A [`Violation`] as soon as the octets show it, for example by the header of a message that
    /// is too large. Further calls return the same violation.
    // Inlined, because it is called twice per message, and its large result would have to be moved otherwise.
    #[inline(always)]
    pub fn poll(&mut self) -> Result<Option<Header>, Violation> {
        self.release();
        if self.other.is_some() || self.has_gap {
            if self.has_gap {
                return self.poll_gap();
            }
            if self.buffer.len() == self.start {
                self.awaited = 0;
                return Ok(None);
            }
            return match self.poll_other() {
                Some(header) => Ok(Some(header)),
                None => self.poll_unusual(),
            };
        }
        let unread = &self.buffer[self.start..];
        let Some(start) = unread.first_chunk::<{ Header::LEN }>() else {
            self.awaited = 0;
            return Ok(None);
        };
        if let Some(header) = Header::parse_common(start)
            && header.total() <= unread.len().min(self.limits.max_message)
        {
            self.announced = Announced::InBuffer(header);
            return Ok(Some(header));
        }
        self.poll_any()
    }

    /// Announces messages of all kinds as [`poll`](Self::poll) does, including incomplete ones.
    #[inline(never)]
    fn poll_any(&mut self) -> Result<Option<Header>, Violation> {
        loop {
            let unread = &self.buffer[self.start..];
            let Some(start) = unread.first_chunk::<{ Header::LEN }>() else {
                self.awaited = 0;
                return Ok(None);
            };
            let header = Header::parse(start)?;
            let total = header.total();
            if total > self.limits.max_message {
                return Err(self.limits.too_large(total as u64, Side::Received));
            }
            let Some(message) = unread.get(..total) else {
                self.awaited = total;
                return Ok(None);
            };
            if !header.more_fragments && header.kind != MessageType::FRAGMENT {
                if header.kind == MessageType::CANCEL_REQUEST {
                    let frame = Frame { header, bytes: message, context: None, gap: None };
                    if let Ok(cancel) = CancelRequest::parse(&frame) {
                        self.partials.cancel(cancel.id);
                        self.cancels.announced(cancel.id, self.start + total);
                    }
                }
                self.announced = Announced::InBuffer(header);
                return Ok(Some(header));
            }
            let joined = self.partials.accept(
                Frame { header, bytes: message, context: None, gap: None },
                &self.limits,
                &mut self.joined,
            )?;
            self.consume(total);
            if let Some(header) = joined {
                self.announced = Announced::Joined(header);
                return Ok(Some(header));
            }
        }
    }

    /// Announces common messages of protocols other than GIOP as [`poll`](Self::poll) does; `None`
    /// if [`poll_unusual`](Self::poll_unusual) must decide.
    #[inline(always)]
    fn poll_other(&mut self) -> Option<Header> {
        let unread = &self.buffer[self.start..];
        let other = self.other.as_deref_mut()?;
        let header = other.reading.usual(unread)?;
        if header.total() > unread.len().min(self.limits.max_message)
            || !other.refers(header, &unread[..header.total()])
        {
            return None;
        }
        self.announced = Announced::InBuffer(header);
        Some(header)
    }

    /// Announces messages of all kinds as [`poll_other`](Self::poll_other) does, including
    /// incomplete ones.
    #[inline(never)]
    fn poll_unusual(&mut self) -> Result<Option<Header>, Violation> {
        let (unread, other) = (&self.buffer[self.start..], self.other.as_deref_mut());
        let Some(header) = header_at(unread, other.as_deref()) else {
            self.awaited = 0;
            return Ok(None);
        };
        let header = header?;
        let total = header.total();
        if total > self.limits.max_message {
            let limit = self.limits.too_large(total as u64, Side::Received);
            return Err(match other {
                Some(other) => other.oversized(unread, limit),
                None => limit,
            });
        }
        let Some(bytes) = unread.get(..total) else {
            self.awaited = total;
            return Ok(None);
        };
        if let Some(other) = other {
            other.arrived(header, bytes)?;
            if header.kind == MessageType::CANCEL_REQUEST {
                let frame = Frame { header, bytes, context: Some(&other.announced), gap: None };
                if let Ok(cancel) = CancelRequest::parse(&frame) {
                    self.cancels.announced(cancel.id, self.start + total);
                }
            }
        }
        self.announced = Announced::InBuffer(header);
        Ok(Some(header))
    }

    /// Drops the message announced before, and returns the header of the next one without
    /// announcing it, if the message (or the next fragment of it) is complete, or if it is invalid,
    /// as `poll` will then report.
    pub fn peek(&mut self) -> Option<Result<Header, Violation>> {
        self.release();
        if self.has_gap {
            return self.peek_gap().map(Ok);
        }
        let unread = &self.buffer[self.start..];
        let header = header_at(unread, self.other.as_deref())?;
        let whole = header.as_ref().map_or(true, |header| header.total() <= unread.len());
        whole.then_some(header)
    }

    /// Returns the message that [`peek`](Self::peek) reports, if it is complete and valid.
    pub fn peek_frame(&mut self) -> Option<Frame<'_>> {
        let header = self.peek()?.ok()?;
        if self.has_gap {
            if self.is_in_body(header) {
                return Some(self.lent_frame(header));
            }
            self.fill();
        }
        let bytes = &self.buffer[self.start..self.start + header.total()];
        let header = Header {
            more_fragments: false, // the boundaries are not known yet
            ..header
        };
        let context = match &mut self.other {
            Some(other) => {
                // If the message contains a violation, `poll` will report it.
                other.arrived(header, bytes).ok()?;
                Some(&other.announced)
            }
            None => None,
        };
        Some(Frame { header, bytes, context, gap: None })
    }

    /// Drops the message announced before, and returns whether nothing arrived after it.
    #[inline(always)]
    pub fn is_clear(&mut self) -> bool {
        self.release();
        self.buffer.len() == self.front
    }

    /// Announces what was just read into a [clear](Self::is_clear) inbox if it is exactly one
    /// common reply to request `id`. Otherwise [`poll`](Self::poll) must process it.
    #[inline(always)]
    pub fn announce_reply(&mut self, form: &Form, id: u32) -> bool {
        debug_assert!(matches!(self.announced, Announced::Nothing) && self.start == self.front);
        let message = &self.buffer[self.front..];
        match form.read_reply(message, id) {
            Some(header) if message.len() <= self.limits.max_message => {
                self.announced = Announced::InBuffer(header);
                true
            }
            _ => false,
        }
    }

    /// Returns the message announced by the last [`poll`](Self::poll).
    ///
    /// # Panics
    /// When the last `poll` announced none, or [`take`](Self::take) moved it out.
    #[inline]
    pub fn frame(&self) -> Frame<'_> {
        match self.announced {
            Announced::InBuffer(header) => Frame {
                header,
                bytes: &self.buffer[self.start..self.start + header.total()],
                context: self.context(),
                gap: None,
            },
            Announced::Lent(header) => self.lent_frame(header),
            Announced::Joined(header) => {
                Frame { header, bytes: &self.joined, context: None, gap: None }
            }
            Announced::Nothing => no_message(),
        }
    }

    /// Moves the announced message out, in its memory, to be parsed again by [`Frame::parse`].
    /// Copies nothing if the message alone fills the buffer, as large ones do, or arrived in
    /// fragments.
    ///
    /// # Panics
    /// When the last [`poll`](Self::poll) announced none, or it was already taken.
    pub fn take(&mut self) -> Taken {
        match core::mem::replace(&mut self.announced, Announced::Nothing) {
            Announced::InBuffer(header) if self.holds_only(header) => {
                self.remember_capacity();
                self.cancels.clear();
                // Reset here, because there may be no `poll` before the next read.
                self.awaited = 0;
                self.copied.next();
                self.start = 0;
                let front = core::mem::take(&mut self.front);
                Taken::new(core::mem::take(&mut self.buffer), front)
            }
            Announced::InBuffer(header) => {
                let message = &self.buffer[self.start..self.start + header.total()];
                let message = copies::to_vec(message);
                self.consume(header.total());
                message.into()
            }
            Announced::Joined(_) => core::mem::take(&mut self.joined).into(),
            Announced::Lent(header) => self.take_lent(header).into(),
            Announced::Nothing => no_message(),
        }
    }

    /// Reports whether a message alone fills the buffer.
    fn holds_only(&self, header: Header) -> bool {
        self.start == self.front && self.buffer.len() == self.front + header.total()
    }

    /// Moves the announced message to `to`, and continues with the messages after it: for two
    /// threads, one of which processes the message while the other reads. The contents of `to` are
    /// lost, its memory is reused. Copies the message, unless it alone fills the buffer or arrived
    /// in fragments; never copies what follows it.
    ///
    /// # Panics
    /// When the last [`poll`](Self::poll) announced none, or it was already taken.
    pub fn split_to(&mut self, to: &mut Self) {
        to.empty();
        to.awaited = 0;
        to.partials = Partials::default();
        to.cancels.clear();
        to.close_gap();
        to.announced = core::mem::replace(&mut self.announced, Announced::Nothing);
        match &self.other {
            None => to.other = None,
            Some(other) => other.split_to(&mut to.other),
        }
        match to.announced {
            Announced::InBuffer(header) if self.holds_only(header) => {
                self.remember_capacity();
                core::mem::swap(&mut self.buffer, &mut to.buffer);
                core::mem::swap(&mut self.front, &mut to.front);
                core::mem::swap(&mut self.start, &mut to.start);
                self.awaited = 0;
                self.copied.next();
                self.cancels.clear();
            }
            Announced::InBuffer(header) => {
                let message = &self.buffer[self.start..self.start + header.total()];
                copies::append(&mut to.buffer, message);
                self.consume(header.total());
            }
            Announced::Lent(header) => self.split_lent(header, to),
            Announced::Joined(_) => {
                to.joined.clear();
                core::mem::swap(&mut self.joined, &mut to.joined);
            }
            Announced::Nothing => no_message(),
        }
    }

    /// Drops the announced message, as the next [`poll`](Self::poll) would.
    pub fn discard(&mut self) {
        self.release();
    }

    /// Reports whether the buffer contains octets of a message not yet announced: if the connection
    /// ends now, the peer ended it within a message.
    #[inline]
    pub fn mid_message(&self) -> bool {
        let announced = match self.announced {
            Announced::InBuffer(header) => header.total(),
            Announced::Lent(header) => self.held(header),
            _ => 0,
        };
        self.buffer.len() > self.start + announced || !self.partials.is_empty()
    }

    /// Returns the size of the next message, while its header is complete and the rest is not;
    /// otherwise 0. For a message in fragments, this is the size of the next fragment.
    pub fn awaited(&self) -> usize {
        self.awaited
    }

    /// Reports whether a CancelRequest for request `id` has arrived after the announced message.
    /// Checks complete messages only, each once for all requests before it; costs a comparison when
    /// nothing has arrived.
    #[inline]
    pub fn is_cancelled(&self, id: u32) -> bool {
        let behind = match self.announced {
            Announced::InBuffer(header) => self.start + header.total(),
            Announced::Lent(header) => self.start + self.held(header),
            _ => self.start,
        };
        behind < self.buffer.len()
            && self.cancels.names(&self.buffer, behind, id, self.other.as_deref())
    }

    /// Returns the memory held, used or spare, in octets.
    pub fn memory(&self) -> usize {
        self.buffer.capacity()
            + self.joined.capacity()
            + self.partials.memory()
            + self.cancels.memory()
            + self.other.as_ref().map_or(0, |other| other.memory())
            + self.memory_of_gap()
    }

    /// Returns the capacity of the buffers retained between messages, in octets.
    #[inline]
    pub fn spare(&self) -> usize {
        self.usable() + self.joined.capacity() + self.memory_of_gap()
    }

    /// Returns the capacity of the buffer for messages, in octets.
    #[inline]
    fn usable(&self) -> usize {
        self.buffer.capacity().saturating_sub(Self::MARGIN)
    }

    /// Releases spare memory, except `octets` octets and what has arrived.
    pub fn shrink_to(&mut self, octets: usize) {
        self.compact();
        self.shrink_buffer_to(octets);
        self.joined.shrink_to(octets.saturating_sub(self.usable()));
        if !self.has_gap {
            self.gap = None;
        }
        self.habit = self.habit.min(octets.max(READ_AHEAD));
    }

    /// Drops the announced message.
    #[inline]
    fn release(&mut self) {
        // Matched by reference, because moving the value would copy the header although only its size is needed.
        match &self.announced {
            Announced::Nothing => {}
            Announced::InBuffer(header) => {
                let total = header.total();
                self.announced = Announced::Nothing;
                self.consume(total);
            }
            Announced::Joined(_) => {
                self.announced = Announced::Nothing;
                self.release_joined();
            }
            Announced::Lent(header) => {
                let header = *header;
                self.release_lent(header);
            }
        }
    }

    #[cold]
    fn release_joined(&mut self) {
        self.joined.clear();
        self.joined.shrink_to(self.limits.kept_capacity);
    }

    /// Records the capacity of a buffer that is about to be moved out, for the next buffer.
    fn remember_capacity(&mut self) {
        let most = self.limits.kept_capacity.max(READ_AHEAD);
        self.habit = self.usable().clamp(READ_AHEAD, most);
    }

    /// Advances past a complete message.
    #[inline]
    fn consume(&mut self, total: usize) {
        self.start += total;
        self.awaited = 0;
        self.copied.next();
        if self.start == self.buffer.len() {
            self.empty();
            self.cancels.clear();
            if self.usable() > self.limits.kept_capacity {
                self.shrink_buffer_to(self.limits.kept_capacity);
            }
        }
    }

    /// Drops all octets.
    #[inline]
    fn empty(&mut self) {
        self.buffer.truncate(self.front);
        self.start = self.front;
    }

    /// Releases memory, except for `octets` octets of messages and for what has arrived.
    #[cold]
    fn shrink_buffer_to(&mut self, octets: usize) {
        if self.buffer.len() == self.front {
            self.buffer.clear();
            (self.front, self.start) = (0, 0);
        }
        let margin = if octets > 0 { Self::MARGIN } else { 0 };
        self.buffer.shrink_to(octets.saturating_add(margin));
        self.place(self.usable().saturating_sub(self.buffer.len()));
    }

    /// Moves the remaining octets to the front of the buffer, unless an announced message is still
    /// borrowed there.
    fn compact(&mut self) {
        let gone = self.start - self.front;
        if gone != 0 && !self.is_looked_at() {
            self.buffer.copy_within(self.start.., self.front);
            self.buffer.truncate(self.buffer.len() - gone);
            self.cancels.shift(gone);
            self.start = self.front;
        }
    }

    /// Reports whether an announced message is in the buffer.
    fn is_looked_at(&self) -> bool {
        matches!(self.announced, Announced::InBuffer(_) | Announced::Lent(_))
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("unread", &(self.buffer.len() - self.start))
            .field("awaited", &self.awaited)
            .field("announced", &self.announced)
            .field("partials", &self.partials)
            .finish_non_exhaustive()
    }
}

/// Parses the header at the start of these octets, once enough of them have arrived.
fn header_at(octets: &[u8], other: Option<&Other>) -> Option<Result<Header, Violation>> {
    match other {
        None => Some(Header::parse(octets.first_chunk()?)),
        Some(other) => other.reading.header(octets),
    }
}

#[derive(Clone, Copy, Debug)]
enum Announced {
    Nothing,
    /// Message at `start` of the buffer.
    InBuffer(Header),
    /// Message in `joined`.
    Joined(Header),
    /// Message at `start` of the buffer, without the octets of `gap`.
    Lent(Header),
}

/// Number of octets requested while nothing is known about the next message.
const READ_AHEAD: usize = 8 << 10;
/// Spare capacity below which the buffer grows.
const SMALLEST_OFFER: usize = 4 << 10;
/// Spare octets of a buffer for a large message, so that a slightly larger message is read at once,
/// too.
const SLACK: usize = 4 << 10;
/// Maximum number of octets offered to one read: more would only make the kernel's buffers
/// alternate between two sizes.
const AT_ONCE: usize = 256 << 10;
/// Memory in octets reserved ahead for a large message of which less has arrived.
const STEP: usize = 1 << 20;

#[cold]
fn no_message() -> ! {
    panic!("Inbox::frame and Inbox::take need a message announced by Inbox::poll")
}
