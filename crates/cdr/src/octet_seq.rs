use crate::prelude::*;
use core::fmt;
use core::ops::{Deref, Range};

use crate::{Decode, Decoder, Encode, Encoder, Result};

/// Owned `sequence<octet>` that may be part of a larger buffer, such as the message that contained
/// it, so that a large reply is handed over without a copy.
///
/// ```
/// use oxorb_cdr::OctetSeq;
///
/// let message = vec![0, 0, 0, 2, 8, 9];
/// let answer = OctetSeq::new(message, 4..6);
/// assert_eq!(answer, [8, 9]);
/// assert_eq!(answer.into_vec(), vec![8, 9]);
/// ```
#[derive(Clone, Default)]
pub struct OctetSeq {
    buffer: Vec<u8>,
    range: Range<usize>,
}

impl OctetSeq {
    /// Wraps the part of a buffer within `range`.
    ///
    /// # Panics
    /// When the range is not within the buffer.
    #[inline]
    pub fn new(buffer: Vec<u8>, range: Range<usize>) -> Self {
        assert!(
            range.start <= range.end && range.end <= buffer.len(),
            "the range must lie in the buffer"
        );
        Self { buffer, range }
    }

    /// Returns the octets as a vector. Does not allocate; moves the octets to the front of the
    /// buffer if necessary.
    pub fn into_vec(self) -> Vec<u8> {
        let Self { mut buffer, range } = self;
        buffer.truncate(range.end);
        buffer.drain(..range.start);
        buffer
    }
}

impl Deref for OctetSeq {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }
}

impl AsRef<[u8]> for OctetSeq {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for OctetSeq {
    /// Takes over the buffer without a copy.
    #[inline]
    fn from(buffer: Vec<u8>) -> Self {
        let range = 0..buffer.len();
        Self { buffer, range }
    }
}

impl From<OctetSeq> for Vec<u8> {
    #[inline]
    fn from(octets: OctetSeq) -> Self {
        octets.into_vec()
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for OctetSeq {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for OctetSeq {}

impl fmt::Debug for OctetSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Encode for OctetSeq {
    #[inline]
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.sequence(self, None)
    }
}

impl<'de> Decode<'de> for OctetSeq {
    const MIN_SIZE: usize = 4;

    /// Copies the octets.
    #[inline]
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        d.sequence::<u8>(None).map(Self::from)
    }
}
