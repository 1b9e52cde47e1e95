use crate::prelude::*;
use core::hint::cold_path;

use crate::pieces::Pieces;
use crate::primitive::{Primitive, padding};
use crate::{Error, ErrorKind, LongDouble, Result, raw};

/// Size of a value, which depends only on its start offset modulo eight.
///
/// ```
/// use oxorb_cdr::Layout;
///
/// // struct { octet; long; short }: the padding before the long depends on where the struct starts.
/// const HOP: Layout = Layout::EMPTY.then::<u8>().then::<i32>().then::<i16>();
/// assert_eq!(HOP.size_at(0), 10);
/// assert_eq!(HOP.size_at(3), 7);
/// assert_eq!((HOP.min(), HOP.max(), HOP.stride()), (7, 10, 8));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Sizes in octets, padding included, for each start offset modulo eight.
    sizes: [usize; 8],
    /// Alignment of the first member; 0 without members.
    first: usize,
}

impl Layout {
    /// Layout without members, from which a struct starts.
    pub const EMPTY: Self = Self { sizes: [0; 8], first: 0 };

    /// Returns this layout followed by a `T`.
    #[must_use]
    pub const fn then<T: Fixed>(self) -> Self {
        self.followed_by(T::LAYOUT)
    }

    /// Returns the size in octets, padding included, of a value at this offset from the alignment
    /// origin.
    #[inline(always)]
    pub const fn size_at(&self, offset: usize) -> usize {
        self.sizes[offset & 7]
    }

    /// Returns the minimum size of a value, in octets.
    pub const fn min(&self) -> usize {
        let (mut best, mut phase) = (self.sizes[0], 1);
        while phase < 8 {
            if self.sizes[phase] < best {
                best = self.sizes[phase];
            }
            phase += 1;
        }
        best
    }

    /// Returns the maximum size of a value, in octets.
    pub const fn max(&self) -> usize {
        let (mut worst, mut phase) = (0, 0);
        while phase < 8 {
            if self.sizes[phase] > worst {
                worst = self.sizes[phase];
            }
            phase += 1;
        }
        worst
    }

    /// Returns the distance in octets from one value to the next in a sequence, from the second
    /// value on.
    ///
    /// The first member with the largest alignment puts everything after it at the same offset
    /// regardless of what precedes it; so all values except the first start alike, and have the
    /// same size.
    pub const fn stride(&self) -> usize {
        self.size_at(self.phase_after())
    }

    /// Returns the largest alignment of a member: values at offsets equal modulo this have the same
    /// layout.
    pub(crate) const fn align(&self) -> usize {
        let mut align = 1;
        while align < 8 {
            let mut phase = align;
            while phase < 8 && self.sizes[phase] == self.sizes[phase % align] {
                phase += 1;
            }
            if phase == 8 {
                return align;
            }
            align *= 2;
        }
        align
    }

    /// Returns the alignment of the first member, before which only padding is written.
    ///
    /// It cannot be derived from the sizes: `struct { octet; octet; long; }` takes as much at offset 1
    /// as an octet of padding and the same struct at offset 2, but its first octet is elsewhere.
    pub(crate) const fn first_align(&self) -> usize {
        if self.first == 0 { 1 } else { self.first }
    }

    /// Returns the offset modulo eight at which every value after the first starts, as far as
    /// alignment determines it.
    const fn phase_after(&self) -> usize {
        self.size_at(0) & 7
    }

    /// Returns the size and the phase common to all values except the first.
    pub(crate) const fn alike(&self) -> (usize, usize) {
        assert!(self.min() > 0, "every CDR value takes at least one octet");
        (self.stride(), self.phase_after())
    }

    const fn followed_by(mut self, next: Self) -> Self {
        let mut phase = 0;
        while phase < 8 {
            self.sizes[phase] += next.size_at(phase + self.sizes[phase]);
            phase += 1;
        }
        if self.first == 0 {
            self.first = next.first;
        }
        self
    }

