//! Blocks of memory next to a ring, for large payloads: the writer's records of them.
//!
//! The writer alone decides where a block lies, and records it in private memory. The reader
//! returns a block by writing its ticket into a word; a reader that returns a block while still
//! reading it finds other octets there, and harms nobody else.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicBool, Ordering};

use crate::shm::ring::Direction;
use crate::shm::segment::Segment;

/// Maximum number of blocks of a direction in use: a power of two.
pub(crate) const SLOTS: usize = if cfg!(all(test, loom)) { 2 } else { 16 };

/// Alignment of blocks in octets: a cache line.
const ALIGN: u32 = if cfg!(all(test, loom)) { 1 } else { 64 };

/// Block that this end fills, with the number of its slot. Returned by [`Blocks::give_back`], or
/// sent by [`Blocks::send`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) slot: usize,
    /// Index of the first octet; rooms follow all blocks.
    pub(crate) first: u32,
    pub(crate) octets: u32,
}

/// State of a slot whose block is free.
const FREE: u32 = 0;
/// State of a slot whose block this end fills.
const FILLED: u32 = 1;
/// State of a slot whose block belongs to the reader until returned.
const SENT: u32 = 2;
/// State of a slot whose block is a room that the application fills.
const ROOM: u32 = 3;
/// State of a slot whose room the application has filled; it may be sent.
const SEALED: u32 = 4;

#[derive(Debug, Default)]
struct Slot {
    state: AtomicU32,
    first: AtomicU32,
    end: AtomicU32,
    /// Ticket of the last sending, which the reader writes back to return the block.
    ticket: AtomicU32,
    /// Whether the application holds the block, sent or not: it may not be reused meanwhile.
    held: AtomicBool,
}

/// Number of times to check whether another thread still searches for a block. Together, the checks
/// take some microseconds.
const LOOKS: u32 = 256;

/// Blocks of the direction that this end writes.
#[derive(Debug)]
pub(crate) struct Blocks {
    at: Direction,
    /// Whether a thread searches for a block.
    busy: AtomicBool,
    slots: [Slot; SLOTS],
    /// Whether a block was sent and the reader's returns were not prefetched since.
    awaited: AtomicU32,
}

impl Blocks {
    pub(crate) fn new(at: Direction) -> Self {
        Self {
            at,
            busy: AtomicBool::new(false),
            slots: Default::default(),
            awaited: AtomicU32::new(0),
        }
    }

    /// Prefetches the reader's returns for the search that comes with the next block. To be called
    /// when the reader has answered.
    #[inline]
    pub(crate) fn expect(&self, segment: &Segment) {
        if self.awaited.load(Relaxed) != 0 {
            self.awaited.store(0, Relaxed);
            segment.prefetch_word(self.at.given_back(0));
        }
    }

    /// Returns a block of `octets` octets; `None` if none is free now, or another thread's search
    /// takes longer than usual because the system suspended it. Never sleeps.
    pub(crate) fn take(&self, segment: &Segment, octets: u32) -> Option<Block> {
        self.take_from(segment, 0, octets, FILLED)
    }

    /// Returns a block of the area of rooms, which follows that of blocks, as [`take`](Self::take)
    /// does.
    pub(crate) fn take_room(&self, segment: &Segment, octets: u32) -> Option<Block> {
        self.take_from(segment, segment.blocks(), octets, ROOM)
    }

    /// Returns a block of the area that begins at `area`.
    fn take_from(&self, segment: &Segment, area: u32, octets: u32, state: u32) -> Option<Block> {
        if octets == 0 || octets > segment.blocks() || !self.enter() {
            return None;
        }
        let block = self.find(segment, area, octets);
        if let Some(Block { slot, first, .. }) = block {
            let slot = &self.slots[slot];
            slot.first.store(first, Relaxed);
            slot.end.store(first + octets, Relaxed);
            slot.held.store(state == ROOM, Relaxed);
            slot.state.store(state, Relaxed);
        }
        self.busy.store(false, Ordering::Release);
        block
    }

    /// Excludes other threads from searching; waits for a concurrent search for as long as one
    /// usually takes.
    fn enter(&self) -> bool {
        let looks = if cfg!(loom) { 1 } else { LOOKS };
        (0..looks).any(|_| {
            let alone = !self.busy.swap(true, Ordering::Acquire);
            if !alone {
                std::hint::spin_loop();
            }
            alone
        })
    }

