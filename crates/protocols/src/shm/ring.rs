//! Ring of octets with a single writer and a single reader: a direction of a connection.
//!
//! Large payloads lie in blocks next to the ring. For such a splice the ring contains one octet
//! without meaning at the payload's position in the stream.
//!
//! Each end keeps its own position in private memory and publishes it; about the other end's
//! position it only trusts that the octets in between lie within the ring, after checking it. The
//! way in which an end waits is in a word of its own, so that the other end makes a system call
//! only for a sleeping thread.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

#[cfg(all(test, loom))]
use loom::sync::atomic::{Ordering, fence};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{Ordering, fence};

use crate::shm::blocks::{Block, SLOTS};
use crate::shm::segment::Segment;
use crate::shm::splices::{Leaving, Splice, Splices};

/// Distance in words between parts of the header that different processes write: two cache lines,
/// because processors fetch them in pairs.
const LINE: usize = if cfg!(all(test, loom)) { 1 } else { 32 };

/// First word of the descriptors of splices.
const PLACES: usize = 12 * LINE;

/// First word of the returns of blocks: in separate cache lines.
const GIVEN_BACK: usize = PLACES + 2 * SLOTS * PLACE;

/// Number of words of the descriptor of a splice.
const PLACE: usize = 4;

/// Number of words of the header in use.
pub(crate) const WORDS: usize = GIVEN_BACK + if LINE > SLOTS { 2 * LINE } else { 2 * SLOTS };

/// State of a word whose owner does not wait.
pub(crate) const AWAKE: u32 = 0;
/// State of a word whose owner sleeps on it.
pub(crate) const ASLEEP: u32 = 1;
/// State of a word whose owner's input is awaited at a descriptor.
pub(crate) const WATCHED: u32 = 2;

/// Direction of a ring, which determines the positions of its words and octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    ToServer,
    ToClient,
}

impl Direction {
    fn words(self) -> usize {
        self as usize * 4 * LINE
    }

    /// Returns the index of the word with the total number of octets written.
    fn tail(self) -> usize {
        self.words()
    }

    /// Returns the index of the word with the total number of octets read.
    fn head(self) -> usize {
        self.words() + LINE
    }

    /// Returns the index of the word with the reader's way of waiting.
    pub(crate) fn reader(self) -> usize {
        self.words() + 2 * LINE
    }

    /// Returns the index of the word with the writer's way of waiting.
    pub(crate) fn writer(self) -> usize {
        self.words() + 3 * LINE
    }

    /// Returns the index of the word with the flags of the directions that the reader's process has
    /// ended: see [`Link::close`](oxorb_transport::Link::close).
    pub(crate) fn ended_by_reader(self) -> usize {
        (8 + self as usize) * LINE
    }

    /// Returns the index of the word with the total number of splices written: in the cache line of
    /// the tail, which the reader accesses anyway.
    pub(crate) fn splices(self) -> usize {
        match LINE {
            1 => 10 + self as usize,
            _ => self.tail() + 1,
        }
    }

    /// Returns the first word of the descriptor of the splice with this number.
    pub(crate) fn splice(self, number: u32) -> usize {
        let index = number as usize & (SLOTS - 1);
        PLACES + (self as usize * SLOTS + index) * PLACE
    }

    /// Returns the index of the word into which the reader writes the ticket of a block to return
    /// it.
    pub(crate) fn given_back(self, slot: usize) -> usize {
        GIVEN_BACK + self as usize * LINE.max(SLOTS) + slot
    }

    /// Returns the position of the ring.
    pub(crate) fn in_ring(self, segment: &Segment) -> usize {
        self as usize * segment.ring() as usize
    }

    /// Returns the total number of octets written if all of them were read. For the writing end:
    /// the other one could lie.
    pub(crate) fn all_read(self, segment: &Segment) -> Option<u32> {
        let tail = segment.word(self.tail()).load(Ordering::Acquire);
        let head = segment.word(self.head()).load(Ordering::Acquire);
        (tail == head).then_some(tail)
    }

