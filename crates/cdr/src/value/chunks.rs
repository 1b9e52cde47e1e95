//! Chunks of the state of a value (CORBA 3.3 part 2, 9.3.4.6).
//!
//! While a chunk is read, the decoder's octets end with the chunk, so reading within it costs
//! nothing extra; items that do not fit are handled here, and continue in the next chunk.

use super::{Incoming, tag};
use crate::decoder::Here;
use crate::prelude::*;
use crate::primitive::{Primitive, padding};
use crate::{Decoder, Error, ErrorKind, Result};

/// Position of the reader in the chunks of a value.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Chunking<'de> {
    /// All octets of the message or encapsulation.
    whole: &'de [u8],
    /// Whether the innermost value is chunked: the decoder's octets then end with the current
    /// chunk, or, between two chunks, at the current position.
    active: bool,
    /// Number of open chunked values.
    level: u32,
    /// Level whose end tag ended all values of this level and deeper, though the inner ones are not
    /// left yet; 0 if none.
    ended: u32,
}

/// Position at which reading continues after returning to a value that was skipped.
#[derive(Clone, Copy)]
pub(crate) struct Back<'de> {
    chunking: Chunking<'de>,
    octets: &'de [u8],
    at: usize,
}

impl<'de> Incoming<'de> {
    /// Returns the state at the start of a message or encapsulation.
    pub(crate) fn of(whole: &'de [u8]) -> Self {
        let mut values = Self::default();
        values.chunking.whole = whole;
        values
    }
}

impl<'de> Chunking<'de> {
    /// Returns all octets of the message or encapsulation.
    pub(super) fn whole(&self) -> &'de [u8] {
        self.whole
    }

    /// Returns the number of open chunked values.
    pub(super) fn level(&self) -> u32 {
        self.level
    }
}

/// Mark between chunks.
enum Mark {
    /// Start of a chunk of this many octets.
    Chunk(usize),
    /// End of the value of this level and all deeper ones.
    End(u32),
    /// Null, or the tag of a value.
    Value(u32),
}

impl<'de> Decoder<'de> {
    /// Reads the tag with which a value, an indirection or null starts.
    pub(super) fn value_tag(&mut self) -> Result<u32> {
        if !self.incoming().chunking.active {
            return self.ulong();
        }
        if self.remaining() > padding(self.cursor(), 4) {
            return self.tag_in_chunk();
        }
        match self.control()? {
            tag::NULL => Ok(tag::NULL),
            tag::INDIRECTION => Ok(tag::INDIRECTION),
            tag @ tag::VALUE..=tag::LAST => Ok(tag),
            size @ 1..tag::VALUE => {
                self.enter_chunk(size as usize)?;
                self.tag_in_chunk()
            }
            _ => Err(self.error_back(4, ErrorKind::BadChunk)),
        }
    }

    /// Reads null, or the tag of an indirection, within a chunk. Both may be within a chunk (as
    /// Java ORBs and OxORB write them) or between two; tags of values may only be between chunks.
    fn tag_in_chunk(&mut self) -> Result<u32> {
        match self.ulong()? {
            tag @ (tag::NULL | tag::INDIRECTION) => Ok(tag),
            other => Err(self.error_back(4, ErrorKind::BadValueTag(other))),
        }
    }

    /// Continues after null or an indirection, which may have been between chunks.
    pub(super) fn after_reference(&mut self) {
        let chunking = self.incoming().chunking;
        if chunking.active && self.all_octets().len() == chunking.whole.len() {
            self.stand_between();
        }
    }

    /// Enters the state of a value; returns the state of the enclosing value for
    /// [`leave_value`](Self::leave_value).
    pub(crate) fn enter_value(&mut self, chunked: bool) -> bool {
        let chunking = &mut self.incoming().chunking;
        let outer = core::mem::replace(&mut chunking.active, chunked);
        if chunked {
            chunking.level += 1;
            self.stand_between();
        }
        outer
    }