    /// Finds the lowest free range of an area, so that few pages are touched.
    fn find(&self, segment: &Segment, area: u32, octets: u32) -> Option<Block> {
        let mut free = None;
        let mut used = [(0, 0); SLOTS];
        for (index, (slot, used)) in self.slots.iter().zip(&mut used).enumerate() {
            let given_back = || {
                let word = segment.word(self.at.given_back(index));
                word.load(Ordering::Acquire) == slot.ticket.load(Relaxed)
            };
            match slot.state.load(Ordering::Acquire) {
                SENT if !slot.held.load(Ordering::Acquire) && given_back() => {
                    slot.state.store(FREE, Relaxed);
                    free = Some(index);
                }
                FREE => free = Some(index),
                _ => *used = (slot.first.load(Relaxed), slot.end.load(Relaxed)),
            }
        }
        let slot = free?;
        let mut first = area;
        // Each iteration skips a block in use, so there are at most as many iterations as slots.
        loop {
            let end = first.checked_add(octets)?;
            if end - area > segment.blocks() {
                return None;
            }
            let in_the_way = used.iter().find(|(from, to)| *from < end && first < *to);
            match in_the_way {
                Some((_, to)) => first = to.checked_next_multiple_of(ALIGN)?,
                None => {
                    return Some(Block { slot, first, octets });
                }
            }
        }
    }

    /// Runs `run` if no block is in use except unsent rooms. No block can be taken while it runs.
    /// Reports whether it ran.
    pub(crate) fn while_free(&self, segment: &Segment, run: impl FnOnce()) -> bool {
        if self.busy.swap(true, Ordering::Acquire) {
            return false;
        }
        let mut slots = self.slots.iter().enumerate();
        let free = slots.all(|(index, slot)| match slot.state.load(Ordering::Acquire) {
            FREE | ROOM | SEALED => true,
            SENT => {
                let word = segment.word(self.at.given_back(index));
                word.load(Ordering::Acquire) == slot.ticket.load(Relaxed)
            }
            _ => false,
        });
        if free {
            run();
        }
        self.busy.store(false, Ordering::Release);
        free
    }

    /// Frees a block that was not sent.
    pub(crate) fn give_back(&self, block: Block) {
        self.slots[block.slot].state.store(FREE, Ordering::Release);
    }

    /// Marks a room as filled.
    pub(crate) fn seal(&self, block: Block) {
        self.slots[block.slot].state.store(SEALED, Ordering::Release);
    }

    /// Returns the room with exactly these octets, if it is filled and was not sent.
    pub(crate) fn sealed(&self, first: u32, octets: u32) -> Option<Block> {
        let is_it = |slot: &Slot| {
            slot.state.load(Ordering::Acquire) == SEALED
                && slot.first.load(Relaxed) == first
                && slot.end.load(Relaxed) == first + octets
        };
        let slot = self.slots.iter().position(is_it)?;
        Some(Block { slot, first, octets })
    }

    /// Records that the application has released a room. A room that was sent is free once the
    /// reader has returned it.
    pub(crate) fn leave(&self, block: Block) {
        let slot = &self.slots[block.slot];
        if slot.state.load(Ordering::Acquire) != SENT {
            slot.state.store(FREE, Ordering::Release);
        }
        slot.held.store(false, Ordering::Release);
    }

    /// Marks a block as sent and returns its new ticket.
    pub(crate) fn send(&self, block: Block) -> u32 {
        let slot = &self.slots[block.slot];
        let before = slot.ticket.load(Relaxed);
        let ticket = (before | (SLOTS as u32 - 1)).wrapping_add(1) | block.slot as u32;
        slot.ticket.store(ticket, Relaxed);
        // With `Release`, a thread that reads this state also reads this ticket. With the previous ticket, which the
        // reader has returned, the block would look free.
        slot.state.store(SENT, Ordering::Release);
        self.awaited.store(1, Relaxed);
        ticket
    }
}

/// Returns the slot of a ticket, whatever its value.
pub(crate) fn slot_of(ticket: u32) -> usize {
    ticket as usize & (SLOTS - 1)
}