    /// Returns the position of an octet of the blocks, or of the rooms that follow them.
    #[inline]
    pub(crate) fn in_blocks(self, segment: &Segment, octet: u32) -> usize {
        let (rings, blocks) = (2 * segment.ring() as usize, segment.blocks() as usize);
        let octet = octet as usize;
        match octet < blocks {
            true => rings + self as usize * blocks + octet,
            // Rooms follow the blocks of both directions, and `octet` includes those of one direction.
            false => rings + blocks + octet,
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }

    /// Returns the position of the octet with this number, and the number of octets from there to
    /// the end of the ring.
    #[inline]
    fn place(self, segment: &Segment, number: u32) -> (usize, usize) {
        let at = number & (segment.ring() - 1);
        let first = self as usize * segment.ring() as usize;
        (first + at as usize, (segment.ring() - at) as usize)
    }
}

/// Returns the error for a peer that writes invalid values.
pub(crate) fn broken() -> io::Error {
    let text = "the peer wrote invalid data into the shared memory of the connection";
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Reading end. For one thread at a time.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) at: Direction,
    /// Number of octets read; the copy in the segment is for the peer.
    head: AtomicU32,
    splices: Splices,
}

impl Reader {
    pub(crate) fn new(at: Direction) -> Self {
        Self { at, head: AtomicU32::new(0), splices: Splices::default() }
    }

    /// Returns the number of octets that wait to be read, at least approximately; 0 only if there
    /// are none. A splice that was not begun counts as one octet.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] for an impossible number.
    #[inline]
    pub(crate) fn waiting(&self, segment: &Segment) -> io::Result<u32> {
        let in_ring = self.in_ring(segment)?;
        Ok(match self.splices.are_open() {
            true => self.splices.waiting(in_ring),
            false => in_ring,
        })
    }

    /// Returns the number of octets that wait in the ring.
    #[inline]
    fn in_ring(&self, segment: &Segment) -> io::Result<u32> {
        let tail = segment.word(self.at.tail()).load(Ordering::Acquire);
        let waiting = tail.wrapping_sub(self.head.load(Relaxed));
        match waiting <= segment.ring() {
            true => Ok(waiting),
            false => Err(broken()),
        }
    }

    /// Appends waiting octets to `buffer`, at most `max`, and returns their number. Wakes a
    /// sleeping writer if there is space again.
    ///
    /// # Errors
    /// Those of [`waiting`](Self::waiting).
    #[inline]
    pub(crate) fn take(
        &self,
        segment: &Segment,
        buffer: &mut Vec<u8>,
        max: usize,
    ) -> io::Result<usize> {
        self.take_any(segment, buffer, max, false)
    }

    /// Takes octets as [`take`](Self::take) does, but stops before the first block, unless it is
    /// next.
    #[inline]
    pub(crate) fn take_before(
        &self,
        segment: &Segment,
        buffer: &mut Vec<u8>,
        max: usize,
    ) -> io::Result<usize> {
        self.take_any(segment, buffer, max, true)
    }

    #[inline]
    fn take_any(
        &self,
        segment: &Segment,
        buffer: &mut Vec<u8>,
        max: usize,
        before: bool,
    ) -> io::Result<usize> {
        if self.splices.are_open() {
            return self.take_spliced(segment, buffer, max, before);
        }
        let waiting = self.in_ring(segment)?;
        let octets = (waiting as usize).min(max);
        if octets == 0 {
            return Ok(0);
        }
        if self.splices.are_new(segment, self.at) {
            return self.take_spliced(segment, buffer, max, before);
        }
        self.copy(segment, buffer, octets);
        self.pass(segment, octets as u32, waiting);
        Ok(octets)
    }

    /// Copies octets out of the ring.
    #[inline]
    fn copy(&self, segment: &Segment, buffer: &mut Vec<u8>, octets: usize) {
        let (at, to_the_end) = self.at.place(segment, self.head.load(Relaxed));
        buffer.reserve(octets);
        segment.copy_out(at, buffer, octets.min(to_the_end));
        if octets > to_the_end {
            let (start, _) = self.at.place(segment, 0);
            segment.copy_out(start, buffer, octets - to_the_end);
        }
    }

