//! Splices: payloads in blocks next to the ring, as the reader of a direction processes them.

use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use std::sync::atomic::AtomicBool;

#[cfg(all(test, loom))]
use loom::sync::atomic::Ordering;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::Ordering;

use crate::shm::blocks::slot_of;
use crate::shm::ring::{Direction, broken};
use crate::shm::segment::Segment;

/// Size in octets of the part of a block that one octet of the ring announces: the reader copies a
/// piece while the writer fills the next.
pub(crate) const PIECE: u32 = match (cfg!(all(test, loom)), cfg!(test)) {
    (true, _) => 1,
    (false, true) => 64,
    (false, false) => 32 << 10,
};

/// Descriptor of a block whose octets are next in the stream, read once out of the segment and
/// checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    /// Index of the first octet; rooms follow all blocks.
    pub(crate) first: u32,
    pub(crate) octets: u32,
    pub(crate) ticket: u32,
}

/// Returns a block to the writer by its ticket.
pub(crate) fn give_back(segment: &Segment, at: Direction, ticket: u32) {
    let word = at.given_back(slot_of(ticket));
    segment.word(word).store(ticket, Ordering::Release);
}

/// Reader's position among the splices of a direction. For one thread at a time.
#[derive(Debug, Default)]
pub(crate) struct Splices {
    /// Number of splices passed.
    passed: AtomicU32,
    /// Rest of the current splice; none if `left` is 0.
    left: AtomicU32,
    first: AtomicU32,
    ticket: AtomicU32,
    /// Total size of the current splice, in octets.
    octets: AtomicU32,
    /// Number of octets of the current splice that the writer has not published, or this end has not yet checked for.
    behind: AtomicU32,
    /// Whether the current splice is to be lent once complete.
    whole: AtomicBool,
}

/// Result of trying to lease a splice in place.
pub(crate) enum Leaving {
    /// The splice is leased, and with it this number of octets of the ring is passed.
    Now(Splice, u32),
    /// The writer is still filling the splice.
    Later,
    /// The splice exceeds the limit, or was read in part.
    Never,
}

impl Splices {
    /// Returns the unread octets of the published part of the current splice.
    #[inline]
    pub(crate) fn left(&self) -> u32 {
        self.left.load(Relaxed)
    }

    /// Reports whether a splice is being read.
    #[inline]
    pub(crate) fn are_open(&self) -> bool {
        self.left() > 0 || self.behind.load(Relaxed) > 0
    }

    /// Returns the waiting octets, given those in the ring; 0 only if there is nothing to do for
    /// the reader.
    pub(crate) fn waiting(&self, in_ring: u32) -> u32 {
        match (self.left(), self.missing()) {
            (_, missing) if self.whole.load(Relaxed) => u32::from(in_ring >= missing),
            (0, _) => in_ring,
            (left, _) => left,
        }
    }

    /// Returns the number of octets of the ring still to come for the current splice.
    fn missing(&self) -> u32 {
        self.behind.load(Relaxed).div_ceil(PIECE)
    }

    /// Moves to the next piece of the current splice, for which there is an octet of the ring.
    /// Reports whether there is one.
    pub(crate) fn go_on(&self) -> bool {
        let behind = self.behind.load(Relaxed);
        let piece = behind.min(PIECE);
        self.left.store(piece, Relaxed);
        self.behind.store(behind - piece, Relaxed);
        piece > 0
    }

    /// Marks the splice as one to read in pieces, not to lend.
    pub(crate) fn is_read(&self) {
        self.whole.store(false, Relaxed);
    }

    /// Reports whether there is a splice not yet passed. To be called after reading the ring's
    /// tail: a splice before a waiting octet is then visible.
    #[inline]
    pub(crate) fn are_new(&self, segment: &Segment, at: Direction) -> bool {
        segment.word(at.splices()).load(Ordering::Acquire) != self.passed.load(Relaxed)
    }