    const fn times(mut self, count: usize) -> Self {
        if count == 0 {
            return Self::EMPTY;
        }
        let (stride, mut phase) = (self.stride(), 0);
        while phase < 8 {
            self.sizes[phase] += (count - 1) * stride;
            phase += 1;
        }
        self
    }

    const fn primitive(size: usize, align: usize) -> Self {
        let (mut sizes, mut phase) = ([0; 8], 0);
        while phase < 8 {
            sizes[phase] = padding(phase, align) + size;
            phase += 1;
        }
        Self { sizes, first: align }
    }
}

/// Type whose values all have the same layout: octets, booleans, numbers, enumerations, and structs
/// and arrays of them. Characters, which depend on code sets, and types with a length are not of
/// fixed layout.
///
/// Such values are written and read with one check for all members, and whole sequences of them
/// with constant offsets. Implement it member by member, in IDL order; [`fixed!`](crate::fixed!)
/// then derives [`Encode`](crate::Encode) and [`Decode`](crate::Decode) from it.
///
/// ```
/// use oxorb_cdr::{Fixed, FixedReader, FixedWriter, Layout, Result};
///
/// #[derive(Clone)]
/// struct Hop {
///     kind: u8,
///     distance: i32,
///     lane: i16,
/// }
///
/// impl Fixed for Hop {
///     const LAYOUT: Layout = Layout::EMPTY.then::<u8>().then::<i32>().then::<i16>();
///
///     #[inline(always)]
///     fn put(&self, w: &mut FixedWriter<'_>) {
///         self.kind.put(w);
///         self.distance.put(w);
///         self.lane.put(w);
///     }
///
///     #[inline(always)]
///     fn take(r: &mut FixedReader<'_>) -> Result<Self> {
///         Ok(Self { kind: Fixed::take(r)?, distance: Fixed::take(r)?, lane: Fixed::take(r)? })
///     }
/// }
///
/// oxorb_cdr::fixed!(Hop);
/// ```
pub trait Fixed: Clone {
    /// Layout of the members, in order.
    const LAYOUT: Layout;

    /// Writes the members in order, with exactly the number of octets of [`LAYOUT`](Self::LAYOUT).
    fn put(&self, w: &mut FixedWriter<'_>);

    /// Reads what [`put`](Self::put) wrote, or fails for an invalid value.
    fn take(r: &mut FixedReader<'_>) -> Result<Self>;

    /// Writes the elements of an array; numbers as one block. Not to be implemented.
    #[doc(hidden)]
    #[inline(always)]
    fn put_slice(items: &[Self], w: &mut FixedWriter<'_>) {
        for item in items {
            item.put(w);
        }
    }

    /// Reads an array; numbers as one block. Not to be implemented.
    #[doc(hidden)]
    #[inline(always)]
    fn take_array<const N: usize>(r: &mut FixedReader<'_>) -> Result<[Self; N]> {
        crate::array::try_from_fn(|| Self::take(r))
    }
}

/// Writer into octets whose number was calculated in advance.
#[derive(Debug)]
pub struct FixedWriter<'w> {
    octets: &'w mut [u8],
    at: usize,
    /// Offset of `octets` from the alignment origin; only the low three bits are significant.
    phase: usize,
    swap: bool,
    /// Whether all of `octets` are already zero, so that padding need not be written.
    zeroed: bool,
}

impl<'w> FixedWriter<'w> {
    #[inline(always)]
    pub(crate) fn new(octets: &'w mut [u8], phase: usize, swap: bool) -> Self {
        Self { octets, at: 0, phase, swap, zeroed: false }
    }

    /// Returns a writer over octets that are zero.
    #[inline(always)]
    pub(crate) fn zeroed(octets: &'w mut [u8], phase: usize, swap: bool) -> Self {
        Self { zeroed: true, ..Self::new(octets, phase, swap) }
    }