    /// Records that octets of the ring were read, out of those waiting there.
    #[inline]
    fn pass(&self, segment: &Segment, octets: u32, waiting: u32) {
        let head = self.head.load(Relaxed).wrapping_add(octets);
        self.head.store(head, Relaxed);
        segment.word(self.at.head()).store(head, Ordering::Release);
        fence(Ordering::SeqCst);
        let left = waiting - octets;
        if left <= segment.ring() / 2
            && segment.word(self.at.writer()).load(Relaxed) == ASLEEP
            && segment.post(self.at.writer(), AWAKE) == ASLEEP
        {
            segment.wake(self.at.writer());
        }
    }

    /// Takes octets as [`take`](Self::take) does, if octets of blocks belong between those of the
    /// ring.
    #[inline(never)]
    fn take_spliced(
        &self,
        segment: &Segment,
        buffer: &mut Vec<u8>,
        max: usize,
        stops: bool,
    ) -> io::Result<usize> {
        self.splices.is_read();
        let mut left = max;
        while left > 0 {
            let count = self.splices.take(segment, self.at, buffer, left);
            left -= count;
            if count > 0 {
                continue;
            }
            if self.splices.are_open() {
                match self.in_ring(segment)? {
                    0 => break,
                    waiting => self.pass(segment, 1, waiting),
                }
                self.splices.go_on();
                continue;
            }
            let (waiting, before) = self.before_splice(segment)?;
            if before == 0 {
                if stops && left < max {
                    break;
                }
                match self.open(segment, waiting)? {
                    Some(splice) => self.splices.enter(segment, splice),
                    None => break,
                }
            } else {
                let octets = (before as usize).min(left);
                self.copy(segment, buffer, octets);
                self.pass(segment, octets as u32, waiting);
                left -= octets;
            }
        }
        if self.splices.left() > 0 {
            // As in `pass`, a fence precedes the check whether another thread waits at the descriptor.
            fence(Ordering::SeqCst);
        }
        Ok(max - left)
    }

    /// Returns the number of octets that wait in the ring, and of those before the next splice.
    fn before_splice(&self, segment: &Segment) -> io::Result<(u32, u32)> {
        let waiting = self.in_ring(segment)?;
        let Some(position) = self.splices.next(segment, self.at) else {
            return Ok((waiting, waiting));
        };
        // A splice that is written and not yet published may lie beyond the waiting octets, hence the minimum.
        let distance = position.wrapping_sub(self.head.load(Relaxed));
        match distance <= segment.ring() {
            true => Ok((waiting, distance.min(waiting))),
            false => Err(broken()),
        }
    }

    /// Passes the octet that stands for a splice, if it is the next waiting octet.
    fn open(&self, segment: &Segment, waiting: u32) -> io::Result<Option<Splice>> {
        if waiting == 0 {
            return Ok(None);
        }
        let splice = self.splices.open(segment, self.at)?;
        self.pass(segment, 1, waiting);
        Ok(Some(splice))
    }

    /// Returns the next splice of the stream if none of it was read and it has at most `max`
    /// octets; the caller must [return](crate::shm::splices::give_back) it.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] while the writer is still filling it; those of
    /// [`waiting`](Self::waiting).
    pub(crate) fn lease(&self, segment: &Segment, max: u32) -> io::Result<Option<Splice>> {
        if !self.splices.are_open() {
            let (waiting, before) = self.before_splice(segment)?;
            if before > 0 {
                return Ok(None);
            }
            match self.open(segment, waiting)? {
                Some(splice) => {
                    // The processor fetches the payload while the caller parses the message.
                    segment.prefetch(self.at.in_blocks(segment, splice.first));
                    self.splices.enter(segment, splice);
                }
                None => return Ok(None),
            }
        }
        let waiting = self.in_ring(segment)?;
        match self.splices.leave(max, waiting) {
            Leaving::Now(splice, octets) => {
                if octets > 0 {
                    self.pass(segment, octets, waiting);
                }
                Ok(Some(splice))
            }
            Leaving::Later => Err(io::ErrorKind::WouldBlock.into()),
            Leaving::Never => Ok(None),
        }
    }