    /// Returns the position in the ring of the next splice, if there is one.
    pub(crate) fn next(&self, segment: &Segment, at: Direction) -> Option<u32> {
        let position = at.splice(self.passed.load(Relaxed));
        self.are_new(segment, at).then(|| segment.word(position).load(Relaxed))
    }

    /// Reads the descriptor of the next splice, once, and passes it.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] for impossible values.
    pub(crate) fn open(&self, segment: &Segment, at: Direction) -> io::Result<Splice> {
        let passed = self.passed.load(Relaxed);
        let word = |index| segment.word(at.splice(passed) + index).load(Relaxed);
        let splice = Splice { first: word(1), octets: word(2), ticket: word(3) };
        let end = splice.first.checked_add(splice.octets);
        let within =
            |from, octets| splice.first >= from && end.is_some_and(|end| end <= from + octets);
        let (blocks, rooms) = (segment.blocks(), segment.rooms());
        if splice.octets == 0 || !within(0, blocks) && !within(blocks, rooms) {
            return Err(broken());
        }
        self.passed.store(passed.wrapping_add(1), Relaxed);
        Ok(splice)
    }

    /// Begins to read a splice whose first piece was published. Octets in rooms were complete
    /// before the splice was sent.
    pub(crate) fn enter(&self, segment: &Segment, splice: Splice) {
        let shown = match splice.first < segment.blocks() {
            true => splice.octets.min(PIECE),
            false => splice.octets,
        };
        self.first.store(splice.first, Relaxed);
        self.ticket.store(splice.ticket, Relaxed);
        self.octets.store(splice.octets, Relaxed);
        self.left.store(shown, Relaxed);
        self.behind.store(splice.octets - shown, Relaxed);
    }

    /// Removes the current splice if it has at most `max` octets, none of which was read, and the
    /// ring's waiting octets publish all of it.
    pub(crate) fn leave(&self, max: u32, in_ring: u32) -> Leaving {
        let octets = self.octets.load(Relaxed);
        if octets > max || octets != self.left() + self.behind.load(Relaxed) {
            return Leaving::Never;
        }
        let missing = self.missing();
        self.whole.store(missing > in_ring, Relaxed);
        if missing > in_ring {
            return Leaving::Later;
        }
        self.left.store(0, Relaxed);
        self.behind.store(0, Relaxed);
        let splice =
            Splice { first: self.first.load(Relaxed), octets, ticket: self.ticket.load(Relaxed) };
        Leaving::Now(splice, missing)
    }

