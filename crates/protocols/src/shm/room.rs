//! Rooms: payloads that the application writes where the peer reads them.
//!
//! They lie in separate memory, which the system lets only this process write: the peer cannot
//! change it while the application uses it. If a slice of a message is exactly a filled room, the
//! room is sent as a block.

use std::io;
use std::sync::Arc;

use oxorb_sys::shared::{PARTS, Part, Sheet};
use oxorb_sys::spare::Spare;
use oxorb_transport::{Room, RoomPlace, Rooms};

use crate::shm::ShmLink;
use crate::shm::blocks::{Block, Blocks, SLOTS};
use crate::shm::segment::Segment;
use crate::shm::write::LARGE;

const _: () = assert!(SLOTS <= PARTS);

/// Rooms of a connection.
#[derive(Debug)]
pub(crate) struct Lending {
    sheet: Arc<Sheet>,
    segment: Arc<Segment>,
    blocks: Arc<Blocks>,
    /// Boxes of finished rooms for reuse, by slot.
    spare: [Spare<Placed>; SLOTS],
}

/// Room lent to the application.
#[derive(Debug)]
struct Placed {
    of: Option<(Arc<Lending>, Part)>,
    block: Block,
}

impl Lending {
    pub(crate) fn new(
        sheet: Arc<Sheet>,
        segment: &Arc<Segment>,
        blocks: &Arc<Blocks>,
    ) -> Arc<Self> {
        Arc::new(Self {
            sheet,
            segment: Arc::clone(segment),
            blocks: Arc::clone(blocks),
            spare: Default::default(),
        })
    }

    /// Returns the room with these octets as its contents, if it was filled and not sent.
    pub(crate) fn of(&self, octets: &[u8]) -> Option<Block> {
        let place = u32::try_from(self.sheet.place_of(octets)?).ok()?;
        let octets = u32::try_from(octets.len()).ok()?;
        self.blocks.sealed(self.segment.blocks() + place, octets)
    }

    pub(crate) fn make_resident(&self, locked: bool) -> io::Result<()> {
        self.sheet.make_resident(locked)
    }
}

impl Rooms for ShmLink {
    fn room(&self, octets: usize) -> Option<Room> {
        let room = Lending::room(self.rooms.as_ref()?, octets)?;
        self.outgoing.prepare(&self.segment);
        Some(room)
    }
}

impl Lending {
    fn room(self: &Arc<Self>, octets: usize) -> Option<Room> {
        let octets = u32::try_from(octets).ok().filter(|_| octets >= LARGE)?;
        let block = self.blocks.take_room(&self.segment, octets)?;
        let first = block.first - self.segment.blocks();
        let Some(part) = self.sheet.part(block.slot, first, octets) else {
            debug_assert!(false, "blocks overlap");
            self.blocks.leave(block);
            return None;
        };
        let of = Some((Arc::clone(self), part));
        let placed = match self.spare[block.slot].take() {
            Some(mut spare) => {
                *spare = Placed { of, block };
                spare
            }
            None => Box::new(Placed { of, block }),
        };
        Some(Room::lent(placed))
    }
}

impl RoomPlace for Placed {
    fn octets(&self) -> &[u8] {
        self.of.as_ref().map_or(&[], |(_, part)| part)
    }

    fn octets_mut(&mut self) -> &mut [u8] {
        self.of.as_mut().map_or(&mut [], |(_, part)| part)
    }

    fn seal(&mut self) {
        if let Some((lending, _)) = &self.of {
            lending.blocks.seal(self.block);
        }
    }

    fn give_back(mut self: Box<Self>) {
        if let Some((lending, part)) = self.of.take() {
            // The part is dropped first, because another thread may take the block as soon as it is free.
            drop(part);
            let block = self.block;
            lending.blocks.leave(block);
            lending.spare[block.slot].put(self);
        }
    }
}