    /// Sleeps until octets wait, or this end is woken; at most `limit`. `over` reports that
    /// sleeping is pointless. May return early.
    ///
    /// # Errors
    /// Those of [`waiting`](Self::waiting).
    pub(crate) fn sleep(
        &self,
        segment: &Segment,
        limit: Duration,
        over: impl FnOnce() -> bool,
    ) -> io::Result<()> {
        segment.post(self.at.reader(), ASLEEP);
        if self.waiting(segment)? == 0 && !over() {
            segment.sleep(self.at.reader(), ASLEEP, limit);
        }
        segment.post(self.at.reader(), AWAKE);
        Ok(())
    }
}

/// State of the reader when octets were published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Told {
    /// The reader is awake.
    Looks,
    /// The reader was woken.
    Woken,
    /// The reader was about to sleep, and checks again; or it is dead.
    Missed,
    /// A thread waits at the reader's descriptor.
    Watched,
}

/// Writing end. For one thread at a time.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) at: Direction,
    /// Number of octets written, published or not.
    tail: AtomicU32,
    /// Number of octets written before the last write.
    last: AtomicU32,
    /// Number of octets that the peer had read at this end's last check.
    head: AtomicU32,
    /// Number of splices written.
    splices: AtomicU32,
    /// Whether the peer has read anything: detected when checking for space, before the numbers
    /// wrap around.
    heard: AtomicBool,
}

impl Writer {
    pub(crate) fn new(at: Direction) -> Self {
        Self {
            at,
            tail: AtomicU32::new(0),
            last: AtomicU32::new(0),
            head: AtomicU32::new(0),
            splices: AtomicU32::new(0),
            heard: AtomicBool::new(false),
        }
    }

    /// Returns the free space in octets; checks how much the peer has read only if less than
    /// `wanted` was known to be free.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the peer claims to have read octets not written.
    #[inline]
    pub(crate) fn room(&self, segment: &Segment, wanted: u32) -> io::Result<u32> {
        let tail = self.tail.load(Relaxed);
        let room = segment.ring() - tail.wrapping_sub(self.head.load(Relaxed));
        if room >= wanted {
            return Ok(room);
        }
        let head = segment.word(self.at.head()).load(Ordering::Acquire);
        let used = tail.wrapping_sub(head);
        if used > segment.ring() {
            return Err(broken());
        }
        self.head.store(head, Relaxed);
        if head != 0 {
            self.heard.store(true, Relaxed);
        }
        Ok(segment.ring() - used)
    }

    /// Writes octets to the ring, which must have space for them. The reader sees them once they are
    /// [published](Self::publish).
    #[inline]
    pub(crate) fn put(&self, segment: &Segment, octets: &[u8]) {
        let tail = self.tail.load(Relaxed);
        let (at, to_the_end) = self.at.place(segment, tail);
        let (first, second) = octets.split_at(octets.len().min(to_the_end));
        segment.copy_in(at, first);
        if !second.is_empty() {
            let (start, _) = self.at.place(segment, 0);
            segment.copy_in(start, second);
        }
        let tail = tail.wrapping_add(octets.len() as u32);
        self.tail.store(tail, Relaxed);
    }

    /// Writes a block whose first piece is filled to the ring, which must have space for one octet. As with
    /// [`put`](Self::put), the reader sees it once it is published.
    pub(crate) fn splice(&self, segment: &Segment, block: Block, ticket: u32) {
        let tail = self.tail.load(Relaxed);
        let number = self.splices.load(Relaxed);
        let first = self.at.splice(number);
        // The descriptor is free, because there are as many descriptors as blocks in use, and the reader processes
        // splices in order.
        for (word, value) in [tail, block.first, block.octets, ticket].into_iter().enumerate() {
            segment.word(first + word).store(value, Relaxed);
        }
        let number = number.wrapping_add(1);
        self.splices.store(number, Relaxed);
        segment.word(self.at.splices()).store(number, Ordering::Release);
        self.tail.store(tail.wrapping_add(1), Relaxed);
    }