    /// Checks that everything was written: octets that `put` skipped would be sent with the
    /// previous contents of the buffer.
    #[inline(always)]
    pub(crate) fn finish(self) {
        debug_assert_eq!(
            self.at,
            self.octets.len(),
            "`put` must write as many octets as `LAYOUT` says"
        );
    }

    #[inline(always)]
    fn number<T: Primitive>(&mut self, v: T) {
        let start = self.at + padding(self.phase.wrapping_add(self.at), T::ALIGN);
        if !self.zeroed {
            self.octets[self.at..start].fill(0);
        }
        self.at = start + T::SIZE;
        v.store(self.swap, &mut self.octets[start..self.at]);
    }

    #[inline(always)]
    fn numbers<T: Primitive>(&mut self, items: &[T]) {
        let Some((first, rest)) = items.split_first() else {
            return;
        };
        self.number(*first);
        let octets = &mut self.octets[self.at..][..size_of_val(rest)];
        self.at += octets.len();
        if self.swap {
            T::store_all_swapped(rest, octets);
        } else {
            octets.copy_from_slice(bytemuck::cast_slice(rest));
        }
    }
}

/// Reader of octets whose number was calculated in advance.
#[derive(Debug)]
pub struct FixedReader<'r> {
    octets: &'r [u8],
    at: usize,
    /// Offset of `octets` from the alignment origin; only the low three bits are significant.
    phase: usize,
    /// Offset of `octets` from the start of the message.
    base: usize,
    swap: bool,
    /// Whether a boolean other than 0 and 1 is an error.
    strict: bool,
    /// Pieces with the rest of a value that does not end in `octets`.
    more: Option<Across<'r>>,
}

/// Pieces of the message from which a value of fixed layout is read.
#[derive(Debug)]
struct Across<'r> {
    pieces: &'r Pieces<'r>,
    current: usize,
    /// Whether the pieces end within the value.
    ended: bool,
}

impl<'r> FixedReader<'r> {
    #[inline(always)]
    pub(crate) fn new(
        octets: &'r [u8],
        phase: usize,
        base: usize,
        swap: bool,
        strict: bool,
    ) -> Self {
        Self { octets, at: 0, phase, base, swap, strict, more: None }
    }

    /// Creates a reader of octets up to the end of a piece, starting at this position in the
    /// message.
    pub(crate) fn across(
        octets: &'r [u8],
        at: usize,
        swap: bool,
        strict: bool,
        pieces: &'r Pieces<'r>,
    ) -> Self {
        let more = Across { pieces, current: pieces.current(), ended: false };
        Self { more: Some(more), ..Self::new(octets, at, at, swap, strict) }
    }

    /// Returns the position in the message after the value that was read; `None` if the message ended within the value.
    pub(crate) fn end(&self) -> Option<usize> {
        let ended = self.more.as_ref().is_some_and(|more| more.ended);
        (!ended).then_some(self.base + self.at)
    }

