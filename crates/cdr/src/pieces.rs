//! GIOP 1.1 messages received in fragments, each of which restarts alignment.
//!
//! Fragments are joined without knowledge of the types. The joined octets therefore contain gaps, so that the data of
//! every fragment starts at the same offset modulo eight as in its own GIOP message; positions include the gaps. Blocks
//! (text, octets, encapsulations and arrays of numbers) continue from one fragment to the next without a gap. For them,
//! a copy of the data without gaps follows, from which blocks across a boundary are borrowed. A table of the boundaries
//! ends the octets:
//!
//! ```text
//! data with gaps | the same data without | start and end of each piece ... | number of pieces
//! ```
//!
//! While a piece is read, the decoder's octets end with the piece, so reading within it costs
//! nothing extra; items that do not fit are read by this module.

use crate::decoder::Here;
use crate::prelude::*;
use crate::primitive::{aligned, padding};
use crate::{ByteOrder, Decoder, Dialect, Error, ErrorKind, Result};

/// Boundaries of the pieces of a message that is being joined.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Decoder, Dialect, PieceTable};
///
/// // A long fills the first piece. The double is in the second piece, after the padding that aligns it.
/// let mut octets = vec![0, 0, 0, 7];
/// let mut table = PieceTable::new(octets.len());
/// table.append(&mut octets, 4, &[0, 0, 0, 0, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
/// table.seal(&mut octets);
/// let mut decoder = Decoder::in_pieces(&octets, ByteOrder::Big, Dialect::new(1));
/// assert_eq!(decoder.long()?, 7);
/// assert_eq!(decoder.double()?, 1.0);
/// decoder.finish()?;
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PieceTable {
    bounds: Vec<(u32, u32)>,
}

impl PieceTable {
    /// Creates the table of a message whose first piece has `first` octets.
    pub fn new(first: usize) -> Self {
        Self { bounds: vec![(0, first as u32)] }
    }

    /// Appends the data of a further piece, which was `phase` octets, modulo eight, after its
    /// alignment origin. Empty pieces are ignored.
    pub fn append(&mut self, octets: &mut Vec<u8>, phase: usize, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        let start = octets.len() + (phase.wrapping_sub(octets.len()) & 7);
        octets.resize(start, 0);
        octets.extend_from_slice(data);
        self.bounds.push((start as u32, octets.len() as u32));
    }

    /// Returns the maximum size of message and table, without the copy, after `data` octets are appended to `before`.
    pub fn octets(&self, before: usize, data: usize) -> usize {
        before + 7 + data + (self.bounds.len() + 1) * ENTRY
    }

    /// Appends the copy without gaps and the table, so that [`Decoder::in_pieces`] can read the
    /// octets. Returns whether it did: a single piece stays unchanged.
    pub fn seal(&self, octets: &mut Vec<u8>) -> bool {
        if self.bounds.len() < 2 {
            return false;
        }
        octets.reserve_exact(octets.len() + (self.bounds.len() + 1) * ENTRY);
        for &(start, end) in &self.bounds {
            octets.extend_from_within(start as usize..end as usize);
        }
        for &(start, end) in &self.bounds {
            octets.extend_from_slice(&start.to_le_bytes());
            octets.extend_from_slice(&end.to_le_bytes());
        }
        octets.extend_from_slice(&(self.bounds.len() as u32).to_le_bytes());
        true
    }
}

/// Size of a table entry, in octets.
const ENTRY: usize = 8;

/// Pieces of a message that is being read, with the current one.
#[derive(Clone, Debug)]
pub(crate) struct Pieces<'de> {
    /// Data with gaps, followed by data without.
    octets: &'de [u8],
    list: Vec<Piece>,
    current: usize,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    start: usize,
    end: usize,
    /// Offset of the piece's data in the copy without gaps.
    copy: usize,
}