    /// Prefetches the words and octets written when the next block is sent, while its payload is
    /// produced.
    pub(crate) fn prepare(&self, segment: &Segment) {
        segment.fetch_word(self.at.splice(self.splices.load(Relaxed)));
        segment.fetch(self.at.place(segment, self.tail()).0);
    }

    /// Writes the next piece of the last block to the ring, which must have space for one octet.
    pub(crate) fn show_more(&self) {
        self.tail.store(self.tail().wrapping_add(1), Relaxed);
    }

    /// Returns the total number of octets put in.
    #[inline]
    pub(crate) fn tail(&self) -> u32 {
        self.tail.load(Relaxed)
    }

    /// Reports whether the reader has taken nothing from the octet with this number on, as far as
    /// it reports.
    pub(crate) fn is_unread(&self, segment: &Segment, from: u32) -> bool {
        let head = segment.word(self.at.head()).load(Ordering::Acquire);
        head.wrapping_sub(from).cast_signed() <= 0
    }

    /// Records the beginning of a write.
    #[inline]
    pub(crate) fn begin(&self) {
        self.last.store(self.tail(), Relaxed);
    }

    /// Reports whether the reader has taken nothing of the last write, as far as it reports.
    pub(crate) fn left_last(&self, segment: &Segment) -> bool {
        self.tail() != self.last.load(Relaxed) && self.is_unread(segment, self.last.load(Relaxed))
    }

    /// Reports whether the reader has taken nothing since the connection began, as far as it
    /// reports.
    pub(crate) fn is_unheard(&self, segment: &Segment) -> bool {
        let head = segment.word(self.at.head()).load(Ordering::Acquire);
        head == 0 && !self.heard.load(Relaxed)
    }

    /// Publishes all octets put in without waking a sleeping reader. To be followed by
    /// [`publish`](Self::publish).
    pub(crate) fn publish_quietly(&self, segment: &Segment) {
        let tail = segment.word(self.at.tail());
        tail.store(self.tail(), Ordering::Release);
    }

    /// Publishes all octets put in, and wakes the reader if it sleeps.
    #[inline]
    pub(crate) fn publish(&self, segment: &Segment) -> Told {
        let tail = self.tail.load(Relaxed);
        segment.word(self.at.tail()).store(tail, Ordering::Release);
        fence(Ordering::SeqCst);
        if segment.word(self.at.reader()).load(Relaxed) == AWAKE {
            return Told::Looks;
        }
        match segment.post(self.at.reader(), AWAKE) {
            ASLEEP if segment.wake(self.at.reader()) => Told::Woken,
            ASLEEP => Told::Missed,
            WATCHED => Told::Watched,
            _ => Told::Looks,
        }
    }