    /// Leaves the state of a value. Skips the remaining octets if the value was truncated;
    /// otherwise they are an error.
    pub(crate) fn leave_value(&mut self, outer: bool, truncated: bool) -> Result<()> {
        if self.incoming().chunking.active {
            self.end_value(truncated)?;
        }
        let chunking = &mut self.incoming().chunking;
        chunking.active = outer;
        let whole = chunking.whole;
        if outer {
            self.stand_between();
        } else if !self.is_in_pieces() {
            self.set_octets(whole);
        }
        Ok(())
    }

    fn end_value(&mut self, truncated: bool) -> Result<()> {
        let left = self.remaining();
        if left > 0 {
            if !truncated {
                return Err(self.error(ErrorKind::TrailingOctets(left)));
            }
            self.jump(self.cursor() + left);
        }
        let level = self.incoming().chunking.level;
        self.skip_to_end(level, truncated)?;
        let chunking = &mut self.incoming().chunking;
        chunking.level -= 1;
        if chunking.ended == level {
            chunking.ended = 0;
        }
        Ok(())
    }

    /// Skips to after the end tag of a level, across all inner values.
    fn skip_to_end(&mut self, level: u32, truncated: bool) -> Result<()> {
        let mut inner = level;
        while self.incoming().chunking.ended == 0 {
            match self.mark()? {
                Mark::End(end) if end <= level => self.incoming().chunking.ended = end,
                Mark::End(end) if end <= inner => inner = end - 1,
                Mark::Chunk(size) if truncated => {
                    self.octets(size)?;
                }
                Mark::Value(tag::NULL) if truncated => {}
                Mark::Value(tag) if truncated => {
                    if !self.skip_header(tag, inner)? {
                        // The end of an unknown value can be found only by its chunks, and this
                        // value has none.
                        return Err(self.error(ErrorKind::BadChunk));
                    }
                    inner += 1;
                }
                Mark::End(_) => return Err(self.error_back(4, ErrorKind::BadChunk)),
                Mark::Chunk(size) => {
                    return Err(self.error(ErrorKind::TrailingOctets(size)));
                }
                Mark::Value(_) => return Err(self.error_back(4, ErrorKind::TrailingOctets(4))),
            }
        }
        Ok(())
    }

    fn mark(&mut self) -> Result<Mark> {
        Ok(match self.control()? {
            size @ 1..tag::VALUE => Mark::Chunk(size as usize),
            tag @ (tag::NULL | tag::VALUE..=tag::LAST) => Mark::Value(tag),
            end => Mark::End(end.wrapping_neg()),
        })
    }

    /// Returns the number of octets left in the message or encapsulation, including those after the
    /// current chunk.
    #[cold]
    pub(crate) fn remaining_in_all(&self) -> usize {
        if let Some(pieces) = (self.values.as_ref()).and_then(|values| values.pieces.as_ref()) {
            return pieces.left(self.cursor());
        }
        let chunking = self.values.as_ref().map(|values| values.chunking);
        match chunking.filter(|chunking| chunking.active) {
            Some(chunking) => chunking.whole.len() - self.cursor(),
            None => self.remaining(),
        }
    }

    /// Reports whether the octets may end between any two items with others following: the current
    /// state is chunked, or the message is in pieces.
    pub(crate) fn is_chunked(&self) -> bool {
        (self.values.as_ref())
            .is_some_and(|values| values.chunking.active || values.pieces.is_some())
    }

    /// Reads a long between chunks, where only the end of the message is a limit.
    fn control(&mut self) -> Result<u32> {
        let active = {
            let chunking = &mut self.incoming().chunking;
            core::mem::take(&mut chunking.active)
        };
        let whole = self.incoming().chunking.whole;
        self.set_octets(whole);
        let long = self.ulong();
        self.incoming().chunking.active = active;
        long
    }

    fn enter_chunk(&mut self, size: usize) -> Result<()> {
        let whole = self.incoming().chunking.whole;
        let end = self.cursor().saturating_add(size);
        match whole.get(..end) {
            Some(chunk) => {
                self.set_octets(chunk);
                Ok(())
            }
            None => {
                self.set_octets(whole);
                let left = self.remaining();
                Err(self.error(ErrorKind::Truncated { needed: size, left }))
            }
        }
    }

