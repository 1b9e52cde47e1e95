//! Blocks of memory beside a ring, for large payloads: what the writer of a direction keeps of them.
//!
//! The writer alone says where a block lies, in its own memory. The reader gives a block back by
//! writing its ticket into a word; one that gives back what it still reads finds other octets there,
//! and harms nobody else.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicBool, Ordering};

use crate::shm::ring::Direction;
use crate::shm::segment::Segment;

/// Blocks of a direction that are in use at a time, at most: a power of two.
pub(crate) const SLOTS: usize = if cfg!(all(test, loom)) { 2 } else { 16 };

/// Blocks begin at multiples of so many octets: a cache line.
const ALIGN: u32 = if cfg!(all(test, loom)) { 1 } else { 64 };

/// A block that this end fills, and the number of its slot. Given back by [`Blocks::give_back`] or with
/// what [`Blocks::send`] sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) slot: usize,
    /// The first octet: those of rooms stand behind all others.
    pub(crate) first: u32,
    pub(crate) octets: u32,
}

/// State of a slot: nobody uses its block.
const FREE: u32 = 0;
/// State of a block that this end fills.
const FILLED: u32 = 1;
/// The block is the reader's, until it gives it back.
const SENT: u32 = 2;
/// The application fills the block, which is a room.
const ROOM: u32 = 3;
/// The application has filled its room, which may be sent.
const SEALED: u32 = 4;

#[derive(Debug, Default)]
struct Slot {
    state: AtomicU32,
    first: AtomicU32,
    end: AtomicU32,
    /// Ticket that the reader writes to give the block back, sent last.
    ticket: AtomicU32,
    /// The application has the block, sent or not: nobody else may fill it.
    held: AtomicBool,
}

/// Times that a thread looks whether another one still looks for a block: some microseconds.
const LOOKS: u32 = 256;

/// The blocks of the direction that this end writes.
#[derive(Debug)]
pub(crate) struct Blocks {
    at: Direction,
    /// Some thread looks for a block.
    busy: AtomicBool,
    slots: [Slot; SLOTS],
    /// A block was sent, and what the reader gives back was not fetched since.
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

    /// Fetches into the processor's cache what the reader has given back, for the look that comes
    /// with the next block. To be called when the reader has answered.
    #[inline]
    pub(crate) fn expect(&self, segment: &Segment) {
        if self.awaited.load(Relaxed) != 0 {
            self.awaited.store(0, Relaxed);
            segment.prefetch_word(self.at.given_back(0));
        }
    }

    /// Returns a block of so many octets, or `None`: there is none free now, or another thread looks for
    /// one for longer than a look takes, because the system stopped it. Never sleeps.
    pub(crate) fn take(&self, segment: &Segment, octets: u32) -> Option<Block> {
        self.take_from(segment, 0, octets, FILLED)
    }

    /// Returns a block of the area of rooms, behind that of the others, as [`take`](Self::take) does.
    pub(crate) fn take_room(&self, segment: &Segment, octets: u32) -> Option<Block> {
        self.take_from(segment, segment.blocks(), octets, ROOM)
    }

    /// Returns a block of the area that begins with an octet.
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

    /// Keeps other threads from looking; waits for one that does for as long as a look takes.
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

    /// Finds the lowest place of an area, so that few pages are touched.
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
        // Each round passes one block that is in use.
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

    /// Runs `run` if no block is in use but rooms that were not sent, while nobody can take one. Reports whether it ran.
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

    /// Gives back a block that was not sent.
    pub(crate) fn give_back(&self, block: Block) {
        self.slots[block.slot].state.store(FREE, Ordering::Release);
    }

    /// Says that a room is filled.
    pub(crate) fn seal(&self, block: Block) {
        self.slots[block.slot].state.store(SEALED, Ordering::Release);
    }

    /// Returns the room that has just these octets, if it is filled and was not sent.
    pub(crate) fn sealed(&self, first: u32, octets: u32) -> Option<Block> {
        let is_it = |slot: &Slot| {
            slot.state.load(Ordering::Acquire) == SEALED
                && slot.first.load(Relaxed) == first
                && slot.end.load(Relaxed) == first + octets
        };
        let slot = self.slots.iter().position(is_it)?;
        Some(Block { slot, first, octets })
    }

    /// Takes back a room that the application has no more. One that was sent is free once the reader has given it back.
    pub(crate) fn leave(&self, block: Block) {
        let slot = &self.slots[block.slot];
        if slot.state.load(Ordering::Acquire) != SENT {
            slot.state.store(FREE, Ordering::Release);
        }
        slot.held.store(false, Ordering::Release);
    }

    /// Returns the ticket of a block that goes to the reader now.
    pub(crate) fn send(&self, block: Block) -> u32 {
        let slot = &self.slots[block.slot];
        let before = slot.ticket.load(Relaxed);
        let ticket = (before | (SLOTS as u32 - 1)).wrapping_add(1) | block.slot as u32;
        slot.ticket.store(ticket, Relaxed);
        // Whoever sees the state sees the ticket, and not the one before, which was given back.
        slot.state.store(SENT, Ordering::Release);
        self.awaited.store(1, Relaxed);
        ticket
    }
}

/// Returns the slot that a ticket is of, whoever wrote it.
pub(crate) fn slot_of(ticket: u32) -> usize {
    ticket as usize & (SLOTS - 1)
}
