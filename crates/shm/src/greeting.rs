//! The first octets of a connection, which bring the memory along.
//!
//! They go over the UNIX socket from client to server, with the descriptor of the memory, and nothing
//! answers them: a client writes its first request at once.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use oxorb_sys::shared::Shared;
use oxorb_sys::unix;

use crate::place::is_ring;
use crate::segment;

/// Octets of a greeting: the word, the version of the memory's layout, the size of a ring; numbers in
/// little-endian order.
const OCTETS: usize = 16;
const WORD: &[u8; 8] = b"OxORBshm";
const VERSION: u32 = 1;

/// Memory of a client that has not met its server yet.
pub(crate) struct Greeting {
    pub(crate) memory: Shared,
    pub(crate) ring: u32,
    descriptor: OwnedFd,
}

impl Greeting {
    /// Makes memory with rings of a size.
    ///
    /// # Errors
    /// When the system has no memory or descriptor left.
    pub(crate) fn new(ring: u32) -> io::Result<Self> {
        let (memory, descriptor) = segment::create(ring)?;
        Ok(Self {
            memory,
            ring,
            descriptor,
        })
    }

    /// Greets the server at the other end of a socket that has just connected. Never waits.
    ///
    /// # Errors
    /// When the server is gone.
    pub(crate) fn send(&self, socket: &OwnedFd) -> io::Result<()> {
        unix::send_descriptor(socket, &write(self.ring), self.descriptor.as_fd())
    }
}

fn write(ring: u32) -> [u8; OCTETS] {
    let mut octets = [0; OCTETS];
    octets[..8].copy_from_slice(WORD);
    octets[8..12].copy_from_slice(&VERSION.to_le_bytes());
    octets[12..].copy_from_slice(&ring.to_le_bytes());
    octets
}

/// Takes the greeting of a client, and maps the memory that came with it: the size of its rings, too.
/// Never waits.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when it is not there yet. [`io::ErrorKind::InvalidData`] in words, or
/// another error, when this is no client to talk with.
pub(crate) fn receive(socket: &OwnedFd, max_ring: u32) -> io::Result<(Shared, u32)> {
    // One octet more than a greeting has: the client sends nothing behind it.
    let mut octets = [0; OCTETS + 1];
    let (count, descriptor) = unix::receive_descriptor(socket, &mut octets)?;
    let ring = read(&octets[..count.min(OCTETS)], max_ring)
        .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
    let descriptor = descriptor.ok_or_else(|| {
        let why = "no memory came with the greeting";
        io::Error::new(io::ErrorKind::InvalidData, why)
    })?;
    Ok((segment::open(descriptor, ring)?, ring))
}

/// Reads the octets of a greeting; the size of a ring.
pub(crate) fn read(octets: &[u8], max_ring: u32) -> Result<u32, String> {
    let Some((word, rest)) = octets.split_first_chunk::<8>() else {
        return Err(format!(
            "a greeting has {OCTETS} octets, and not {}",
            octets.len()
        ));
    };
    let number = |at: usize| {
        let octets = rest.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(octets))
    };
    let (Some(version), Some(ring)) = (number(0), number(4)) else {
        return Err(format!(
            "a greeting has {OCTETS} octets, and not {}",
            octets.len()
        ));
    };
    if word != WORD || version != VERSION {
        return Err("the client speaks something else".to_owned());
    }
    match is_ring(ring) && ring <= max_ring {
        true => Ok(ring),
        false => Err(format!(
            "rings of {ring} octets; this endpoint takes powers of two from {} to {max_ring} (ring=)",
            crate::MIN_RING
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_read_as_it_was_written_and_nothing_else_is() {
        let octets = write(8192);
        assert_eq!(read(&octets, 8192), Ok(8192));
        assert!(read(&octets, 4096).unwrap_err().contains("ring="));
        for length in 0..OCTETS {
            assert!(read(&octets[..length], 8192).is_err());
        }
        for (at, octet) in [(0, b'o'), (8, 2), (12, 1), (15, 0xff)] {
            let mut bad = octets;
            bad[at] = octet;
            assert!(read(&bad, 8192).is_err(), "{at}");
        }
    }
}