    /// Reads an item or a block that does not end in `octets` from the next piece; `None` if there
    /// is none.
    #[cold]
    #[inline(never)]
    fn beyond(&mut self, align: usize, size: usize, block: bool) -> Option<&'r [u8]> {
        let Some(more) = &mut self.more else {
            panic!("`take` must read as many octets as `LAYOUT` says");
        };
        let at = self.base + self.at;
        let found = more.pieces.beyond(&mut more.current, at, align, size, block);
        let Some((item, octets, at)) = found.filter(|_| !more.ended) else {
            more.ended = true;
            return None;
        };
        self.octets = &octets[at..];
        (self.at, self.phase, self.base) = (0, at, at);
        Some(item)
    }

    /// Returns the error for an ordinal, just read, that is not in its enumeration.
    #[inline(always)]
    pub fn bad_enumerator(&self, ordinal: u32) -> Error {
        self.bad_enumerator_of(ordinal, 4)
    }

    /// Returns the error for an unknown enumerator of an enumeration that takes one or two octets.
    #[inline(always)]
    pub fn bad_enumerator_of(&self, ordinal: u32, octets: usize) -> Error {
        cold_path();
        ErrorKind::BadEnumerator(ordinal).at(self.base + self.at - octets)
    }

    /// Converts a boolean, just read, that is neither 0 nor 1: an error if strict, else true.
    #[inline(always)]
    fn odd_boolean(&self, octet: u8) -> Result<bool> {
        cold_path();
        match self.strict {
            true => Err(ErrorKind::BadBoolean(octet).at(self.base + self.at - 1)),
            false => Ok(true),
        }
    }

    #[inline(always)]
    fn number<T: Primitive>(&mut self) -> T {
        let start = self.at + padding(self.phase.wrapping_add(self.at), T::ALIGN);
        let octets = match self.octets.get(start..start + T::SIZE) {
            Some(octets) => {
                self.at = start + T::SIZE;
                octets
            }
            None => match self.beyond(T::ALIGN, T::SIZE, false) {
                Some(octets) => octets,
                None => return T::zeroed(), // the decoder refuses the value
            },
        };
        T::from_wire(bytemuck::pod_read_unaligned(octets), self.swap)
    }

    #[inline(always)]
    fn numbers<T: Primitive, const N: usize>(&mut self) -> [T; N] {
        let mut items = [T::zeroed(); N];
        if N == 0 {
            return items;
        }
        let start = self.at + padding(self.phase.wrapping_add(self.at), T::ALIGN);
        let octets = match self.octets.get(start..start + N * T::SIZE) {
            Some(octets) => {
                self.at = start + N * T::SIZE;
                octets
            }
            None => match self.beyond(T::ALIGN, N * T::SIZE, true) {
                Some(octets) => octets,
                None => return items,
            },
        };
        for (octets, number) in octets.chunks_exact(T::SIZE).zip(&mut items) {
            *number = T::from_wire(bytemuck::pod_read_unaligned(octets), self.swap);
        }
        items
    }
}

/// Writes the values of a sequence after the first, each of which starts where its predecessor ends. `octets` must have
/// exactly their size.
///
/// Size, phase and byte order are constants here, so with `put` inlined only the stores of a value remain.
#[inline(always)]
pub(crate) fn put_alike<T: Fixed, const SWAP: bool>(octets: &mut [u8], items: &[T]) {
    let (stride, phase) = const { T::LAYOUT.alike() };
    let mut rest = octets;
    for item in items {
        // Splits by hand, because iterators over pieces of a slice are not always inlined.
        let (octets, after) = rest.split_at_mut(stride);
        rest = after;
        if let (8, Some(octets)) = (stride, octets.first_chunk_mut::<8>()) {
            // Assembles a value of eight octets in a register, so that it is stored at once.
            let mut block = [0; 8];
            let mut writer = FixedWriter::zeroed(&mut block, phase, SWAP);
            item.put(&mut writer);
            writer.finish();
            *octets = block;
            continue;
        }
        let mut writer = FixedWriter::new(octets, phase, SWAP);
        item.put(&mut writer);
        writer.finish();
    }
}

/// Reads as many values as `octets` contains. The first one starts at the offset `PHASE` modulo eight, each other one
/// where its predecessor ends. Returns `None` if any value is invalid or would be rejected by a strict decoder; the
/// caller then reads them again one by one, which returns the values or the error.
// Returns a box, because it fits into two registers, whereas a vector is returned in memory.
#[inline(never)]
pub(crate) fn take_all<T: Fixed, const PHASE: usize>(
    octets: &[u8],
    swap: bool,
) -> Option<Box<[T]>> {
    match swap {
        true => take_all_in::<T, PHASE, true>(octets),
        false => take_all_in::<T, PHASE, false>(octets),
    }
}

