//! Values of fixed layout, single and in sequences.

use super::Decoder;
use crate::fixed::take_all;
use crate::interpreted::{FixedSlot, Grow};
use crate::prelude::*;
use crate::primitive::{POSITIONS, aligned};
use crate::{ErrorKind, Fixed, FixedReader, Layout, Result};

impl<'de> Decoder<'de> {
    /// Reads a value of fixed layout, with one check for all its members.
    // Always inlined: a value returned in memory would be stored member by member and then loaded
    // in larger pieces, for which the CPU stalls longer than the value takes to read.
    #[inline(always)]
    pub fn fixed<T: Fixed>(&mut self) -> Result<T> {
        let start = aligned(self.at, const { T::LAYOUT.first_align() });
        match start & const { T::LAYOUT.align() - 1 } {
            // Most values start at an offset of 0, or after a long at 4, modulo eight. For these
            // two, every offset is a constant.
            0 => self.fixed_from::<T, 0>(start),
            4 => self.fixed_from::<T, 4>(start),
            _ => apart(|place| self.fixed_anywhere(place)),
        }
    }

    #[inline(always)]
    fn fixed_from<T: Fixed, const PHASE: usize>(&mut self, start: usize) -> Result<T> {
        let start = start & POSITIONS;
        let size = const { T::LAYOUT.size_at(PHASE) };
        match self.octets.get(start..start + size) {
            Some(octets) => {
                self.at = start + size;
                let position = self.base + start;
                T::take(&mut FixedReader::new(
                    octets,
                    PHASE,
                    position,
                    self.swap,
                    self.limits.strict,
                ))
            }
            None => apart(|place| self.fixed_anywhere(place)),
        }
    }

    #[cold]
    #[inline(never)]
    fn fixed_anywhere<T: Fixed>(&mut self, place: &mut Option<T>) -> Result<()> {
        self.fixed_with(const { &T::LAYOUT }, |reader| {
            *place = Some(T::take(reader)?);
            Ok(())
        })
    }

    /// Reads `n` values of fixed layout; see [`Encoder::fixed_slice`](crate::Encoder::fixed_slice).
    #[inline(always)]
    pub fn fixed_vec<T: Fixed>(&mut self, n: usize) -> Result<Vec<T>> {
        self.charge(n, size_of::<T>())?;
        let start = aligned(self.at, const { T::LAYOUT.first_align() });
        let items = match start & const { T::LAYOUT.align() - 1 } {
            // After the count of a sequence, a multiple of four octets precedes, so no other offset
            // is possible.
            0 => self.fixed_vec_from::<T, 0>(start, n),
            4 => self.fixed_vec_from::<T, 4>(start, n),
            _ => None,
        };
        match items {
            Some(items) => Ok(items.into_vec()),
            None => apart(|items| self.fixed_one_by_one(n, items)),
        }
    }

    #[inline(always)]
    fn fixed_vec_from<T: Fixed, const PHASE: usize>(
        &mut self,
        start: usize,
        n: usize,
    ) -> Option<Box<[T]>> {
        let (stride, first) = const { (T::LAYOUT.stride(), T::LAYOUT.size_at(PHASE)) };
        let rest = n.checked_sub(1)?.checked_mul(stride)?;
        let octets = self.octets.get(start..)?.get(..first.checked_add(rest)?)?;
        let items = take_all::<T, PHASE>(octets, self.swap)?;
        self.at = start + octets.len();
        Some(items)
    }

    /// Reads the values that [`fixed_vec`](Self::fixed_vec) cannot read at once, because they are
    /// truncated, continue in the next chunk, or are invalid.
    #[cold]
    #[inline(never)]
    fn fixed_one_by_one<T: Fixed>(&mut self, n: usize, items: &mut Option<Vec<T>>) -> Result<()> {
        let items = items.insert(Vec::new());
        let Some(rest) = n.checked_sub(1) else {
            return Ok(());
        };
        items.push(self.fixed()?);
        if self.is_chunked() {
            for _ in 0..rest {
                items.push(self.fixed()?);
            }
            return Ok(());
        }
        let (stride, phase) = const { T::LAYOUT.alike() };
        let position = self.position();
        let octets = self.octets(rest.saturating_mul(stride))?;
        for (index, octets) in octets.chunks_exact(stride).enumerate() {
            let position = position + index * stride;
            items.push(T::take(&mut FixedReader::new(
                octets,
                phase,
                position,
                self.swap,
                self.limits.strict,
            ))?);
        }
        Ok(())
    }

