//! Greetings: the first octets of a connection, which transfer the memory.
//!
//! The client sends them over the UNIX socket to the server, with the descriptor of the memory and,
//! if there is one, that of the rooms that the client fills. They are not answered: a client writes
//! its first request at once.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use oxorb_sys::shared::{Shared, Sheet, View};
use oxorb_sys::unix;

use crate::shm::place::{are_blocks, is_ring};
use crate::shm::segment::{self, Sizes};

/// Size of a greeting in octets: the magic word, the version of the memory's layout, the sizes of a
/// ring and of the blocks of a direction; numbers in little-endian order.
const OCTETS: usize = 20;
const WORD: &[u8; 8] = b"OxORBshm";
/// Version of the memory's layout and of greetings.
pub const VERSION: u32 = 4;

/// Memory of a client before its greeting.
pub(crate) struct Greeting {
    pub(crate) memory: Shared,
    pub(crate) sizes: Sizes,
    /// Rooms for payloads that the application writes, if the system supports them.
    pub(crate) rooms: Option<Arc<Sheet>>,
    descriptors: [Option<OwnedFd>; 2],
}

/// Memory received from a client.
pub(crate) struct Received {
    pub(crate) memory: Shared,
    pub(crate) sizes: Sizes,
    pub(crate) rooms: Option<View>,
}

impl Greeting {
    /// Creates memory of these sizes.
    ///
    /// # Errors
    /// The system has no memory or descriptor left.
    pub(crate) fn new(sizes: Sizes) -> io::Result<Self> {
        let (memory, descriptor) = segment::create(sizes)?;
        let (rooms, readable) = segment::create_rooms(sizes)?.unzip();
        Ok(Self { memory, sizes, rooms, descriptors: [Some(descriptor), readable] })
    }

    /// Withholds the rooms: a server of another user sees only what is sent.
    pub(crate) fn keep_rooms(&mut self) {
        self.rooms = None;
        self.descriptors[1] = None;
    }

    /// Sends the greeting over a socket that has just connected. Never waits.
    ///
    /// # Errors
    /// The server is gone.
    pub(crate) fn send(&self, socket: &OwnedFd) -> io::Result<()> {
        let all = self.descriptors.iter().flatten();
        let all: Vec<BorrowedFd<'_>> = all.map(|descriptor| descriptor.as_fd()).collect();
        unix::send_descriptors(socket, &write(self.sizes), &all)
    }
}

fn write(sizes: Sizes) -> [u8; OCTETS] {
    let mut octets = [0; OCTETS];
    octets[..8].copy_from_slice(WORD);
    octets[8..12].copy_from_slice(&VERSION.to_le_bytes());
    octets[12..16].copy_from_slice(&sizes.ring.to_le_bytes());
    octets[16..].copy_from_slice(&sizes.blocks.to_le_bytes());
    octets
}

/// Receives the greeting of a client and maps its memory, with sizes of at most `max`. Never waits.
///
/// Everything is inspected before it is taken off the socket, as closing other descriptors that a
/// client sends may take as long as the client likes. From then on the system refuses descriptors,
/// if it can.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if the greeting has not arrived. [`io::ErrorKind::InvalidData`]
/// with a text, or another error, if the client is unusable: what it sent is still in the socket
/// then.
pub(crate) fn receive(socket: &OwnedFd, max: Sizes) -> io::Result<Received> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why);
    // There is room for one octet more than a greeting has, which the client must not send.
    let mut octets = [0; OCTETS + 1];
    let (count, [descriptor, rooms]) = unix::peek_descriptors(socket, &mut octets)?;
    let sizes = read(&octets[..count.min(OCTETS)], max).map_err(|why| refused(&why))?;
    let descriptor = descriptor.ok_or_else(|| refused("the greeting contains no memory"))?;
    if rooms.is_some() && sizes.blocks == 0 {
        return Err(refused("the greeting contains rooms, but no blocks"));
    }
    let received = Received {
        rooms: rooms.map(|rooms| View::open(rooms, sizes.blocks)).transpose()?,
        memory: segment::open(descriptor, sizes)?,
        sizes,
    };
    let _ = unix::refuse_descriptors(socket);
    if unix::octets_waiting(socket)? != OCTETS as u64 {
        return Err(refused("the client sent more octets than a greeting has"));
    }
    // Takes the greeting off the socket, with the descriptors that were inspected.
    unix::receive_descriptors(socket, &mut octets)?;
    Ok(received)
}

/// Parses the octets of a greeting; returns its sizes, at most `max`.
pub(crate) fn read(octets: &[u8], max: Sizes) -> Result<Sizes, String> {
    let Some((word, rest)) = octets.split_first_chunk::<8>() else {
        return Err(format!("a greeting has {OCTETS} octets, not {}", octets.len()));
    };
    let number = |at: usize| {
        let octets = rest.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(octets))
    };
    let (Some(version), Some(ring), Some(blocks)) = (number(0), number(4), number(8)) else {
        return Err(format!("a greeting has {OCTETS} octets, not {}", octets.len()));
    };
    if word != WORD || version != VERSION {
        return Err("the client does not use this protocol".to_owned());
    }
    if !is_ring(ring) || ring > max.ring {
        return Err(format!(
            "rings of {ring} octets; this endpoint accepts powers of two from {} to {} (ring=)",
            crate::shm::MIN_RING,
            max.ring
        ));
    }
    if !are_blocks(blocks) || blocks > max.blocks {
        return Err(format!(
            "blocks of {blocks} octets; this endpoint accepts multiples of 4096 up to {} (blocks=)",
            max.blocks
        ));
    }
    Ok(Sizes { ring, blocks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_read_as_it_was_written_and_nothing_else_is() {
        let (ring, blocks) = (8192, 4096);
        let sizes = Sizes { ring, blocks };
        let octets = write(sizes);
        assert_eq!(read(&octets, sizes), Ok(sizes));
        let smaller = Sizes { ring: 4096, blocks };
        assert!(read(&octets, smaller).unwrap_err().contains("ring="));
        let without = Sizes { ring, blocks: 0 };
        assert!(read(&octets, without).unwrap_err().contains("blocks="));
        assert_eq!(read(&write(without), sizes), Ok(without));
        for length in 0..OCTETS {
            assert!(read(&octets[..length], sizes).is_err());
        }
        for (at, octet) in [(0, b'o'), (8, 1), (12, 1), (15, 0xff), (16, 1), (19, 0xff)] {
            let mut bad = octets;
            bad[at] = octet;
            assert!(read(&bad, sizes).is_err(), "{at}");
        }
    }
}
