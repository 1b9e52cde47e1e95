//! Reading past the current octets: in the next chunk of a value, or in the next piece of the
//! message.

use super::Decoder;
use crate::Result;
use crate::pieces::Pieces;
use crate::prelude::*;
use crate::value::Incoming;

/// State of a decoder whose next item does not fit into the remaining octets.
pub(crate) struct Here<'de> {
    pub(crate) octets: &'de [u8],
    pub(crate) at: usize,
    pub(crate) base: usize,
    pub(crate) swap: bool,
}

impl<'de> Decoder<'de> {
    /// Continues in the next chunk or piece, if there is one, for an item that does not fit into
    /// the remaining octets.
    #[inline(always)]
    pub(super) fn beyond(&mut self, align: usize, size: usize) -> Result<&'de [u8]> {
        self.item_beyond(align, size, false)
    }

    /// Continues in the next chunk or piece for a block of items, of which only the first is
    /// aligned.
    #[inline(always)]
    pub(super) fn block_beyond(&mut self, align: usize, size: usize) -> Result<&'de [u8]> {
        self.item_beyond(align, size, true)
    }

    #[inline(always)]
    fn item_beyond(&mut self, align: usize, size: usize, block: bool) -> Result<&'de [u8]> {
        // Passes and assigns single fields: a reference to the whole decoder would force it out of
        // registers into memory.
        let here = Here { octets: self.octets, at: self.at, base: self.base, swap: self.swap };
        let (item, octets, at) = here.beyond(self.values.as_deref_mut(), align, size, block)?;
        (self.octets, self.at) = (octets, at);
        Ok(item)
    }

    /// Sets the pieces of the message, of which the current octets are the first.
    pub(crate) fn start_pieces(&mut self, pieces: Pieces<'de>) {
        let mut values = Box::new(Incoming::of(pieces.whole()));
        values.pieces = Some(pieces);
        self.values = Some(values);
    }

    /// Moves to a position outside the current octets: in another piece, or past the end.
    #[cold]
    #[inline(never)]
    pub(super) fn at_a_distance(&mut self, position: usize) {
        self.at = position;
        self.reopen();
        self.at = self.at.min(self.octets.len());
    }

    /// Makes the piece that contains the position the current octets.
    pub(crate) fn reopen(&mut self) {
        if let Some(pieces) = self.values.as_mut().and_then(|values| values.pieces.as_mut()) {
            self.octets = pieces.open(self.at);
        }
    }

    /// Reports whether the message is in pieces, each of which restarts alignment.
    pub(crate) fn is_in_pieces(&self) -> bool {
        (self.values.as_ref()).is_some_and(|values| values.pieces.is_some())
    }
}