    /// Appends at most `max` published octets of the current splice to `buffer`, and returns the
    /// block to the writer with its last ones. Returns 0 if there are none.
    pub(crate) fn take(
        &self,
        segment: &Segment,
        at: Direction,
        buffer: &mut Vec<u8>,
        max: usize,
    ) -> usize {
        let (left, first) = (self.left(), self.first.load(Relaxed));
        let octets = (left as usize).min(max);
        if octets == 0 {
            return 0;
        }
        segment.copy_out(at.in_blocks(segment, first), buffer, octets);
        self.first.store(first + octets as u32, Relaxed);
        self.left.store(left - octets as u32, Relaxed);
        if !self.are_open() {
            give_back(segment, at, self.ticket.load(Relaxed));
        }
        octets
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::thread;

    use super::*;
    use crate::shm::MIN_RING;
    use crate::shm::blocks::{Blocks, SLOTS};
    use crate::shm::ring::{Reader, Writer};

    const BLOCKS: u32 = 8 << 10;
    const AT: Direction = Direction::ToServer;

    struct Ends {
        segment: Segment,
        writer: Writer,
        blocks: Blocks,
        reader: Reader,
    }

    fn ends() -> Ends {
        Ends {
            segment: Segment::private(MIN_RING, BLOCKS).unwrap(),
            writer: Writer::new(AT),
            blocks: Blocks::new(AT),
            reader: Reader::new(AT),
        }
    }

    impl Ends {
        /// Sends octets in a block, if one is free.
        fn splice(&self, octets: &[u8]) -> bool {
            let Some(block) = self.blocks.take(&self.segment, octets.len() as u32) else {
                return false;
            };
            let at = AT.in_blocks(&self.segment, block.first);
            self.segment.copy_in(at, octets);
            let ticket = self.blocks.send(block);
            self.writer.splice(&self.segment, block, ticket);
            for _ in 1..block.octets.div_ceil(PIECE) {
                self.writer.show_more();
            }
            true
        }

        fn publish(&self) {
            let _ = self.writer.publish(&self.segment);
        }

        fn read(&self, max: usize) -> Vec<u8> {
            let mut buffer = Vec::new();
            let read = self.reader.take(&self.segment, &mut buffer, max).unwrap();
            assert_eq!(read, buffer.len());
            buffer
        }

        fn leased(&self, splice: Splice) -> Vec<u8> {
            let (at, mut buffer) = (AT.in_blocks(&self.segment, splice.first), Vec::new());
            self.segment.copy_out(at, &mut buffer, splice.octets as usize);
            buffer
        }
    }

    #[test]
    fn a_payload_is_read_where_it_belongs_in_pieces_of_any_size() {
        // There are more splices than slots, so slots are reused. Miri is slow, so it runs only one size.
        let sizes: &[usize] = if cfg!(miri) { &[3] } else { &[1, 2, 3, 5, 8, 100] };
        for &max in sizes {
            let ends = ends();
            let rounds = if cfg!(miri) { 9 } else { 40 };
            for round in 0..rounds {
                ends.writer.put(&ends.segment, b"head");
                assert!(ends.splice(&[round; 9]) && ends.splice(b"two"), "{round}");
                ends.writer.put(&ends.segment, b"end");
                assert_eq!(ends.read(max), b"", "nothing is published");
                ends.publish();
                let mut all = Vec::new();
                while all.len() < 19 {
                    assert_ne!(ends.reader.waiting(&ends.segment).unwrap(), 0);
                    all.extend(ends.read(max));
                }
                assert_eq!(ends.reader.waiting(&ends.segment).unwrap(), 0);
                assert_eq!(all, [b"head", &[round; 9][..], b"twoend"].concat());
            }
        }
    }

    #[test]
    fn a_payload_is_read_while_it_is_written_and_lent_when_it_is_whole() {
        let piece = PIECE as usize;
        let payload: Vec<u8> = (0..2 * piece + 9).map(|octet| octet as u8).collect();
        let pieces: Vec<&[u8]> = payload.chunks(piece).collect();
        for lends in [false, true] {
            let ends = ends();
            let block = ends.blocks.take(&ends.segment, payload.len() as u32);
            let block = block.unwrap();
            let mut at = AT.in_blocks(&ends.segment, block.first);
            let mut read = Vec::new();
            for (number, octets) in pieces.iter().enumerate() {
                ends.segment.copy_in(at, octets);
                at += octets.len();
                match number {
                    0 => ends.writer.splice(&ends.segment, block, ends.blocks.send(block)),
                    _ => ends.writer.show_more(),
                }
                ends.writer.publish_quietly(&ends.segment);
                let waiting = || ends.reader.waiting(&ends.segment).unwrap();
                if !lends {
                    assert_ne!(waiting(), 0);
                    read.extend(ends.read(1000));
                    assert_eq!((read.len(), waiting()), (at - AT.in_blocks(&ends.segment, 0), 0));
                    assert_eq!(ends.reader.lease(&ends.segment, 1000).unwrap(), None);
                    continue;
                }
                let lease = ends.reader.lease(&ends.segment, payload.len() as u32);
                match (number, lease) {
                    (0 | 1, Err(error)) => {
                        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                        assert_eq!(waiting(), 0, "there is nothing to do yet");
                    }
                    (2, Ok(Some(splice))) => {
                        read = ends.leased(splice);
                        give_back(&ends.segment, AT, splice.ticket);
                        assert_eq!(waiting(), 0);
                    }
                    (number, lease) => panic!("{number}: {lease:?}"),
                }
            }
            assert_eq!(read, payload);
            assert!(ends.splice(&[1; 9]), "the block is free again");
            ends.publish();
            assert_eq!(ends.read(99), [1; 9]);
        }
    }

    /// Checks a reader that first waits for a complete payload to lend, and then reads it in pieces.
    #[test]
    fn a_payload_that_never_becomes_whole_is_read_as_far_as_it_came() {
        let ends = ends();
        let block = ends.blocks.take(&ends.segment, PIECE + 1).unwrap();
        ends.segment.copy_in(AT.in_blocks(&ends.segment, 0), &[5; 64]);
        ends.writer.splice(&ends.segment, block, ends.blocks.send(block));
        ends.publish();
        assert!(ends.reader.lease(&ends.segment, PIECE + 1).is_err());
        assert_eq!(ends.read(1000), [5; PIECE as usize]);
        assert_eq!(ends.read(1000), []);
    }

    #[test]
    fn leases_are_given_back_in_any_order_and_the_rest_is_copied() {
        let ends = ends();
        for _ in 0..3 {
            let mut leased = Vec::new();
            for number in 0..SLOTS as u8 {
                ends.writer.put(&ends.segment, &[number]);
                assert!(ends.splice(&[number; 100]));
                ends.publish();
                assert_eq!(ends.reader.lease(&ends.segment, 100).unwrap(), None);
                // The reader of a link that lends payloads stops before the next lendable octets.
                let mut buffer = Vec::new();
                let read = ends.reader.take_before(&ends.segment, &mut buffer, 99);
                assert_eq!((read.unwrap(), buffer), (1, vec![number]));
                assert_eq!(ends.reader.lease(&ends.segment, 99).unwrap(), None);
                let splice = ends.reader.lease(&ends.segment, 100).unwrap().unwrap();
                leased.push((splice, number));
            }
            assert!(!ends.splice(&[0]), "all slots are in use");
            let odd = leased.extract_if(.., |(_, number)| *number % 2 == 1);
            odd.for_each(|(splice, _)| give_back(&ends.segment, AT, splice.ticket));
            assert!(ends.splice(&[77; 100]));
            ends.publish();
            assert_eq!(ends.read(3), [77; 3]);
            let begun = ends.reader.lease(&ends.segment, 100).unwrap();
            assert_eq!(begun, None, "some of it was read");
            assert_eq!(ends.read(1000), [77; 97]);
            for (splice, number) in leased {
                assert_eq!(ends.leased(splice), [number; 100]);
                give_back(&ends.segment, AT, splice.ticket);
            }
        }
    }

    #[test]
    fn blocks_do_not_overlap_and_end_where_the_memory_ends() {
        let ends = ends();
        let take = |octets| ends.blocks.take(&ends.segment, octets);
        assert_eq!((take(0), take(BLOCKS + 1), take(u32::MAX)), (None, None, None));
        let all = take(BLOCKS).unwrap();
        assert_eq!(take(1), None);
        ends.blocks.give_back(all);
        let [first, second, third] = [100, 64, 1].map(|octets| take(octets).unwrap());
        assert_eq!((first.first, second.first, third.first), (0, 128, 192));
        ends.blocks.give_back(second);
        assert_eq!(take(65).unwrap().first, 256);
        assert_eq!(take(64).unwrap().first, 128);
        assert_eq!(take(BLOCKS - 384).unwrap().first, 384);
        assert_eq!(take(1), None);
    }

    #[test]
    fn splices_that_cannot_be_are_refused() {
        for (index, value) in [(1, BLOCKS), (1, u32::MAX), (2, 0), (2, BLOCKS + 1), (2, u32::MAX)] {
            let ends = ends();
            assert!(ends.splice(&[1; 10]));
            ends.publish();
            ends.segment.word(AT.splice(0) + index).store(value, Relaxed);
            let taken = ends.reader.take(&ends.segment, &mut Vec::new(), 99);
            assert!(taken.is_err(), "{index} {value}");
        }
        let ends = ends();
        ends.writer.put(&ends.segment, b"abc");
        assert!(ends.splice(&[1; 10]));
        ends.publish();
        assert_eq!(ends.read(2), b"ab");
        for position in [1, MIN_RING + 3, u32::MAX] {
            ends.segment.word(AT.splice(0)).store(position, Relaxed);
            let taken = ends.reader.take(&ends.segment, &mut Vec::new(), 99);
            assert!(taken.is_err(), "{position}");
        }
    }

    /// Payloads from another thread arrive undamaged. The test runs under Miri, too.
    #[test]
    fn payloads_arrive_whole_while_blocks_are_used_again() {
        let ends = ends();
        let rounds: u32 = if cfg!(miri) { 20 } else { 30_000 };
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..rounds {
                    let octets = [round as u8; 700];
                    let octets = &octets[..1 + round as usize % 700];
                    while ends.writer.room(&ends.segment, 1000).unwrap() < 1000 {
                        thread::yield_now();
                    }
                    if !ends.splice(octets) {
                        ends.writer.put(&ends.segment, octets);
                    }
                    ends.publish();
                }
            });
            let mut kept = std::collections::VecDeque::new();
            for round in 0..rounds {
                let (mut left, value) = (1 + round as usize % 700, round as u8);
                while left > 0 {
                    let leased = match round % 3 {
                        0 => ends.reader.lease(&ends.segment, left as u32).unwrap(),
                        _ => None,
                    };
                    let octets = match leased {
                        Some(splice) => {
                            kept.push_back((splice, value));
                            ends.leased(splice)
                        }
                        None => ends.read(left),
                    };
                    assert!(octets.iter().all(|octet| *octet == value));
                    left -= octets.len();
                    if octets.is_empty() {
                        thread::yield_now();
                    }
                }
                if kept.len() > 3 {
                    let (splice, value) = kept.pop_front().unwrap();
                    assert!(ends.leased(splice).iter().all(|octet| *octet == value));
                    give_back(&ends.segment, AT, splice.ticket);
                }
            }
        });
    }
}