#[inline(always)]
fn take_all_in<T: Fixed, const PHASE: usize, const SWAP: bool>(octets: &[u8]) -> Option<Box<[T]>> {
    let (stride, phase) = const { T::LAYOUT.alike() };
    let (first, mut rest) = octets.split_at_checked(const { T::LAYOUT.size_at(PHASE) })?;
    let first = T::take(&mut FixedReader::new(first, PHASE, 0, SWAP, true)).ok()?;
    raw::read_after(first, rest.len() / stride, || {
        let (octets, after) = rest.split_at_checked(stride)?;
        rest = after;
        T::take(&mut FixedReader::new(octets, phase, 0, SWAP, true)).ok()
    })
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Fixed for $number {
            const LAYOUT: Layout = Layout::primitive(<$number as Primitive>::SIZE, <$number as Primitive>::ALIGN);

            #[inline(always)]
            fn put(&self, w: &mut FixedWriter<'_>) {
                w.number(*self);
            }

            #[inline(always)]
            fn take(r: &mut FixedReader<'_>) -> Result<Self> {
                Ok(r.number())
            }

            #[inline(always)]
            fn put_slice(items: &[Self], w: &mut FixedWriter<'_>) {
                w.numbers(items);
            }

            #[inline(always)]
            fn take_array<const N: usize>(r: &mut FixedReader<'_>) -> Result<[Self; N]> {
                Ok(r.numbers())
            }
        }
    )*};
}

numbers!(u8, i16, u16, i32, u32, i64, u64, f32, f64);

impl Fixed for LongDouble {
    const LAYOUT: Layout = Layout::primitive(16, 8);

    #[inline(always)]
    fn put(&self, w: &mut FixedWriter<'_>) {
        w.number(self.to_bits());
    }

    #[inline(always)]
    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        Ok(Self::from_bits(r.number()))
    }
}

impl Fixed for bool {
    const LAYOUT: Layout = u8::LAYOUT;

    #[inline(always)]
    fn put(&self, w: &mut FixedWriter<'_>) {
        w.number(u8::from(*self));
    }

    #[inline(always)]
    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        match r.number() {
            0u8 => Ok(false),
            1 => Ok(true),
            other => r.odd_boolean(other),
        }
    }
}

impl<T: Fixed, const N: usize> Fixed for [T; N] {
    const LAYOUT: Layout = T::LAYOUT.times(N);

    #[inline(always)]
    fn put(&self, w: &mut FixedWriter<'_>) {
        T::put_slice(self, w);
    }

    #[inline(always)]
    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        T::take_array(r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByteOrder, Decoder, Dialect, Encoder};

    #[derive(Clone, Debug, PartialEq)]
    struct Pair(u8, u8, i32);

    impl Fixed for Pair {
        const LAYOUT: Layout = Layout::EMPTY.then::<u8>().then::<u8>().then::<i32>();

        fn put(&self, w: &mut FixedWriter<'_>) {
            self.0.put(w);
            self.1.put(w);
            self.2.put(w);
        }

        fn take(r: &mut FixedReader<'_>) -> Result<Self> {
            Ok(Self(u8::take(r)?, u8::take(r)?, i32::take(r)?))
        }
    }

    /// Checks a layout whose sizes equal those of a struct aligned to two, although its alignment
    /// differs.
    #[test]
    fn first_members_stand_where_the_message_has_come_to() {
        let from = |start: usize| {
            let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
            e.copy_octets(&[0xff; 8][..start]);
            e.fixed(&Pair(1, 2, 3));
            e.finish().to_vec()
        };
        assert_eq!(Pair::LAYOUT.first_align(), 1);
        assert_eq!(from(1), [0xff, 1, 2, 0, 0, 0, 0, 3]);
        assert_eq!(from(3)[3..], [1, 2, 0, 0, 0, 0, 0, 0, 3]);
        for start in 0..8 {
            let octets = from(start);
            let mut d = Decoder::new(&octets, ByteOrder::Big, Dialect::new(2)).at(start);
            assert_eq!(d.fixed::<Pair>(), Ok(Pair(1, 2, 3)), "from {start}");
        }
    }
}
