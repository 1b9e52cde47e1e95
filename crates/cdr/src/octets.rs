//! Large octet sequences as parameters: borrowed, owned, or read in place.

use crate::prelude::*;
use core::fmt;

use oxorb_lend::{Lease, Room, SealedRoom};

use crate::{Decode, Decoder, Encode, Encoder, Result, copies};

/// `sequence<octet>` in the caller's memory, in an owned buffer, or in memory that the transport
/// lends. Used for parameters that the IDL marks `@in_place`.
///
/// Another process may change lent memory: [`as_slice`](Self::as_slice) therefore returns `None`
/// for it, and octets are copied out where they are needed.
///
/// ```
/// use oxorb_cdr::Octets;
///
/// let image = Octets::from(&[1, 2, 3, 4][..]);
/// let mut header = [0; 2];
/// image.copy_to(1, &mut header);
/// assert_eq!(header, [2, 3]);
/// assert_eq!(image.into_vec(), [1, 2, 3, 4]);
/// ```
pub enum Octets<'a> {
    /// Octets in memory of the caller, or of the message.
    Borrowed(&'a [u8]),
    /// Octets in an owned buffer.
    Owned(Vec<u8>),
    /// Octets in memory that the transport lends until the value is dropped.
    Leased(Lease),
    /// Octets to be sent from memory that the transport of a connection lends, if it lends any
    /// ([`Room`]).
    Placed(SealedRoom),
}

impl<'a> Octets<'a> {
    /// Returns the number of octets.
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(octets) => octets.len(),
            Self::Owned(octets) => octets.len(),
            Self::Leased(lease) => lease.len(),
            Self::Placed(room) => room.len(),
        }
    }

    /// Reports whether there are no octets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reports whether the octets are still where the sender wrote them.
    pub fn is_leased(&self) -> bool {
        matches!(self, Self::Leased(_))
    }

    /// Returns the octets if no other process can change them; `None` if they are leased.
    pub fn as_slice(&self) -> Option<&[u8]> {
        match self {
            Self::Borrowed(octets) => Some(octets),
            Self::Owned(octets) => Some(octets),
            Self::Placed(room) => Some(room),
            Self::Leased(_) => None,
        }
    }

    /// Copies octets out, starting at offset `at`.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn copy_to(&self, at: usize, octets: &mut [u8]) {
        match self {
            Self::Leased(lease) => lease.copy_to(at, octets),
            Self::Borrowed(from) => copies::copy(octets, &from[at..][..octets.len()]),
            Self::Owned(from) => copies::copy(octets, &from[at..][..octets.len()]),
            Self::Placed(from) => copies::copy(octets, &from[at..][..octets.len()]),
        }
    }

    /// Calls `f` with all octets, in order, in chunks of at most `CHUNK` octets; leased octets are
    /// first copied to the stack, each once. Allocates nothing.
    pub fn for_each_chunk<const CHUNK: usize>(&self, mut f: impl FnMut(&[u8])) {
        match self {
            Self::Borrowed(octets) => octets.chunks(CHUNK).for_each(f),
            Self::Owned(octets) => octets.chunks(CHUNK).for_each(f),
            Self::Placed(octets) => octets.chunks(CHUNK).for_each(f),
            Self::Leased(lease) => {
                let mut chunk = [0; CHUNK];
                for at in (0..lease.len()).step_by(CHUNK) {
                    let count = CHUNK.min(lease.len() - at);
                    lease.copy_to(at, &mut chunk[..count]);
                    f(&chunk[..count]);
                }
            }
        }
    }

    /// Appends all octets to a buffer.
    pub fn append_to(&self, buffer: &mut Vec<u8>) {
        match self {
            Self::Borrowed(octets) => copies::append(buffer, octets),
            Self::Owned(octets) => copies::append(buffer, octets),
            Self::Placed(octets) => copies::append(buffer, octets),
            Self::Leased(lease) => lease.append_to(0, lease.len(), buffer),
        }
    }

    /// Returns the octets as a vector; copies them unless they are owned. Ends a lease.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Owned(octets) => octets,
            Self::Borrowed(octets) => copies::to_vec(octets),
            Self::Leased(lease) => lease.to_vec(),
            Self::Placed(room) => room.into_vec(),
        }
    }

    /// Returns the octets as an argument for a call. Copies only leased octets.
    pub fn borrowed(&self) -> Octets<'_> {
        match self {
            Self::Borrowed(octets) => Octets::Borrowed(octets),
            Self::Owned(octets) => Octets::Borrowed(octets),
            Self::Placed(octets) => Octets::Borrowed(octets),
            Self::Leased(lease) => Octets::Owned(lease.to_vec()),
        }
    }

    /// Returns the octets in a form that outlives the call they arrived with. Copies borrowed
    /// octets; a lease is kept, and its memory is unavailable to the sender until it is dropped.
    pub fn into_owned(self) -> Octets<'static> {
        match self {
            Self::Owned(octets) => Octets::Owned(octets),
            Self::Borrowed(octets) => Octets::Owned(copies::to_vec(octets)),
            Self::Leased(lease) => Octets::Leased(lease),
            Self::Placed(room) => Octets::Placed(room),
        }
    }

    /// Reads octets without a copy: leased if they are lent to the message, otherwise borrowed from
    /// it.
    pub fn decode_from(d: &mut Decoder<'a>) -> Result<Self> {
        if let Some(lease) = d.leased()? {
            return Ok(Self::Leased(lease));
        }
        d.octets_here().map(Self::Borrowed)
    }
}

impl<'a> From<&'a [u8]> for Octets<'a> {
    fn from(octets: &'a [u8]) -> Self {
        Self::Borrowed(octets)
    }
}

impl<'a> From<&'a Vec<u8>> for Octets<'a> {
    fn from(octets: &'a Vec<u8>) -> Self {
        Self::Borrowed(octets)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Octets<'a> {
    fn from(octets: &'a [u8; N]) -> Self {
        Self::Borrowed(octets)
    }
}

impl From<Vec<u8>> for Octets<'_> {
    fn from(octets: Vec<u8>) -> Self {
        Self::Owned(octets)
    }
}

impl From<Lease> for Octets<'_> {
    fn from(lease: Lease) -> Self {
        Self::Leased(lease)
    }
}

impl From<Room> for Octets<'_> {
    /// Seals the room, so that its contents can be sent in place.
    fn from(room: Room) -> Self {
        Self::Placed(room.sealed())
    }
}

impl fmt::Debug for Octets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_slice() {
            Some(octets) => octets.fmt(f),
            None => write!(f, "[{} octets, leased]", self.len()),
        }
    }
}

impl Encode for Octets<'_> {
    /// References long octets according to [`Encoder::gather_above`], and placed ones of any
    /// length; copies leased ones.
    fn encode<'e>(&'e self, e: &mut Encoder<'e>) -> Result<()> {
        match self {
            Self::Borrowed(octets) => e.sequence(octets, None),
            Self::Owned(octets) => e.sequence(octets.as_slice(), None),
            Self::Placed(room) if room.is_in_place() => {
                e.length(room.len(), None)?;
                e.placed_octets(room);
                Ok(())
            }
            Self::Placed(room) => e.sequence(room, None),
            Self::Leased(lease) => {
                e.length(lease.len(), None)?;
                e.reserve(lease.len());
                self.for_each_chunk::<4096>(|chunk| e.copy_octets(chunk));
                Ok(())
            }
        }
    }
}

impl<'de> Decode<'de> for Octets<'de> {
    const MIN_SIZE: usize = 4;

    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        Self::decode_from(d)
    }
}