impl<'de> Pieces<'de> {
    /// Parses the table at the end of the octets; `None` if there is no valid one.
    fn find(octets: &'de [u8]) -> Option<Self> {
        let number = |octets: &[u8; 4]| u32::from_le_bytes(*octets) as usize;
        let (rest, count) = octets.split_last_chunk()?;
        let table = number(count).checked_mul(ENTRY)?;
        let (octets, table) = rest.split_at_checked(rest.len().checked_sub(table)?)?;
        let mut list = Vec::with_capacity(table.len() / ENTRY);
        let (mut after, mut copied) = (0, 0);
        for entry in table.as_chunks::<ENTRY>().0 {
            let [start, end] = [entry.first_chunk()?, entry.last_chunk()?].map(number);
            if start < after || end < start {
                return None;
            }
            list.push(Piece { start, end, copy: copied });
            after = end;
            copied += end - start;
        }
        for piece in &mut list {
            piece.copy += after;
        }
        let fits = !list.is_empty() && after.checked_add(copied) == Some(octets.len());
        fits.then_some(Self { octets, list, current: 0 })
    }

    /// Returns the current piece.
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Returns all data, with gaps.
    pub(crate) fn whole(&self) -> &'de [u8] {
        let end = self.list.last().map_or(0, |last| last.end);
        &self.octets[..end]
    }

    /// Makes the piece that contains a position current, and returns the octets up to its end.
    pub(crate) fn open(&mut self, position: usize) -> &'de [u8] {
        let before = self.list.partition_point(|piece| piece.end < position);
        self.current = before.min(self.list.len() - 1);
        &self.octets[..self.list[self.current].end]
    }

    /// Returns the number of octets of data after a position in the current piece.
    pub(crate) fn left(&self, at: usize) -> usize {
        let here = &self.list[self.current];
        let end = self.list.last().map_or(0, |last| last.copy + last.end - last.start);
        end.saturating_sub(here.copy + at.min(here.end).saturating_sub(here.start))
    }

    /// Finds an item that does not fit into the current piece. Returns its octets, the message up to the end of the
    /// piece in which it ends, and the position of its end.
    ///
    /// A block is aligned at its start and continues at the start of the next piece. A number is never split: it is
    /// aligned within the next piece, and the rest of the previous piece is padding.
    pub(crate) fn beyond(
        &self,
        current: &mut usize,
        at: usize,
        align: usize,
        size: usize,
        block: bool,
    ) -> Option<(&'de [u8], &'de [u8], usize)> {
        let mut index = *current;
        let mut start = aligned(at, align);
        while start > self.list[index].end || (!block && self.list[index].end - start < size) {
            index += 1;
            start = aligned(self.list.get(index)?.start, align);
        }
        let first = self.list[index].copy + start - self.list[index].start;
        let (mut left, mut at) = (size, start);
        while left > self.list[index].end - at {
            left -= self.list[index].end - at;
            index += 1;
            at = self.list.get(index)?.start;
        }
        let item = self.octets.get(first..first.checked_add(size)?)?;
        *current = index;
        Some((item, &self.octets[..self.list[index].end], at + left))
    }
}

impl<'de> Decoder<'de> {
    /// Creates a decoder of octets that a [`PieceTable`] sealed. Octets without a table are read as
    /// one piece.
    ///
    /// Allocates. Rejects chunked values, which GIOP 1.1 does not have.
    #[cold]
    pub fn in_pieces(message: &'de [u8], order: ByteOrder, dialect: Dialect) -> Self {
        let Some(mut pieces) = Pieces::find(message) else {
            return Self::new(message, order, dialect);
        };
        let mut decoder = Self::new(pieces.open(0), order, dialect);
        decoder.start_pieces(pieces);
        decoder
    }

    /// Returns a decoder of numbers that form a block, without individual alignment; `None` if
    /// consecutive numbers need no separate decoder.
    pub(crate) fn block_of(&mut self, size: usize, n: usize) -> Result<Option<Self>> {
        if !self.is_in_pieces() || n == 0 {
            return Ok(None);
        }
        let octets = self.block(size.min(8), n.saturating_mul(size))?;
        Ok(Some(self.inside(octets)))
    }
}

impl<'de> Here<'de> {
    /// Continues reading in the pieces.
    #[cold]
    pub(crate) fn in_next_piece(
        &self,
        pieces: &mut Pieces<'de>,
        align: usize,
        size: usize,
        block: bool,
    ) -> Result<(&'de [u8], &'de [u8], usize), Error> {
        let mut current = pieces.current;
        let found = pieces.beyond(&mut current, self.at, align, size, block);
        let Some(found) = found else {
            let needed = padding(self.at, align).saturating_add(size);
            let left = pieces.left(self.at);
            return Err(ErrorKind::Truncated { needed, left }.at(self.base + self.at));
        };
        pieces.current = current;
        Ok(found)
    }
}
