//! Memory into which a payload is written.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

/// Buffer for a payload to be sent. Where the transport of a connection lends memory, the payload
/// is sent in place; otherwise the buffer owns its memory, and sending copies the octets as usual.
///
/// A room passed as an argument that the IDL marks `@in_place` (`oxorb_cdr::Octets::from`) moves
/// with its octets. They are copied when they are sent over another connection, as part of a larger
/// message in fragments, or in a repeated request: the call then behaves as with a vector.
///
/// Dropping an unsent room returns the memory to the connection.
///
/// # Real-time cost
///
/// Acquiring, sending and dropping a room in place takes no lock and makes no system call; it
/// allocates only when more rooms are in use at the same time than ever before. A room that owns
/// its memory allocates.
///
/// ```
/// use oxorb_lend::Room;
///
/// let mut room = Room::new(3);
/// room.copy_from_slice(b"abc");
/// assert!(!room.is_in_place());
/// assert_eq!(&room[1..], b"bc");
/// ```
pub struct Room(Memory);

enum Memory {
    Own(Vec<u8>),
    /// `None` while being dropped.
    Lent(Option<Box<dyn RoomPlace>>),
}

/// Part of a transport's memory that no other writer accesses while this value exists.
pub trait RoomPlace: Send + Sync {
    /// Returns the octets.
    fn octets(&self) -> &[u8];

    /// Returns the octets for writing. Their initial values are unspecified.
    fn octets_mut(&mut self) -> &mut [u8];

    /// Declares the octets final: a write of exactly this slice to the connection then sends them
    /// in place.
    fn seal(&mut self);

    /// Returns the part to the transport unless it was sent, and the box for reuse.
    fn give_back(self: Box<Self>);
}

impl Room {
    /// Creates a zeroed room that owns its memory.
    pub fn new(octets: usize) -> Self {
        Self(Memory::Own(vec![0; octets]))
    }

    /// Wraps a part of a transport's memory.
    pub fn lent(place: Box<dyn RoomPlace>) -> Self {
        Self(Memory::Lent(Some(place)))
    }

    /// Reports whether the octets are sent in place, without a copy.
    pub fn is_in_place(&self) -> bool {
        matches!(self.0, Memory::Lent(_))
    }

    /// Ends writing and seals the octets, so that they can be sent in place.
    #[must_use]
    pub fn sealed(mut self) -> SealedRoom {
        if let Memory::Lent(Some(place)) = &mut self.0 {
            place.seal();
        }
        SealedRoom(self)
    }
}

impl Deref for Room {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Own(octets) => octets,
            Memory::Lent(place) => place.as_deref().map_or(&[], RoomPlace::octets),
        }
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Own(octets) => octets,
            Memory::Lent(place) => place.as_deref_mut().map_or(&mut [], RoomPlace::octets_mut),
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Memory::Lent(place) = &mut self.0
            && let Some(place) = place.take()
        {
            place.give_back();
        }
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room")
            .field("octets", &self.len())
            .field("in_place", &self.is_in_place())
            .finish()
    }
}

/// Sealed [`Room`]: its octets no longer change, since they may be on the way to the receiver.
#[derive(Debug)]
pub struct SealedRoom(Room);

impl SealedRoom {
    /// Reports whether the octets are sent in place, without a copy.
    pub fn is_in_place(&self) -> bool {
        self.0.is_in_place()
    }

    /// Returns the octets as a vector; copies them unless the room owns its memory.
    pub fn into_vec(mut self) -> Vec<u8> {
        match &mut self.0.0 {
            Memory::Own(octets) => core::mem::take(octets),
            Memory::Lent(_) => self.to_vec(),
        }
    }
}

impl Deref for SealedRoom {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use core::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    struct Page(Vec<u8>, Arc<AtomicU32>);

    impl RoomPlace for Page {
        fn octets(&self) -> &[u8] {
            &self.0
        }
        fn octets_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }
        fn seal(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
        fn give_back(self: Box<Self>) {
            self.1.fetch_add(100, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_place_is_written_sealed_and_given_back_once() {
        let told = Arc::new(AtomicU32::new(0));
        let mut room = Room::lent(Box::new(Page(vec![1, 2, 3], told.clone())));
        assert!(room.is_in_place());
        room[1] = 9;
        let sealed = room.sealed();
        assert_eq!(told.load(Ordering::Relaxed), 1);
        assert_eq!(sealed.into_vec(), [1, 9, 3]);
        assert_eq!(told.load(Ordering::Relaxed), 101);
        assert_eq!(Room::new(2).sealed().into_vec(), [0, 0]);
    }
}
