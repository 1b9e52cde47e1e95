use crate::copies;
use crate::prelude::*;
#[cfg(feature = "std")]
use std::io::IoSlice;

/// Maximum number of slices that a message may reference without copying.
const MAX_SEGMENTS: usize = 8;

/// Slices of the caller's memory, and their positions among the encoder's own octets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gathered<'a> {
    /// Segments. An unused entry costs a single word written per message.
    segments: [Option<Segment<'a>>; MAX_SEGMENTS],
    count: usize,
    octets: usize,
    /// Position in the message after the last segment.
    end: usize,
}

#[derive(Clone, Copy, Debug)]
struct Segment<'a> {
    octets: &'a [u8],
    cut: usize,
}

impl<'a> Gathered<'a> {
    /// Creates an empty list for a part of a message, before which `octets` octets were gathered.
    pub(crate) fn after(octets: usize) -> Self {
        Self { octets, end: octets, ..Self::default() }
    }

    /// Reports whether the list is full.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.count == MAX_SEGMENTS
    }

    /// Appends a segment after `cut` own octets. The list must not be full.
    #[inline]
    pub(crate) fn push(&mut self, cut: usize, segment: &'a [u8]) {
        self.segments[self.count] = Some(Segment { octets: segment, cut });
        self.count += 1;
        self.octets += segment.len();
        self.end = cut + self.octets;
    }

    /// Returns the total number of octets in all segments.
    #[inline]
    pub(crate) fn octets(&self) -> usize {
        self.octets
    }

    /// Reports whether nothing was gathered.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(crate) fn first_cut(&self) -> Option<usize> {
        self.segments[0].map(|segment| segment.cut)
    }

    /// Returns the position after the last segment, before which nothing can be truncated.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = (usize, &'a [u8])> {
        let segments = self.segments.iter().map_while(|segment| *segment);
        segments.map(|Segment { octets, cut }| (cut, octets))
    }
}

/// Finished message: its own octets, with slices of the caller's memory between them.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Dialect, Encoded, Encoder};
/// use std::io::IoSlice;
///
/// let picture = [9; 1000];
/// let mut encoder = Encoder::new(Vec::new(), ByteOrder::NATIVE, Dialect::new(2)).gather_above(256);
/// encoder.length(picture.len(), None)?;
/// encoder.octets(&picture);
/// encoder.octet(1);
///
/// let message = encoder.finish();
/// let mut room = [IoSlice::new(&[]); Encoded::MAX_SLICES];
/// let slices = message.io_slices(&mut room);
/// assert_eq!(slices.iter().map(|slice| slice.len()).collect::<Vec<_>>(), [4, 1000, 1]);
/// assert_eq!(slices[1].as_ptr(), picture.as_ptr());
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
#[derive(Debug)]
pub struct Encoded<'a> {
    /// Octets beyond `used` are scratch.
    buffer: Vec<u8>,
    used: usize,
    gathered: Gathered<'a>,
}

impl<'a> Encoded<'a> {
    /// Maximum number of slices that [`io_slices`](Self::io_slices) may need.
    pub const MAX_SLICES: usize = 2 * MAX_SEGMENTS + 1;

    #[inline]
    pub(crate) fn new(buffer: Vec<u8>, used: usize, gathered: Gathered<'a>) -> Self {
        Self { buffer, used, gathered }
    }

    /// Returns the length of the whole message, in octets.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "nobody asks whether a message is empty")]
    pub fn len(&self) -> usize {
        self.used + self.gathered.octets()
    }

    /// Returns the memory that the message takes, in octets: its buffer, used or spare, and the
    /// referenced slices.
    #[inline]
    pub fn memory(&self) -> usize {
        self.buffer.capacity() + self.gathered.octets()
    }

    /// Reports whether all octets are in one piece, because nothing was gathered.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.gathered.is_empty()
    }

    /// Returns the message in one piece.
    ///
    /// # Panics
    /// When something was gathered: see [`is_contiguous`](Self::is_contiguous).
    #[inline]
    pub fn contiguous(&self) -> &[u8] {
        assert!(self.is_contiguous(), "a gathered message is not in one piece");
        &self.buffer[..self.used]
    }

    /// Returns the pieces of the message in order, none of them empty, for one vectored write.
    /// Allocates nothing.
    #[cfg(feature = "std")]
    #[inline]
    pub fn io_slices<'s, 'r>(
        &'s self,
        room: &'r mut [IoSlice<'s>; Encoded::MAX_SLICES],
    ) -> &'r mut [IoSlice<'s>] {
        let mut count = 0;
        self.each_piece(|piece| {
            if !piece.is_empty() {
                room[count] = IoSlice::new(piece);
                count += 1;
            }
        });
        &mut room[..count]
    }

    #[inline]
    fn each_piece<'s>(&'s self, mut add: impl FnMut(&'s [u8])) {
        let mut start = 0;
        for (cut, segment) in self.gathered.iter() {
            add(&self.buffer[start..cut]);
            add(segment);
            start = cut;
        }
        add(&self.buffer[start..self.used]);
    }

    /// Returns the buffer for the next message. Its contents and length are irrelevant; clearing it
    /// only costs time.
    #[inline]
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Returns a copy of the whole message. Allocates.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(self.len());
        self.each_piece(|piece| copies::append(&mut octets, piece));
        octets
    }
}
