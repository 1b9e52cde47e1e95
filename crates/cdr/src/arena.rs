//! Memory for values that are read, and released, together.

use crate::prelude::*;
use core::cell::RefCell;
use core::fmt;

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

use crate::primitive::Primitive;
use crate::{Decoder, ErrorKind, Result};

/// Memory for the strings and sequences of one message, allocated piece by piece and released as a
/// whole.
///
/// Values that are read into an arena borrow from it, and from the message where no conversion is
/// necessary: UTF-8 text, octets, and aligned numbers in native order. [`reset`](Self::reset)
/// releases everything, at a cost that does not depend on the amount. While values fit, nothing is
/// allocated.
///
/// ```
/// use oxorb_cdr::{Arena, ByteOrder, Decoder, Dialect, Encoder};
///
/// let words = ["one".to_owned(), "two".to_owned()];
/// let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
/// e.sequence(&words, None)?;
/// let message = e.finish().to_vec();
///
/// let mut arena = Arena::new(4096);
/// let mut d = Decoder::new(&message, ByteOrder::Big, Dialect::GIOP_1_2);
/// let read: &[&str] = arena.list(&mut d, None, 4, |d, arena| arena.string(d))?;
/// assert_eq!(read, ["one", "two"]);
/// arena.reset();
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
pub struct Arena {
    bump: Bump,
    octets: usize,
    /// Initial size of the first chunk, in octets.
    first: usize,
    /// Buffer for text conversion.
    scratch: RefCell<String>,
}

impl Arena {
    /// Creates an arena of `octets` octets, which allocates more memory on the heap when it is full: see
    /// [`set_growing`](Self::set_growing). Allocates.
    pub fn new(octets: usize) -> Arena {
        let bump = Bump::with_capacity(octets);
        Arena { octets, first: bump.allocated_bytes(), bump, scratch: RefCell::new(String::new()) }
    }

    /// Creates an arena whose pages are already faulted in. Allocates.
    pub fn touched(octets: usize) -> Arena {
        let mut arena = Arena::new(octets);
        arena.bump.alloc_slice_fill_copy(arena.bump.chunk_capacity(), 1_u8);
        arena.scratch.get_mut().reserve(octets / 8);
        arena.reset();
        arena
    }

    /// Sets whether a full arena allocates more memory on the heap until it is [reset](Self::reset). If not, reading
    /// fails with [`ErrorKind::ArenaFull`].
    pub fn set_growing(&mut self, growing: bool) {
        let limit = (!growing).then_some(self.first);
        self.bump.set_allocation_limit(limit);
    }

    /// Returns the initial size of the arena, in octets.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// Releases everything. Costs a few instructions, and the freeing of additional heap memory if
    /// there was any.
    pub fn reset(&mut self) {
        self.bump.reset();
        if self.bump.allocated_bytes() > self.first {
            let limit = self.bump.allocation_limit();
            self.bump = Bump::with_capacity(self.octets);
            self.bump.set_allocation_limit(limit);
        }
        if self.scratch.get_mut().capacity() > self.octets {
            *self.scratch.get_mut() = String::new();
        }
    }

    /// Reads a string: borrowed from the message if it is ASCII or its code set is UTF-8, else converted into the
    /// arena.
    #[inline]
    pub fn string<'a, 'de: 'a>(&'a self, d: &mut Decoder<'de>) -> Result<&'a str> {
        match d.string_or_latin()? {
            Ok(text) => Ok(text),
            Err(latin) => {
                let mut scratch = self.scratch.borrow_mut();
                scratch.clear();
                scratch.extend(latin.iter().copied().map(char::from));
                self.text(d, &scratch)
            }
        }
    }

