use crate::prelude::*;
use core::mem;

use crate::copies;
use crate::fixed::put_alike;
use crate::gather::{Encoded, Gathered};
use crate::interpreted::FixedPart;
use crate::primitive::{Primitive, aligned};
use crate::rare::drop_rare;
use crate::raw::Room;
use crate::value::Outgoing;
use crate::{ByteOrder, Dialect, Error, ErrorKind, Fixed, FixedWriter, Layout, LongDouble, Result};

/// Encoder of CDR into a buffer that can be reused for the next message.
///
/// Alignment counts from the first octet of the buffer, where a GIOP header starts, or from the
/// start of the current encapsulation. Writing numbers cannot fail; operations that can
/// (characters, bounds) return a `Result`.
///
/// The initial contents of the buffer are scratch space that need not be cleared or zeroed: pass the buffer that
/// [`Encoded::into_buffer`] returned, unchanged, and nothing is allocated or zeroed in steady state.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Dialect, Encoder};
///
/// let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
/// encoder.octet(7);
/// encoder.ulong(1);
/// encoder.string("hi")?;
/// assert_eq!(encoder.finish().contiguous(), [7, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, b'h', b'i', 0]);
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
#[derive(Debug)]
pub struct Encoder<'a> {
    room: Room,
    swap: bool,
    order: ByteOrder,
    dialect: Dialect,
    gather_above: usize,
    gathered: Gathered<'a>,
    /// Values written so far; `None` in most messages.
    pub(crate) values: Option<Box<Outgoing>>,
}

impl<'a> Encoder<'a> {
    /// Starts a message in a buffer, whose contents are ignored and whose capacity is reused.
    #[inline(always)]
    pub fn new(buffer: Vec<u8>, order: ByteOrder, dialect: Dialect) -> Self {
        Self {
            room: Room::new(buffer),
            swap: order.is_foreign(),
            order,
            dialect,
            gather_above: usize::MAX,
            gathered: Gathered::default(),
            values: None,
        }
    }

    /// References slices of octets and numbers longer than this many octets instead of copying
    /// them.
    ///
    /// At most eight slices are referenced; later ones are copied. By default all are copied.
    #[inline(always)]
    #[must_use]
    pub fn gather_above(mut self, octets: usize) -> Self {
        self.gather_above = octets;
        self
    }

    /// Returns the byte order in which numbers are written.
    #[inline]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Returns the current rules for characters.
    #[inline]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Changes the rules for subsequent characters.
    #[inline]
    pub fn set_dialect(&mut self, dialect: Dialect) {
        self.dialect = dialect;
    }

    /// Returns the number of octets written so far, including gathered ones.
    #[inline]
    pub fn position(&self) -> usize {
        self.room.used() + self.gathered.octets()
    }

    /// Writes zero octets up to the next multiple of `to`, a power of two up to eight.
    #[inline]
    pub fn align(&mut self, to: usize) {
        debug_assert!(to.is_power_of_two() && to <= 8, "CDR aligns to 1, 2, 4 or 8");
        self.room.align(to);
    }

    /// Reserves space for this many octets, so that writing them does not grow the buffer step by
    /// step.
    #[inline]
    pub fn reserve(&mut self, octets: usize) {
        self.room.reserve(octets);
    }

    /// Writes an octet.
    #[inline]
    pub fn octet(&mut self, v: u8) {
        self.number(v);
    }

    /// Writes a boolean, as 0 or 1.
    #[inline]
    pub fn boolean(&mut self, v: bool) {
        self.octet(v.into());
    }

    /// Writes a short.
    #[inline]
    pub fn short(&mut self, v: i16) {
        self.number(v);
    }

    /// Writes an unsigned short.
    #[inline]
    pub fn ushort(&mut self, v: u16) {
        self.number(v);
    }

    /// Writes a long.
    #[inline]
    pub fn long(&mut self, v: i32) {
        self.number(v);
    }

    /// Writes an unsigned long.
    #[inline]
    pub fn ulong(&mut self, v: u32) {
        self.number(v);
    }

    /// Writes a long long.
    #[inline]
    pub fn longlong(&mut self, v: i64) {
        self.number(v);
    }

    /// Writes an unsigned long long.
    #[inline]
    pub fn ulonglong(&mut self, v: u64) {
        self.number(v);
    }

    /// Writes a float.
    #[inline]
    pub fn float(&mut self, v: f32) {
        self.number(v);
    }

    /// Writes a double.
    #[inline]
    pub fn double(&mut self, v: f64) {
        self.number(v);
    }