    /// Sleeps until there is space for `wanted` octets, at most half a ring, or this end is woken;
    /// at most `limit`. `over` reports that sleeping is pointless. May return early.
    ///
    /// # Errors
    /// Those of [`room`](Self::room).
    pub(crate) fn sleep(
        &self,
        segment: &Segment,
        wanted: u32,
        limit: Duration,
        over: impl FnOnce() -> bool,
    ) -> io::Result<()> {
        segment.post(self.at.writer(), ASLEEP);
        if self.room(segment, wanted)? < wanted && !over() {
            segment.sleep(self.at.writer(), ASLEEP, limit);
        }
        segment.post(self.at.writer(), AWAKE);
        Ok(())
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::thread;

    use super::*;
    use crate::shm::MIN_RING;

    fn ends() -> (Segment, Writer, Reader) {
        let at = Direction::ToClient;
        let segment = Segment::private(MIN_RING, 0).unwrap();
        (segment, Writer::new(at), Reader::new(at))
    }

    const SHORT: Duration = Duration::from_millis(1);

    /// Octets from another thread arrive once and in order, also across the end of the ring. The test
    /// runs under Miri, too.
    #[test]
    fn octets_arrive_in_order() {
        let (segment, writer, reader) = ends();
        let total: u32 = if cfg!(miri) { 9000 } else { 3_000_000 };
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut sent = 0_u32;
                while sent < total {
                    let wanted = 1 + sent % 700;
                    let octets: Vec<u8> =
                        (sent..sent + wanted).map(|n| (n ^ n >> 8) as u8).collect();
                    while writer.room(&segment, wanted).unwrap() < wanted {
                        writer.sleep(&segment, wanted, SHORT, || false).unwrap();
                    }
                    writer.put(&segment, &octets);
                    assert_ne!(writer.publish(&segment), Told::Watched);
                    sent += wanted;
                }
            });
            let (mut got, mut buffer) = (0_u32, Vec::new());
            while got < total {
                buffer.clear();
                match reader.take(&segment, &mut buffer, 1000).unwrap() {
                    0 => reader.sleep(&segment, SHORT, || false).unwrap(),
                    _ => {
                        for octet in &buffer {
                            assert_eq!(*octet, (got ^ got >> 8) as u8);
                            got += 1;
                        }
                    }
                }
            }
        });
    }

    /// A peer that writes into any word at any time causes an error and nothing else.
    #[test]
    fn a_peer_that_scribbles_is_found_out_or_gives_some_octets() {
        let (segment, writer, reader) = ends();
        let rounds = if cfg!(miri) { 40 } else { 20_000 };
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..rounds {
                    for line in 0..10 {
                        let value = match round % 4 {
                            0 => round,
                            1 => u32::MAX - round,
                            2 => MIN_RING * round,
                            _ => MIN_RING,
                        };
                        segment.word(line * LINE).store(value, Relaxed);
                    }
                    segment.copy_in(round as usize % 1000, &[7; 99]);
                }
            });
            let mut buffer = Vec::new();
            for _ in 0..rounds {
                buffer.clear();
                if let Ok(octets) = reader.take(&segment, &mut buffer, 500) {
                    assert_eq!(octets, buffer.len());
                    assert!(octets <= 500);
                }
                if let Ok(room) = writer.room(&segment, 100) {
                    assert!(room <= MIN_RING);
                    writer.put(&segment, &[1; 100][..room.min(100) as usize]);
                    let _ = writer.publish(&segment);
                }
                let _ = reader.sleep(&segment, Duration::from_nanos(1), || false);
            }
        });
    }

    #[test]
    fn indices_that_cannot_be_are_refused() {
        let (segment, writer, reader) = ends();
        let mut buffer = Vec::new();
        for (tail, allowed) in [(MIN_RING, true), (MIN_RING + 1, false), (u32::MAX, false)] {
            segment.word(reader.at.tail()).store(tail, Relaxed);
            assert_eq!(reader.waiting(&segment).is_ok(), allowed, "{tail}");
            assert_eq!(reader.take(&segment, &mut buffer, 0).is_ok(), allowed, "{tail}");
        }
        writer.put(&segment, &[0; 10]);
        for (head, allowed) in [(11, false), (u32::MAX - MIN_RING, false), (10, true)] {
            segment.word(writer.at.head()).store(head, Relaxed);
            assert_eq!(writer.room(&segment, MIN_RING).is_ok(), allowed, "{head}");
        }
    }

    #[test]
    fn counters_pass_their_end() {
        let (segment, writer, reader) = ends();
        let almost = u32::MAX - 5;
        for own in [&writer.tail, &writer.head, &reader.head] {
            own.store(almost, Relaxed);
        }
        for shared in [reader.at.tail(), reader.at.head()] {
            segment.word(shared).store(almost, Relaxed);
        }
        let mut buffer = Vec::new();
        for _ in 0..3 {
            assert_eq!(writer.room(&segment, MIN_RING).unwrap(), MIN_RING);
            writer.put(&segment, b"some octets");
            assert_eq!(writer.publish(&segment), Told::Looks);
            assert_eq!(reader.take(&segment, &mut buffer, 99).unwrap(), 11);
        }
        assert_eq!(buffer, b"some octets".repeat(3));
    }
}

/// Models in which loom tries every interleaving of two threads, with every value that the memory model lets a load
/// see.
#[cfg(all(test, loom))]
mod model {
    use loom::sync::atomic::AtomicBool;
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;

    use super::*;

    const FOREVER: Duration = Duration::MAX;

    /// Maximum number of preemptions of one execution: with more, a model takes minutes and finds
    /// nothing else.
    const PREEMPTIONS: usize = 3;