/// Models in which loom tries every interleaving of two threads, with every value that the memory model lets a load
/// see.
#[cfg(all(test, loom))]
mod model {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::shm::blocks::Blocks;
    use crate::shm::ring::{Reader, Writer};

    const AT: Direction = Direction::ToServer;

    /// Payloads in one reused block, or in the ring if it is not free: none is torn, lost or read
    /// before it was written.
    #[test]
    fn a_block_that_was_given_back_is_used_again_and_no_payload_is_torn() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound.get_or_insert(3);
        builder.check(|| {
            let segment = Arc::new(Segment::private(4, 2).unwrap());
            let shared = Arc::clone(&segment);
            let writing = thread::spawn(move || {
                let (writer, blocks) = (Writer::new(AT), Blocks::new(AT));
                for payload in [b"ab", b"cd"] {
                    match blocks.take(&shared, 2) {
                        Some(block) => {
                            let at = AT.in_blocks(&shared, block.first);
                            shared.copy_in(at, &payload[..1]);
                            writer.splice(&shared, block, blocks.send(block));
                            writer.publish_quietly(&shared);
                            shared.copy_in(at + 1, &payload[1..]);
                            writer.show_more();
                        }
                        None => writer.put(&shared, payload),
                    }
                    let _ = writer.publish(&shared);
                }
            });
            let (reader, mut buffer) = (Reader::new(AT), Vec::new());
            while buffer.len() < 4 {
                let leased = match buffer.len() {
                    0 => reader.lease(&segment, 2),
                    _ => Ok(None),
                };
                if let Ok(Some(splice)) = leased {
                    let at = AT.in_blocks(&segment, splice.first);
                    segment.copy_out(at, &mut buffer, splice.octets as usize);
                    give_back(&segment, AT, splice.ticket);
                } else if leased.is_err() || reader.take(&segment, &mut buffer, 4).unwrap() == 0 {
                    thread::yield_now();
                }
            }
            assert_eq!(buffer, b"abcd");
            writing.join().unwrap();
        });
    }
}