    /// Writes a long double: 16 octets, aligned to eight.
    #[inline]
    pub fn long_double(&mut self, v: LongDouble) {
        self.number(v.to_bits());
    }

    /// Writes the count of a sequence after checking it against the bound of its type; `None` is unbounded.
    #[inline]
    pub fn length(&mut self, n: usize, bound: Option<u32>) -> Result<()> {
        let bound = bound.unwrap_or(u32::MAX);
        match u32::try_from(n) {
            Ok(count) if count <= bound => {
                self.ulong(count);
                Ok(())
            }
            _ => {
                Err(ErrorKind::BoundExceeded { length: n, bound: bound as usize }
                    .at(self.position()))
            }
        }
    }

    /// Writes octets without a count. Slices above the threshold of
    /// [`gather_above`](Self::gather_above) are referenced.
    #[inline]
    pub fn octets(&mut self, v: &'a [u8]) {
        if v.len() <= self.gather_above || !self.gather(v) {
            self.copy_octets(v);
        }
    }

    /// Writes octets without a count that are better sent in place: references them regardless of
    /// their number, unless gathering is disabled.
    pub(crate) fn placed_octets(&mut self, v: &'a [u8]) {
        if self.gather_above == usize::MAX || !self.gather(v) {
            self.copy_octets(v);
        }
    }

    /// Writes octets without a count, always as a copy.
    #[inline]
    pub fn copy_octets(&mut self, v: &[u8]) {
        copies::copy(self.claim(v.len()), v);
    }

    /// Writes booleans without a count.
    #[inline]
    pub fn booleans(&mut self, v: &'a [bool]) {
        self.octets(bytemuck::cast_slice(v));
    }

    /// Writes shorts without a count: one block in native order, swapped one by one otherwise.
    #[inline]
    pub fn shorts(&mut self, v: &'a [i16]) {
        self.numbers(v);
    }