    fn explore(model: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound.get_or_insert(PREEMPTIONS);
        builder.check(model);
    }

    struct Both {
        segment: Segment,
        writer: Writer,
        reader: Reader,
        over: AtomicBool,
        /// Number of octets over the socket not yet consumed.
        bell: Mutex<u32>,
        rung: Condvar,
    }

    fn both(ring: u32) -> Arc<Both> {
        let at = Direction::ToServer;
        Arc::new(Both {
            segment: Segment::private(ring, 0).unwrap(),
            writer: Writer::new(at),
            reader: Reader::new(at),
            over: AtomicBool::new(false),
            bell: Mutex::new(0),
            rung: Condvar::new(),
        })
    }

    /// Writes messages one at a time, as a link does.
    fn write(both: &Both, messages: &[&[u8]]) {
        for message in messages {
            let wanted = message.len() as u32;
            while both.writer.room(&both.segment, wanted).unwrap() < wanted {
                both.writer.sleep(&both.segment, wanted, FOREVER, || false).unwrap();
            }
            both.writer.put(&both.segment, message);
            if both.writer.publish(&both.segment) == Told::Watched {
                *both.bell.lock().unwrap() += 1;
                both.rung.notify_all();
            }
        }
    }

    /// A lost wake-up is a deadlock, which loom reports; a torn message is not equal.
    #[test]
    fn no_wake_up_is_lost_and_no_message_is_torn() {
        explore(|| {
            let ends = both(2);
            let other = Arc::clone(&ends);
            let writer = thread::spawn(move || write(&other, &[b"a", b"b", b"c"]));
            let mut buffer = Vec::new();
            while buffer.len() < 3 {
                if ends.reader.take(&ends.segment, &mut buffer, 2).unwrap() == 0 {
                    ends.reader.sleep(&ends.segment, FOREVER, || false).unwrap();
                }
            }
            assert_eq!(buffer, b"abc");
            writer.join().unwrap();
        });
    }

    /// If a thread arms a descriptor before it waits there, the writer wakes it.
    #[test]
    fn a_descriptor_that_is_armed_is_rung() {
        explore(|| {
            let ends = both(4);
            let other = Arc::clone(&ends);
            let writer = thread::spawn(move || write(&other, &[b"ab", b"cd"]));
            let mut buffer = Vec::new();
            while buffer.len() < 4 {
                if ends.reader.take(&ends.segment, &mut buffer, 4).unwrap() > 0 {
                    continue;
                }
                ends.segment.post(ends.reader.at.reader(), WATCHED);
                if ends.reader.waiting(&ends.segment).unwrap() == 0 {
                    let mut bell = ends.bell.lock().unwrap();
                    while *bell == 0 {
                        bell = ends.rung.wait(bell).unwrap();
                    }
                    *bell = 0;
                }
                ends.segment.post(ends.reader.at.reader(), AWAKE);
                *ends.bell.lock().unwrap() = 0;
            }
            assert_eq!(buffer, b"abcd");
            writer.join().unwrap();
        });
    }

    /// The end, set by another thread of this process or by the peer, wakes a sleeper, and octets
    /// written before it are read first.
    #[test]
    fn the_end_wakes_and_comes_last() {
        explore(|| {
            let ends = both(4);
            let other = Arc::clone(&ends);
            let writer = thread::spawn(move || {
                write(&other, &[b"x"]);
                other.over.store(true, Ordering::Release);
                let word = other.reader.at.reader();
                if other.segment.post(word, AWAKE) == ASLEEP {
                    other.segment.wake(word);
                }
            });
            let mut buffer = Vec::new();
            loop {
                let over = ends.over.load(Ordering::Acquire);
                let taken = ends.reader.take(&ends.segment, &mut buffer, 4).unwrap();
                if taken == 0 && over {
                    break;
                }
                if taken == 0 {
                    let over = || ends.over.load(Ordering::Acquire);
                    ends.reader.sleep(&ends.segment, FOREVER, over).unwrap();
                }
            }
            assert_eq!(buffer, b"x");
            writer.join().unwrap();
        });
    }
}
