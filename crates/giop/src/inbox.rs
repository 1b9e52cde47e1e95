//! Inbox that makes whole messages of octets in any split.

use crate::prelude::*;
use core::fmt;

use alloc::sync::Arc;

use oxorb_cdr::{Gap, copies};

use crate::{
    CancelRequest, Frame, FrameContext, Header, Limits, MessageType, Messaging, Side, Violation,
    Wire,
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
mod usual;

/// The receiving half of a connection: octets in, whole messages out, fragments joined.
///
/// Two methods take octets in ([`room`](Self::room)) and announce messages ([`poll`](Self::poll)); the others look at
/// what was announced. The order of calls, in a loop:
///
/// 1. `poll` until it yields `None`; look at each announced message with [`frame`](Self::frame) before the next `poll`,
///    which drops it.
/// 2. `room`, append octets to the buffer it offers.
///
/// Memory stays within [`Limits`] and is only allocated for octets that arrived: a header that announces 4 GiB reserves
/// 1 MiB at most. After warm-up, messages that are not fragmented cost no allocation.
///
/// GIOP 1.1 counts alignment anew in each fragment, 1.2 through the whole message. So a joined 1.1 message keeps the
/// boundaries ([`Frame::in_pieces`]), and takes twice the memory. OxORB never sends 1.1 fragments.
///
/// After an error the inbox stays where it is: octets after a broken message mean nothing, so the connection must end.
///
/// ```
/// use oxorb_giop::{Inbox, Limits, MessageType, cancel_request};
/// use oxorb_object::Version;
///
/// let mut inbox = Inbox::new(&Limits::default());
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
    limits: Limits,
    /// Protocol of the messages; `None`: GIOP.
    other: Option<Box<Other>>,
    /// Octets of the message at `start` that lie elsewhere, if `has_gap`; otherwise kept for its memory.
    gap: Option<Box<Gap>>,
    has_gap: bool,
    borrows: bool,
    copied: Copied,
    /// Octets as they arrived.
    buffer: Vec<u8>,
    /// Octets at the front of `buffer` that belong to no message: what comes is then copied fast.
    front: usize,
    /// The first octet of `buffer` that belongs to no message already dropped.
    start: usize,
    announced: Announced,
    /// Size of the message that `start` begins, once its header is there and while the rest is not; otherwise 0.
    awaited: usize,
    /// Capacity to give the next buffer when the last one was taken away.
    habit: usize,
    partials: Partials,
    /// Requests that whole messages behind the announced one cancel.
    cancels: Cancels,
    /// The announced message when it came in fragments; otherwise empty, kept for its capacity.
    joined: Vec<u8>,
}

impl Inbox {
    /// An empty inbox for GIOP. Allocates nothing before the first [`room`](Self::room).
    pub fn new(limits: &Limits) -> Self {
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

    /// Returns this inbox, before anything arrived, with memory to read into for as long as messages fit, but for
    /// [`MARGIN`](Self::MARGIN) octets. It then [borrows](Self::borrows) nothing: copying what was lent together would take
    /// other memory.
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

    /// Returns this inbox, empty, for what follows on a connection whose messages are read so. `None`: they are GIOP's.
    pub fn continuing(self, reading: Option<&Reading>) -> Self {
        Self { other: reading.map(|reading| Box::new(Other::new(reading.clone()))), ..self }
    }

    /// Returns the messaging this inbox reads, if it is another than GIOP.
    #[inline]
    pub fn messaging(&self) -> Option<&'static dyn Messaging> {
        self.other.as_ref().map(|other| other.reading.messaging())
    }

    /// Returns how to understand the announced message once it was [taken](Self::take) or copied, for
    /// [`Frame::parse_in`]. `None`: it is GIOP's.
    #[inline]
    pub fn context(&self) -> Option<&Arc<FrameContext>> {
        self.other.as_ref().map(|other| &other.announced)
    }

    /// The memory that octets are read into, which may be another than it began with; what is in it means nothing any
    /// more.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Returns the buffer to append octets to, and how many at most; that much capacity is there.
    ///
    /// Offers all the buffer has, at least 4 KiB, when nothing is known about the next message: so a small message needs
    /// one read, and one of up to 256 KiB as well as soon as one of its size has come before. (One read of a whole message
    /// also keeps Linux from answering it with a storm of small acknowledgements.) Once the header of a large message is
    /// known, offers no more than the rest, so that it ends where the octets end and can be [taken](Self::take) without a
    /// copy. Never offers more than 256 KiB.
    #[inline]
    pub fn room(&mut self) -> (&mut Vec<u8>, usize) {
        let usable = self.usable();
        // Between two messages of usual size: all the buffer has.
        if self.buffer.len() == self.front
            && self.awaited == 0
            && usable >= self.habit.max(SMALLEST_OFFER)
        {
            return (&mut self.buffer, usable.min(AT_ONCE));
        }
        self.room_any()
    }