    /// Writes unsigned shorts without a count, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn ushorts(&mut self, v: &'a [u16]) {
        self.numbers(v);
    }

    /// Writes longs without a count, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn longs(&mut self, v: &'a [i32]) {
        self.numbers(v);
    }

    /// Writes unsigned longs without a count, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn ulongs(&mut self, v: &'a [u32]) {
        self.numbers(v);
    }

    /// Writes long longs without a count, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn longlongs(&mut self, v: &'a [i64]) {
        self.numbers(v);
    }

    /// Writes unsigned long longs without a count, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn ulonglongs(&mut self, v: &'a [u64]) {
        self.numbers(v);
    }

    /// Writes floats without a count, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn floats(&mut self, v: &'a [f32]) {
        self.numbers(v);
    }

    /// Writes doubles without a count, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn doubles(&mut self, v: &'a [f64]) {
        self.numbers(v);
    }

    /// Writes a value of fixed layout, with one capacity check for all its members.
    #[inline]
    pub fn fixed<T: Fixed>(&mut self, v: &T) {
        let start = aligned(self.room.phase(), const { T::LAYOUT.first_align() });
        match start & const { T::LAYOUT.align() - 1 } {
            // Most values start at an offset of 0, or after a long at 4, modulo eight. For these two, every offset is a
            // constant.
            0 => self.fixed_from::<T, 0>(v),
            4 => self.fixed_from::<T, 4>(v),
            _ => self.fixed_anywhere(v),
        }
    }

    #[inline(always)]
    fn fixed_from<T: Fixed, const PHASE: usize>(&mut self, v: &T) {
        let (first, size) = const { (T::LAYOUT.first_align(), T::LAYOUT.size_at(PHASE)) };
        let mut writer = FixedWriter::new(self.room.claim_aligned(first, size), PHASE, self.swap);
        v.put(&mut writer);
        writer.finish();
    }

    #[cold]
    #[inline(never)]
    fn fixed_anywhere<T: Fixed>(&mut self, v: &T) {
        self.fixed_part(v, const { &T::LAYOUT });
    }

    /// Writes a value of fixed layout at any offset of the message.
    #[inline]
    pub(crate) fn fixed_part<T: FixedPart + ?Sized>(&mut self, v: &T, layout: &Layout) {
        let (phase, swap) = (self.phase(), self.swap);
        let room = self.claim(layout.size_at(phase));
        room.fill(0);
        let mut writer = FixedWriter::zeroed(room, phase, swap);
        v.put_part(&mut writer);
        writer.finish();
    }

    /// Writes values of fixed layout, without a count.
    ///
    /// From the second one on, all have the same layout, so this becomes a loop over blocks of
    /// constant size in which every offset is a constant. Costs about as much as copying the
    /// members one by one in memory.
    #[inline]
    pub fn fixed_slice<T: Fixed>(&mut self, items: &[T]) {
        let Some((first, rest)) = items.split_first() else {
            return;
        };
        self.fixed(first);
        if !rest.is_empty() {
            self.fixed_alike(rest);
        }
    }

    #[inline(never)]
    fn fixed_alike<T: Fixed>(&mut self, items: &[T]) {
        let swap = self.swap;
        let room = self.claim(items.len() * T::LAYOUT.stride());
        if swap {
            put_alike::<T, true>(room, items);
        } else {
            put_alike::<T, false>(room, items);
        }
    }

    /// Writes an encapsulation: its length, an octet for its byte order, and the output of `f`,
    /// with alignment restarted.
    ///
    /// Nothing inside is gathered. If `f` fails, the whole encapsulation is removed.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Dialect, Encoder};
    ///
    /// let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
    /// encoder.encapsulation(|inside| {
    ///     inside.ulong(5);
    ///     Ok(())
    /// })?;
    /// assert_eq!(encoder.finish().contiguous(), [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 5]);
    /// # Ok::<(), oxorb_cdr::Error>(())
    /// ```
    pub fn encapsulation(&mut self, f: impl FnOnce(&mut Encoder<'a>) -> Result<()>) -> Result<()> {
        let before = self.room.used();
        self.ulong(0);
        let start = self.room.used();
        let (origin, gather_above) = (self.room.origin(), self.gather_above);
        let values = self.values.take(); // those inside are on their own
        self.room.begin();
        self.gather_above = usize::MAX;
        self.octet(self.order.flag().into());
        let written = f(self).and_then(|()| {
            let length = self.room.used() - start;
            u32::try_from(length).map_err(|_| {
                ErrorKind::BoundExceeded { length, bound: u32::MAX as usize }
                    .at(self.position() - length)
            })
        });
        self.room.set_origin(origin);
        self.gather_above = gather_above;
        self.values = values;
        match written {
            Ok(length) => {
                self.overwrite(start - 4, length);
                Ok(())
            }
            Err(error) => {
                self.room.truncate(before);
                Err(error)
            }
        }
    }

    /// Returns the octets of a separate encapsulation, without a length: the data of a profile,
    /// component or context.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encoder};
    ///
    /// let data = Encoder::encapsulated(ByteOrder::Big, Dialect::GIOP_1_2, |inside| {
    ///     inside.ulong(5);
    ///     Ok(())
    /// })?;
    /// assert_eq!(data, [0, 0, 0, 0, 0, 0, 0, 5]);
    /// assert_eq!(Decoder::encapsulated(&data, Dialect::GIOP_1_2)?.ulong()?, 5);
    /// # Ok::<(), oxorb_cdr::Error>(())
    /// ```
    pub fn encapsulated(
        order: ByteOrder,
        dialect: Dialect,
        f: impl FnOnce(&mut Encoder<'a>) -> Result<()>,
    ) -> Result<Vec<u8>> {
        let mut encoder = Self::new(Vec::new(), order, dialect);
        encoder.octet(order.flag().into());
        f(&mut encoder)?;
        let (mut octets, used) = encoder.room.into_parts();
        octets.truncate(used);
        Ok(octets)
    }

    /// Overwrites an unsigned long written earlier, such as a length.
    ///
    /// # Panics
    /// When the four octets at `at` are not all written, or lie after the first gathered slice.
    #[inline(always)]
    pub fn patch_ulong(&mut self, at: usize, v: u32) {
        assert!(
            at + 4 <= self.gathered.first_cut().unwrap_or(self.room.used()),
            "patched octets must be written and owned"
        );
        self.overwrite(at, v);
    }

    /// Truncates the message to an earlier [`position`](Self::position).
    ///
    /// # Panics
    /// When something was gathered since, or the position was never reached.
    #[inline]
    pub fn truncate(&mut self, to: usize) {
        assert!(
            self.gathered.end() <= to && to <= self.position(),
            "only a position after the last gathered slice can be gone back to"
        );
        self.room.truncate(to - self.gathered.octets());
        if let Some(values) = &mut self.values {
            values.forget_from(to);
        }
    }

    /// Returns the message in one piece; `None` if something was gathered.
    ///
    /// For senders of small messages: this function and [`into_buffer`](Self::into_buffer) move nothing, whereas
    /// [`finish`](Self::finish) moves the table of gathered slices even if it is empty.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Dialect, Encoder};
    ///
    /// let picture = [9; 300];
    /// let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2)).gather_above(256);
    /// encoder.ulong(7);
    /// assert_eq!(encoder.contiguous(), Some([0, 0, 0, 7].as_slice()));
    /// encoder.octets(&picture);
    /// assert_eq!(encoder.contiguous(), None);
    /// assert!(encoder.into_buffer().capacity() >= 4);
    /// ```
    #[inline]
    pub fn contiguous(&self) -> Option<&[u8]> {
        self.gathered.is_empty().then(|| self.room.written())
    }

    /// Returns the buffer for reuse, as [`Encoded::into_buffer`] does.
    #[inline]
    pub fn into_buffer(self) -> Vec<u8> {
        drop_rare(self.values);
        self.room.into_parts().0
    }

    /// Takes the buffer, as [`into_buffer`](Self::into_buffer) returns it, from a borrowed encoder,
    /// since moving an encoder costs as much as writing a small message. The encoder is then empty,
    /// without memory.
    #[inline]
    pub fn take_buffer(&mut self) -> Vec<u8> {
        drop_rare(self.values.take());
        if !self.gathered.is_empty() {
            self.gathered = Gathered::default();
        }
        mem::replace(&mut self.room, Room::new(Vec::new())).into_parts().0
    }

    /// Takes the message, as [`finish`](Self::finish) returns it. The encoder is then empty,
    /// without memory.
    pub fn take(&mut self) -> Encoded<'a> {
        drop_rare(self.values.take());
        let room = mem::replace(&mut self.room, Room::new(Vec::new()));
        let (buffer, used) = room.into_parts();
        Encoded::new(buffer, used, mem::take(&mut self.gathered))
    }

    /// Finishes the message.
    #[inline]
    pub fn finish(self) -> Encoded<'a> {
        drop_rare(self.values);
        let (buffer, used) = self.room.into_parts();
        Encoded::new(buffer, used, self.gathered)
    }

    /// Returns an error at the next item.
    #[cold]
    pub fn error(&self, kind: ErrorKind) -> Error {
        kind.at(self.position())
    }

    /// Lets `f` write data that may not live as long as the message, so all of it is copied.
    pub(crate) fn lent<'b>(
        &mut self,
        f: impl FnOnce(&mut Encoder<'b>) -> Result<()>,
    ) -> Result<()> {
        let mut encoder = Encoder {
            room: core::mem::replace(&mut self.room, Room::new(Vec::new())),
            gather_above: usize::MAX,
            gathered: Gathered::after(self.gathered.octets()),
            values: self.values.take(),
            swap: self.swap,
            order: self.order,
            dialect: self.dialect,
        };
        let written = f(&mut encoder);
        self.room = encoder.room;
        self.values = encoder.values;
        written
    }

    /// Returns the number of octets in the encoder's own buffer.
    pub(crate) fn own_octets(&self) -> usize {
        self.room.used()
    }

    /// Truncates the encoder's own buffer to its first `own_octets` octets.
    #[inline]
    pub(crate) fn take_back(&mut self, own_octets: usize) {
        self.room.truncate(own_octets);
    }

    /// Overwrites four octets of the encoder's own buffer.
    #[inline]
    pub(crate) fn overwrite(&mut self, at: usize, v: u32) {
        v.store(self.swap, &mut self.room.written_mut()[at..at + 4]);
    }

    /// Returns the distance from the alignment origin; only its low three bits are significant.
    #[inline(always)]
    pub(crate) fn phase(&self) -> usize {
        self.room.phase()
    }

    /// References octets instead of copying them; returns `false` if the list is full.
    #[inline]
    fn gather(&mut self, v: &'a [u8]) -> bool {
        let used = self.room.used();
        if self.gathered.is_full() || self.room.skip(v.len()).is_none() {
            return false;
        }
        self.gathered.push(used, v);
        true
    }

    #[inline(always)]
    fn number<T: Primitive>(&mut self, v: T) {
        self.room.number(v, self.swap);
    }

    #[inline(always)]
    fn numbers<T: Primitive>(&mut self, v: &'a [T]) {
        if v.is_empty() {
            return; // an empty sequence is not padded to the alignment of elements it does not have
        }
        self.align(T::ALIGN);
        if !self.swap {
            self.octets(bytemuck::cast_slice(v));
            return;
        }
        T::store_all_swapped(v, self.claim(size_of_val(v)));
    }

    /// Returns the next octets, counted as used: the caller must write all of them.
    #[inline(always)]
    pub(crate) fn claim(&mut self, octets: usize) -> &mut [u8] {
        self.room.claim(octets)
    }
}
