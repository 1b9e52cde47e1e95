//! Memory to write a payload into.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

/// Room for octets that are to be sent, in memory that the transport of a connection lends where it has some, so that they are
/// sent as they lie there. Otherwise in memory of its own: they are copied when they are sent, as any others.
///
/// Passed as an argument that the IDL marks `@in_place` (`oxorb_cdr::Octets::from`), it goes with its octets. Over another
/// connection than it is of, as part of a larger message in fragments, and when a request is sent once more, its octets are
/// copied: the call is the one it would be with a vector.
///
/// Dropped unsent, the memory goes back to the connection.
///
/// # Real-time cost
///
/// Taking, sending and dropping one that is in place takes no lock and makes no system call, and once as many were out at a time
/// as before, it does not allocate. One in memory of its own allocates.
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
    /// `None` when it is being dropped.
    Lent(Option<Box<dyn Place>>),
}

/// A part of a transport's memory that nobody else writes while this value exists.
pub trait Place: Send + Sync {
    /// Returns the octets.
    fn octets(&self) -> &[u8];

    /// Returns the octets, to be written. They have any values at first.
    fn octets_mut(&mut self) -> &mut [u8];

    /// Says that the octets stay as they are from now on: a write of just this slice to the connection sends them as they lie.
    fn seal(&mut self);

    /// Gives the part back unless it was sent, and the box to be used again.
    fn give_back(self: Box<Self>);
}

impl Room {
    /// Makes room for octets, all of them 0, in memory of its own.
    pub fn new(octets: usize) -> Self {
        Self(Memory::Own(vec![0; octets]))
    }

    /// Takes over a part of a transport's memory.
    pub fn lent(place: Box<dyn Place>) -> Self {
        Self(Memory::Lent(Some(place)))
    }

    /// Whether the octets are sent as they lie here.
    pub fn is_in_place(&self) -> bool {
        matches!(self.0, Memory::Lent(_))
    }

    /// Ends writing: from now on the room may be sent as it is.
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
            Memory::Lent(place) => place.as_deref().map_or(&[], Place::octets),
        }
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Own(octets) => octets,
            Memory::Lent(place) => place.as_deref_mut().map_or(&mut [], Place::octets_mut),
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

/// A [`Room`] whose octets stay as they are: they may be under way.
#[derive(Debug)]
pub struct SealedRoom(Room);

impl SealedRoom {
    /// Whether the octets are sent as they lie here.
    pub fn is_in_place(&self) -> bool {
        self.0.is_in_place()
    }

    /// Returns the octets in a vector: copies them, unless they are in memory of its own.
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

    impl Place for Page {
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