    /// Does what [`room`](Self::room) does, in the middle of messages, too.
    #[inline(never)]
    fn room_any(&mut self) -> (&mut Vec<u8>, usize) {
        self.compact();
        let have = self.buffer.len() - self.start;
        // What the buffer has to have beyond an offer, for the first message to begin where it should.
        let beyond = Self::MARGIN - self.front;
        let offer = if self.awaited > READ_AHEAD.max(have) {
            // As much again as has arrived, or 1 MiB: what is only announced must not cost memory.
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

    /// Drops the message announced before; announces the next one if all of it is there.
    ///
    /// Costs about ten nanoseconds for a message that is not fragmented. Fragments are joined by copying; a
    /// CancelRequest drops the incomplete message it names and is announced as well.
    ///
    /// # Errors
    /// A [`Violation`] as soon as the octets show it, for instance by the header of a message that is too large. It
    /// stays the same when asked again.
    // Twice in each message, and what it gives is large: in place nothing of that is moved.
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

    /// Announces like [`poll`](Self::poll), messages of all kinds, and those that are not there
    /// yet.
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

    /// Announces like [`poll`](Self::poll), the usual messages of other protocols than GIOP. `None`
    /// says nothing.
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

    /// Announces like [`poll_other`](Self::poll_other), messages of all kinds, and those that are
    /// not there yet.
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

    /// Drops the message announced before, and looks at the next one without announcing it: its header, if all of it
    /// (of one in fragments: the next fragment) is there, or if it cannot be a message, which `poll` then says.
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

    /// Returns the whole message that [`peek`](Self::peek) sees, where it is there and can be one.
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
                // What is wrong with it is reported by `poll`.
                other.arrived(header, bytes).ok()?;
                Some(&other.announced)
            }
            None => None,
        };
        Some(Frame { header, bytes, context, gap: None })
    }

    /// The message announced by the last [`poll`](Self::poll).
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

    /// Moves the announced message out, where it lies in its memory; [`Frame::parse`] looks at it again. Copies nothing when the message alone fills the buffer,
    /// as large ones do, or came in fragments.
    ///
    /// # Panics
    /// When the last [`poll`](Self::poll) announced none, or it was taken before.
    pub fn take(&mut self) -> Taken {
        match core::mem::replace(&mut self.announced, Announced::Nothing) {
            Announced::InBuffer(header) if self.holds_only(header) => {
                self.remember_capacity();
                self.cancels.clear();
                // No more of it is waited for; nobody may poll before the next read.
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

    /// Whether a message alone fills the buffer.
    fn holds_only(&self, header: Header) -> bool {
        self.start == self.front && self.buffer.len() == self.front + header.total()
    }

    /// Moves the announced message to `to`, which announces nothing else, and continues with what follows: for two threads,
    /// of which one looks at the message while the other reads. What `to` held is lost, its memory used again. Copies the
    /// message, unless it alone fills the buffer or came in fragments; never what follows it.
    ///
    /// # Panics
    /// When the last [`poll`](Self::poll) announced none, or it was taken before.
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

    /// Whether octets of a message that was not announced yet are waiting: if the connection ends now, the peer broke
    /// off in the middle.
    #[inline]
    pub fn mid_message(&self) -> bool {
        let announced = match self.announced {
            Announced::InBuffer(header) => header.total(),
            Announced::Lent(header) => self.held(header),
            _ => 0,
        };
        self.buffer.len() > self.start + announced || !self.partials.is_empty()
    }

    /// Size of the next message, once its header is there and while the rest is not; otherwise 0. Of a message in
    /// fragments that is the size of the next fragment.
    pub fn awaited(&self) -> usize {
        self.awaited
    }

    /// Whether a CancelRequest for request `id` has arrived behind the announced message. Looks at whole messages
    /// only, at each once for all requests before it; costs a comparison when nothing has arrived.
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

    /// Octets of memory held, whether used or spare.
    pub fn memory(&self) -> usize {
        self.buffer.capacity()
            + self.joined.capacity()
            + self.partials.memory()
            + self.cancels.memory()
            + self.other.as_ref().map_or(0, |other| other.memory())
            + self.memory_of_gap()
    }

    /// Capacity of the buffers that stay between messages.
    #[inline]
    pub fn spare(&self) -> usize {
        self.usable() + self.joined.capacity() + self.memory_of_gap()
    }

    /// Octets of the buffer that messages may take.
    #[inline]
    fn usable(&self) -> usize {
        self.buffer.capacity().saturating_sub(Self::MARGIN)
    }

    /// Gives memory back that is spare, and keeps up to so many octets, as well as what has arrived.
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
        // Read in place: all of it is more than what is needed.
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

    /// The buffer is about to be given away: the next one is to be as large.
    fn remember_capacity(&mut self) {
        let most = self.limits.kept_capacity.max(READ_AHEAD);
        self.habit = self.usable().clamp(READ_AHEAD, most);
    }

    /// Moves past a whole message.
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

    /// Gives memory back but for so many octets of messages, and for what is there.
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

    /// Moves what is left to the front of the buffer, unless an announced message is still looked at there.
    fn compact(&mut self) {
        let gone = self.start - self.front;
        if gone != 0 && !self.is_looked_at() {
            self.buffer.copy_within(self.start.., self.front);
            self.buffer.truncate(self.buffer.len() - gone);
            self.cancels.shift(gone);
            self.start = self.front;
        }
    }

    /// Whether an announced message lies in the buffer.
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

/// Reads the header at the start of these octets, once enough of them are there.
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

/// Octets asked for when nothing is known about the next message.
const READ_AHEAD: usize = 8 << 10;
/// Room below which the buffer grows.
const SMALLEST_OFFER: usize = 4 << 10;
/// Octets a large buffer has more than its first message needs, so that one slightly larger is read at once too.
const SLACK: usize = 4 << 10;
/// Octets that one read is offered, at most: more at a time only lets the kernel's buffers jump between two sizes.
const AT_ONCE: usize = 256 << 10;
/// Octets reserved ahead for a large message of which less has arrived.
const STEP: usize = 1 << 20;

#[cold]
fn no_message() -> ! {
    panic!("Inbox::frame and Inbox::take need a message announced by Inbox::poll")
}