    /// Hides all octets until the next chunk is entered.
    fn stand_between(&mut self) {
        let whole = self.incoming().chunking.whole;
        self.set_octets(&whole[..self.cursor()]);
    }

    /// Moves to the tag of an earlier value, nested in `level` chunked values.
    pub(super) fn go_back(&mut self, to: usize, level: u32) -> Back<'de> {
        let back = self.place();
        let chunking = &mut self.incoming().chunking;
        let whole = chunking.whole;
        (chunking.active, chunking.level, chunking.ended) = (false, level, 0);
        self.set_octets(whole);
        self.jump_to(to);
        self.reopen();
        back
    }

    /// Returns the current position, for [`return_from`](Self::return_from).
    pub(crate) fn place(&mut self) -> Back<'de> {
        let (octets, at) = (self.all_octets(), self.cursor());
        Back { chunking: self.incoming().chunking, octets, at }
    }

    pub(crate) fn return_from(&mut self, back: Back<'de>) {
        self.incoming().chunking = back.chunking;
        self.set_octets(back.octets);
        self.jump(back.at);
        self.reopen();
    }

    pub(super) fn incoming(&mut self) -> &mut Incoming<'de> {
        let whole = self.all_octets();
        self.values.get_or_insert_with(|| Box::new(Incoming::of(whole)))
    }
}

impl<'de> Here<'de> {
    /// Finds an aligned item in the next chunk or piece, and returns its octets, those of the
    /// chunk, and the offset of its end.
    ///
    /// It is an error if there is no further chunk, or if the chunk ends within the item; padding
    /// that some writers put before the end of a chunk is skipped.
    #[cold]
    #[inline(never)]
    pub(crate) fn beyond(
        mut self,
        values: Option<&mut Incoming<'de>>,
        align: usize,
        size: usize,
        block: bool,
    ) -> Result<(&'de [u8], &'de [u8], usize)> {
        let left = self.octets.len() - self.at;
        let pad = padding(self.at, align);
        let chunking = values.as_ref().map(|values| values.chunking);
        if let Some(pieces) = values.and_then(|values| values.pieces.as_mut()) {
            return self.in_next_piece(pieces, align, size, block);
        }
        let Some(chunking) = chunking.filter(|chunking| chunking.active) else {
            let needed = pad.saturating_add(size);
            return Err(self.error(ErrorKind::Truncated { needed, left }));
        };
        if left > pad || chunking.ended != 0 {
            return Err(self.error(ErrorKind::BadChunk));
        }
        self.octets = self.chunk(chunking.whole, self.octets.len())?;
        self.at += padding(self.at, align);
        let end = self.at.saturating_add(size);
        match self.octets.get(self.at..end) {
            Some(item) => Ok((item, self.octets, end)),
            None => Err(self.error(ErrorKind::BadChunk)),
        }
    }

    /// Enters the chunk whose size starts after `end`.
    fn chunk(&mut self, whole: &'de [u8], end: usize) -> Result<&'de [u8]> {
        let size_at = end + padding(end, 4);
        self.at = size_at;
        let size = whole.get(size_at..).and_then(|rest| rest.first_chunk());
        let Some(size) = size else {
            let left = whole.len().saturating_sub(size_at);
            return Err(self.error(ErrorKind::Truncated { needed: 4, left }));
        };
        let size = u32::from_wire(*size, self.swap);
        if !(1..tag::VALUE).contains(&size) {
            return Err(self.error(ErrorKind::BadChunk));
        }
        self.at += 4;
        let needed = size as usize;
        let chunk = whole.get(..self.at.saturating_add(needed));
        let left = whole.len() - self.at;
        chunk.ok_or_else(|| self.error(ErrorKind::Truncated { needed, left }))
    }

    fn error(&self, kind: ErrorKind) -> Error {
        kind.at(self.base + self.at)
    }
}
