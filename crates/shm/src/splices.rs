//! Payloads in blocks beside the ring, as the reader of a direction comes to them.

use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

#[cfg(all(test, loom))]
use loom::sync::atomic::Ordering;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::Ordering;

use crate::blocks::slot_of;
use crate::ring::{Direction, broken};
use crate::segment::Segment;

/// Octets of a block that belong to the stream next: read once out of the segment, and checked since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    /// The first octet: those of rooms stand behind all others.
    pub(crate) first: u32,
    pub(crate) octets: u32,
    pub(crate) ticket: u32,
}

/// Lets the writer use the block again for which it wrote a ticket.
pub(crate) fn give_back(segment: &Segment, at: Direction, ticket: u32) {
    let word = at.given_back(slot_of(ticket));
    segment.word(word).store(ticket, Ordering::Release);
}

/// The reader's place among the splices of a direction. For one thread at a time.
#[derive(Debug, Default)]
pub(crate) struct Splices {
    /// The number of splices that were come to.
    passed: AtomicU32,
    /// What is left of the one that is being read; none if `left` is 0.
    left: AtomicU32,
    first: AtomicU32,
    ticket: AtomicU32,
    /// The octets of the one that is being read, all of them.
    octets: AtomicU32,
}

impl Splices {
    /// Returns the octets that are left of the splice which is being read, 0 if none is.
    #[inline]
    pub(crate) fn left(&self) -> u32 {
        self.left.load(Relaxed)
    }

    /// Whether there is a splice that was not come to. After a look at the ring: one that stands before what
    /// waits there is seen.
    #[inline]
    pub(crate) fn are_new(&self, segment: &Segment, at: Direction) -> bool {
        segment.word(at.splices()).load(Ordering::Acquire) != self.passed.load(Relaxed)
    }

    /// Returns the position of the next splice, of the octets of the ring, if there is one.
    pub(crate) fn next(&self, segment: &Segment, at: Direction) -> Option<u32> {
        let position = at.splice(self.passed.load(Relaxed));
        self.are_new(segment, at)
            .then(|| segment.word(position).load(Relaxed))
    }

    /// Reads what the writer says of the next splice, once, and passes it.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] when it cannot be.
    pub(crate) fn open(&self, segment: &Segment, at: Direction) -> io::Result<Splice> {
        let passed = self.passed.load(Relaxed);
        let word = |index| segment.word(at.splice(passed) + index).load(Relaxed);
        let splice = Splice {
            first: word(1),
            octets: word(2),
            ticket: word(3),
        };
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

    /// Has a splice be read next.
    pub(crate) fn enter(&self, splice: Splice) {
        self.first.store(splice.first, Relaxed);
        self.ticket.store(splice.ticket, Relaxed);
        self.octets.store(splice.octets, Relaxed);
        self.left.store(splice.octets, Relaxed);
    }

    /// Takes the splice out that is read next, if it has at most `max` octets, none of which was read.
    pub(crate) fn leave(&self, max: u32) -> Option<Splice> {
        let octets = self.left();
        if octets == 0 || octets > max || octets != self.octets.load(Relaxed) {
            return None;
        }
        self.left.store(0, Relaxed);
        Some(Splice {
            first: self.first.load(Relaxed),
            octets,
            ticket: self.ticket.load(Relaxed),
        })
    }

    /// Appends at most `max` octets of the splice that is being read to `buffer`, and gives the block back with the
    /// last. 0: none is being read.
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
        if octets == left as usize {
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
    use crate::MIN_RING;
    use crate::blocks::{Blocks, SLOTS};
    use crate::ring::{Reader, Writer};

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
        /// Puts octets into a block, if one is free.
        fn splice(&self, octets: &[u8]) -> bool {
            let Some(block) = self.blocks.take(&self.segment, octets.len() as u32) else {
                return false;
            };
            let at = AT.in_blocks(&self.segment, block.first);
            self.segment.copy_in(at, octets);
            let ticket = self.blocks.send(block);
            self.writer.splice(&self.segment, block, ticket);
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
            self.segment
                .copy_out(at, &mut buffer, splice.octets as usize);
            buffer
        }
    }

    #[test]
    fn a_payload_is_read_where_it_belongs_in_pieces_of_any_size() {
        // Past the sixteenth splice; under Miri once.
        let sizes: &[usize] = if cfg!(miri) {
            &[3]
        } else {
            &[1, 2, 3, 5, 8, 100]
        };
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
    fn leases_are_given_back_in_any_order_and_the_rest_is_copied() {
        let ends = ends();
        for _ in 0..3 {
            let mut leased = Vec::new();
            for number in 0..SLOTS as u8 {
                ends.writer.put(&ends.segment, &[number]);
                assert!(ends.splice(&[number; 100]));
                ends.publish();
                assert_eq!(ends.reader.lease(&ends.segment, 100).unwrap(), None);
                // A reader that lends stops where there is something to lend.
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
        assert_eq!(
            (take(0), take(BLOCKS + 1), take(u32::MAX)),
            (None, None, None)
        );
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
        for (index, value) in [
            (1, BLOCKS),
            (1, u32::MAX),
            (2, 0),
            (2, BLOCKS + 1),
            (2, u32::MAX),
        ] {
            let ends = ends();
            assert!(ends.splice(&[1; 10]));
            ends.publish();
            ends.segment
                .word(AT.splice(0) + index)
                .store(value, Relaxed);
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

    /// Two threads, as Miri sees them.
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

/// Every interleaving of two threads, with every value that the memory model lets a load see.
#[cfg(all(test, loom))]
mod model {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::blocks::Blocks;
    use crate::ring::{Reader, Writer};

    const AT: Direction = Direction::ToServer;

    /// Payloads in one block, which is used again, or in the ring where it is not free: nothing is torn, lost or read
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
                            shared.copy_in(AT.in_blocks(&shared, block.first), payload);
                            writer.splice(&shared, block, blocks.send(block));
                        }
                        None => writer.put(&shared, payload),
                    }
                    let _ = writer.publish(&shared);
                }
            });
            let (reader, mut buffer) = (Reader::new(AT), Vec::new());
            while buffer.len() < 4 {
                let leased = match buffer.len() {
                    0 => reader.lease(&segment, 2).unwrap(),
                    _ => None,
                };
                if let Some(splice) = leased {
                    let at = AT.in_blocks(&segment, splice.first);
                    segment.copy_out(at, &mut buffer, splice.octets as usize);
                    give_back(&segment, AT, splice.ticket);
                } else if reader.take(&segment, &mut buffer, 4).unwrap() == 0 {
                    thread::yield_now();
                }
            }
            assert_eq!(buffer, b"abcd");
            writing.join().unwrap();
        });
    }
}