    /// Reads a value of fixed layout with `take`; the value may extend over two pieces.
    pub(crate) fn fixed_with(
        &mut self,
        layout: &Layout,
        take: impl FnOnce(&mut FixedReader<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.remaining() >= layout.size_at(self.at) || !self.is_in_pieces() {
            return take(&mut self.fixed_reader(layout)?);
        }
        let (octets, at) = (&self.octets[self.at..], self.at);
        let pieces = self.values.as_ref().and_then(|values| values.pieces.as_ref());
        let pieces = pieces.expect("in pieces");
        let strict = self.limits.strict;
        let mut reader = FixedReader::across(octets, at, self.swap, strict, pieces);
        let taken = take(&mut reader);
        let end = reader.end();
        self.at = end.unwrap_or(at);
        self.reopen();
        match (end, taken) {
            (None, _) => Err(self.truncated(layout.size_at(at))),
            (Some(_), taken) => taken,
        }
    }

    /// Returns a reader of a value of fixed layout, and advances past the value.
    ///
    /// The value may start the next chunk. A value across the end of a chunk is rejected, since its
    /// members are read at constant offsets.
    fn fixed_reader(&mut self, layout: &Layout) -> Result<FixedReader<'de>> {
        let size = layout.size_at(self.at);
        if self.remaining() < size {
            if !self.is_chunked() {
                return Err(self.truncated(size));
            }
            self.beyond(1, 0)?;
        }
        let (phase, position) = (self.at, self.position());
        let octets = self.octets[phase..].get(..layout.size_at(phase));
        let octets = octets.ok_or_else(|| self.error(ErrorKind::BadChunk))?;
        self.at += octets.len();
        Ok(FixedReader::new(octets, phase, position, self.swap, self.limits.strict))
    }

    /// Reads values as [`fixed_vec`](Self::fixed_vec) does, into slots of any type.
    pub(crate) fn fixed_each(
        &mut self,
        n: usize,
        layout: &Layout,
        items: &mut dyn Grow<dyn FixedSlot>,
    ) -> Result<()> {
        let Some(rest) = n.checked_sub(1) else {
            return Ok(());
        };
        let in_one_piece = match self.is_chunked() {
            true => 0,
            false => rest,
        };
        let (stride, phase) = layout.alike();
        // Reserves no more than the remaining octets can contain, because `n` comes from the peer.
        // If `n` is larger, the first missing value is an error.
        items.reserve(n.min(self.remaining() / layout.min() + 1));
        self.fixed_with(layout, |reader| items.grow().take_slot(reader))?;
        let position = self.position();
        let octets = self.octets(in_one_piece.saturating_mul(stride))?;
        for (index, octets) in octets.chunks_exact(stride).enumerate() {
            let position = position + index * stride;
            let mut reader =
                FixedReader::new(octets, phase, position, self.swap, self.limits.strict);
            items.grow().take_slot(&mut reader)?;
        }
        for _ in in_one_piece..rest {
            self.fixed_with(layout, |reader| items.grow().take_slot(reader))?;
        }
        Ok(())
    }
}

/// Calls `fill`, which is not inlined, with a separate slot. If it filled the slot of the result
/// directly, the result would have to be in memory on every path, and each value would be written
/// there and moved once more.
#[inline(always)]
fn apart<T>(fill: impl FnOnce(&mut Option<T>) -> Result<()>) -> Result<T> {
    let mut place = None;
    match fill(&mut place) {
        Err(error) => Err(error),
        Ok(()) => Ok(place.expect("filled")),
    }
}