    /// Reads a string of at most `bound` characters, as [`string`](Self::string) does.
    pub fn bounded_string<'a, 'de: 'a>(
        &'a self,
        d: &mut Decoder<'de>,
        bound: u32,
    ) -> Result<&'a str> {
        let start = d.start(4);
        let text = self.string(d)?;
        crate::text::exceeds(text, bound).map_err(|kind| kind.at(start))?;
        Ok(text)
    }

    /// Reads a wide string into the arena.
    pub fn wstring(&self, d: &mut Decoder<'_>) -> Result<&str> {
        let mut scratch = self.scratch.borrow_mut();
        scratch.clear();
        d.wstring_into(&mut scratch)?;
        self.text(d, &scratch)
    }

    /// Reads a wide string of at most `bound` characters into the arena.
    pub fn bounded_wstring(&self, d: &mut Decoder<'_>, bound: u32) -> Result<&str> {
        let start = d.start(4);
        let text = self.wstring(d)?;
        crate::text::exceeds(text, bound).map_err(|kind| kind.at(start))?;
        Ok(text)
    }

    /// Reads a sequence with `f` for each element, of at least `min_element` octets, one nesting
    /// level deeper. Elements must not need drop.
    #[inline]
    pub fn list<'a, 'de, T>(
        &'a self,
        d: &mut Decoder<'de>,
        bound: Option<u32>,
        min_element: usize,
        mut f: impl FnMut(&mut Decoder<'de>, &'a Arena) -> Result<T>,
    ) -> Result<&'a [T]> {
        const { assert!(!core::mem::needs_drop::<T>(), "an arena drops nothing") };
        let n = d.length(bound, min_element)?;
        d.charge_for::<T>(n)?;
        let mut items = self.room(d, n)?;
        d.nested(|d| {
            for _ in 0..n {
                items.push(f(d, self)?);
            }
            Ok(())
        })?;
        Ok(items.into_bump_slice())
    }

    /// Reads `n` booleans, as [`Decoder::boolean`] does: borrowed from the message where each is 0 or 1, else copied.
    pub fn booleans<'a, 'de: 'a>(&'a self, d: &mut Decoder<'de>, n: usize) -> Result<&'a [bool]> {
        match d.booleans_or_octets(n)? {
            Ok(booleans) => Ok(booleans),
            Err(octets) => {
                d.charge_for::<bool>(n)?;
                let mut items = self.room(d, n)?;
                items.extend(octets.iter().map(|&octet| octet != 0));
                Ok(items.into_bump_slice())
            }
        }
    }

    /// Copies text into the arena.
    fn text(&self, d: &Decoder<'_>, text: &str) -> Result<&str> {
        match self.bump.try_alloc_str(text) {
            Ok(text) => Ok(text),
            Err(_) => Err(self.full(d)),
        }
    }

    /// Returns an empty vector with capacity for `n` elements in the arena.
    #[inline]
    fn room<T>(&self, d: &Decoder<'_>, n: usize) -> Result<BumpVec<'_, T>> {
        let mut items = BumpVec::new_in(&self.bump);
        match items.try_reserve_exact(n) {
            Ok(()) => Ok(items),
            Err(_) => Err(self.full(d)),
        }
    }

    #[cold]
    fn full(&self, d: &Decoder<'_>) -> crate::Error {
        let octets = self.octets;
        d.error(ErrorKind::ArenaFull { octets })
    }

    #[inline]
    fn numbers<'a, 'de: 'a, T: Primitive>(
        &'a self,
        d: &mut Decoder<'de>,
        n: usize,
    ) -> Result<&'a [T]> {
        if n == 0 {
            return Ok(&[]);
        }
        let octets = d.block(T::ALIGN, n.saturating_mul(T::SIZE))?;
        let swap = d.order().is_foreign();
        if !swap && let Ok(numbers) = bytemuck::try_cast_slice(octets) {
            return Ok(numbers);
        }
        d.charge_for::<T>(n)?;
        let mut items = self.room(d, n)?;
        items.extend(octets.chunks_exact(T::SIZE).map(|one| T::load(one, swap)));
        Ok(items.into_bump_slice())
    }
}

macro_rules! numbers {
    ($($name:ident: $ty:ty, $what:literal;)*) => {
        impl Arena {$(
            #[doc = concat!("Reads `n` ", $what, ": borrowed from the message where they lie aligned in native order, else copied.")]
            #[inline]
            pub fn $name<'a, 'de: 'a>(&'a self, d: &mut Decoder<'de>, n: usize) -> Result<&'a [$ty]> {
                self.numbers(d, n)
            }
        )*}
    };
}

numbers! {
    shorts: i16, "shorts";
    ushorts: u16, "unsigned shorts";
    longs: i32, "longs";
    ulongs: u32, "unsigned longs";
    longlongs: i64, "long longs";
    ulonglongs: u64, "unsigned long longs";
    floats: f32, "floats";
    doubles: f64, "doubles";
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").field("octets", &self.octets).finish_non_exhaustive()
    }
}

/// Text of a message, or octets in ISO 8859-1 that are not ASCII.
pub(crate) type StringOrLatin<'de> = core::result::Result<&'de str, &'de [u8]>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByteOrder, CharSet, Dialect, Encoder};

    fn message(order: ByteOrder, write: impl FnOnce(&mut Encoder<'_>) -> Result<()>) -> Vec<u8> {
        let mut e = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
        write(&mut e).unwrap();
        e.finish().to_vec()
    }

    #[test]
    fn booleans_are_borrowed_or_made() {
        let octets = [0, 1, 1, 0, 0xA0, 0];
        let mut d = Decoder::new(&octets, ByteOrder::Big, Dialect::GIOP_1_2);
        let arena = Arena::new(1024);
        let borrowed = arena.booleans(&mut d, 3).unwrap();
        assert_eq!(borrowed, [false, true, true]);
        assert_eq!(borrowed.as_ptr().addr(), octets.as_ptr().addr());
        assert_eq!(arena.booleans(&mut d, 3).unwrap(), [false, true, false]);
        let strict = crate::DecoderLimits { strict: true, ..crate::DecoderLimits::default() };
        let mut d = Decoder::new(&octets[3..], ByteOrder::Big, Dialect::GIOP_1_2);
        d = d.with_limits(strict);
        assert_eq!(arena.booleans(&mut d, 3).unwrap_err(), ErrorKind::BadBoolean(0xA0).at(1));
    }

    #[test]
    fn numbers_are_the_same_in_either_order_and_wherever_they_lie() {
        let numbers = [1.5, -2.25, 1e300];
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let message = message(order, |e| {
                e.octet(7);
                e.ulong(3);
                numbers.iter().for_each(|one| e.double(*one));
                Ok(())
            });
            for shift in 0..8 {
                let mut moved = vec![0; shift];
                moved.extend_from_slice(&message);
                let mut d = Decoder::new(&moved[shift..], order, Dialect::GIOP_1_2);
                assert_eq!(d.octet(), Ok(7));
                let arena = Arena::new(1024);
                let n = d.length(None, 8).unwrap();
                assert_eq!(arena.doubles(&mut d, n).unwrap(), numbers);
                d.finish().unwrap();
            }
        }
    }

    #[test]
    fn text_is_converted_where_it_must_be() {
        let dialect = Dialect { chars: CharSet::Iso8859_1, ..Dialect::GIOP_1_2 };
        let octets = [0, 0, 0, 4, b'H', 0xF6, b'e', 0, 0, 0, 0, 6, 0, b'H', 0, 0xF6, 0, b'e'];
        let arena = Arena::new(1024);
        let mut d = Decoder::new(&octets, ByteOrder::Big, dialect);
        assert_eq!(arena.string(&mut d), Ok("Höe"));
        assert_eq!(arena.wstring(&mut d), Ok("Höe"));
        let mut d = Decoder::new(&octets, ByteOrder::Big, dialect);
        let error = arena.bounded_string(&mut d, 2).unwrap_err();
        assert_eq!(error.kind, ErrorKind::BoundExceeded { length: 3, bound: 2 });
    }

    #[test]
    fn a_full_arena_grows_or_says_so_and_is_as_before_after_a_reset() {
        let many = vec![0_u16; 5000];
        let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
        e.sequence(&many, None).unwrap();
        let message = e.finish().to_vec();
        let decoder = || Decoder::new(&message, ByteOrder::Big, Dialect::GIOP_1_2);
        let mut arena = Arena::new(1024);
        for round in 0..3 {
            arena.set_growing(false);
            let full = arena.list(&mut decoder(), None, 2, |d, _| d.ushort());
            let full = full.unwrap_err().kind;
            assert_eq!(full, ErrorKind::ArenaFull { octets: 1024 }, "{round}");
            arena.reset();
            arena.set_growing(true);
            let list = arena.list(&mut decoder(), None, 2, |d, _| d.ushort());
            assert_eq!(list.unwrap(), many);
            assert!(arena.bump.allocated_bytes() > arena.first);
            arena.reset();
            assert_eq!(arena.bump.allocated_bytes(), arena.first);
        }
    }
}
