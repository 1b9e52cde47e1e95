//! Numbers, lengths, and blocks of numbers, read in place.

use alloc::borrow::Cow;

use super::Decoder;
use crate::primitive::{POSITIONS, Primitive, aligned, padding};
use crate::{Error, ErrorKind, LongDouble, Result, raw};

/// Booleans of a message, each 0 or 1, or else the octets.
pub(crate) type BooleansOrOctets<'de> = core::result::Result<&'de [bool], &'de [u8]>;

impl<'de> Decoder<'de> {
    /// Skips to the next multiple of `to`, a power of two up to eight. The skipped octets may have
    /// any values.
    #[inline]
    pub fn align(&mut self, to: usize) -> Result<()> {
        debug_assert!(to.is_power_of_two() && to <= 8, "CDR aligns to 1, 2, 4 or 8");
        let padding = padding(self.at, to);
        if padding > self.remaining() {
            return self.beyond(to, 0).map(drop);
        }
        self.at += padding;
        Ok(())
    }

    /// Reads an octet.
    #[inline]
    pub fn octet(&mut self) -> Result<u8> {
        if let Some(&octet) = self.octets.get(self.at) {
            self.at += 1;
            return Ok(octet);
        }
        match self.beyond(1, 1) {
            Ok(octets) => Ok(octets[0]),
            Err(error) => Err(error),
        }
    }

    /// Reads a boolean: anything except 0 is true. With [`DecoderLimits::strict`](crate::DecoderLimits::strict),
    /// anything except 0 and 1 is an error.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, DecoderLimits, Dialect, ErrorKind};
    ///
    /// // Other ORBs send members that the application never set.
    /// let decoder = Decoder::new(&[0xa0], ByteOrder::Big, Dialect::new(2));
    /// assert_eq!(decoder.clone().boolean(), Ok(true));
    /// let mut strict = decoder.with_limits(DecoderLimits { strict: true, ..DecoderLimits::default() });
    /// assert_eq!(strict.boolean(), Err(ErrorKind::BadBoolean(0xa0).at(0)));
    /// ```
    #[inline]
    pub fn boolean(&mut self) -> Result<bool> {
        match self.octet()? {
            0 => Ok(false),
            1 => Ok(true),
            other => self.odd_boolean(other),
        }
    }

    #[cold]
    fn odd_boolean(&self, octet: u8) -> Result<bool> {
        match self.limits.strict {
            true => Err(self.error_back(1, ErrorKind::BadBoolean(octet))),
            false => Ok(true),
        }
    }

    /// Reads a short.
    #[inline]
    pub fn short(&mut self) -> Result<i16> {
        self.number()
    }

    /// Reads an unsigned short.
    #[inline]
    pub fn ushort(&mut self) -> Result<u16> {
        self.number()
    }

    /// Reads a long.
    #[inline]
    pub fn long(&mut self) -> Result<i32> {
        self.number()
    }

    /// Reads an unsigned long.
    #[inline]
    pub fn ulong(&mut self) -> Result<u32> {
        self.number()
    }

    /// Reads a long long.
    #[inline]
    pub fn longlong(&mut self) -> Result<i64> {
        self.number()
    }

    /// Reads an unsigned long long.
    #[inline]
    pub fn ulonglong(&mut self) -> Result<u64> {
        self.number()
    }

    /// Reads a float.
    #[inline]
    pub fn float(&mut self) -> Result<f32> {
        self.number()
    }

    /// Reads a double.
    #[inline]
    pub fn double(&mut self) -> Result<f64> {
        self.number()
    }

    /// Reads a long double: 16 octets, aligned to eight.
    #[inline]
    pub fn long_double(&mut self) -> Result<LongDouble> {
        self.number().map(LongDouble::from_bits)
    }

    /// Reads the count of a sequence and checks it against the bound of its type (`None` is
    /// unbounded), and against the remaining octets, of which each element takes at least
    /// `min_element`.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, Dialect, ErrorKind};
    ///
    /// // Two million doubles are announced, and four octets are there.
    /// let octets = [0, 0x1E, 0x84, 0x80, 0, 0, 0, 0];
    /// let error = Decoder::new(&octets, ByteOrder::Big, Dialect::new(2)).length(None, 8).unwrap_err();
    /// assert_eq!(error.kind, ErrorKind::LengthImplausible { length: 2_000_000, left: 4 });
    /// ```
    // Always inlined, because a `Result` is returned in memory, and the caller would stall on loading the count from
    // there.
    #[inline(always)]
    pub fn length(&mut self, bound: Option<u32>, min_element: usize) -> Result<usize> {
        let count = self.ulong()?;
        let least = u64::from(count) * (min_element as u64);
        let allowed = bound.is_none_or(|bound| count <= bound);
        if allowed && min_element > 0 && least <= self.remaining() as u64 {
            return Ok(count as usize);
        }
        match self.length_in_doubt(count, bound, min_element) {
            None => Ok(count as usize),
            Some(error) => Err(error),
        }
    }

    /// Returns the error for a length that did not pass the quick check; `None` if the length is acceptable, because
    /// the elements need no octets or continue in the next chunk.
    #[cold]
    #[inline(never)]
    fn length_in_doubt(&self, count: u32, bound: Option<u32>, min_element: usize) -> Option<Error> {
        let (length, left) = (count as usize, self.remaining_in_all());
        if let Some(bound) = bound
            && count > bound
        {
            let bound = bound as usize;
            return Some(self.error_back(4, ErrorKind::BoundExceeded { length, bound }));
        }
        let plausible = match min_element {
            0 => count <= self.limits.max_empty_elements,
            size => u64::from(count) * (size as u64) <= left as u64,
        };
        let refused = ErrorKind::LengthImplausible { length, left };
        (!plausible).then(|| self.error_back(4, refused))
    }

    /// Borrows the next `n` octets.
    #[inline]
    pub fn octets(&mut self, n: usize) -> Result<&'de [u8]> {
        match self.octets.get(self.at..).and_then(|rest| rest.get(..n)) {
            Some(octets) => {
                self.at += n;
                Ok(octets)
            }
            None => self.block_beyond(1, n),
        }
    }

    /// Reads `n` booleans, as [`boolean`](Self::boolean) does: borrowed where each is 0 or 1, else copied.
    pub fn booleans(&mut self, n: usize) -> Result<Cow<'de, [bool]>> {
        Ok(match self.booleans_or_octets(n)? {
            Ok(booleans) => Cow::Borrowed(booleans),
            Err(octets) => Cow::Owned(octets.iter().map(|&octet| octet != 0).collect()),
        })
    }

    /// Reads `n` booleans. Returns the octets as the inner error if not each is 0 or 1; all except
    /// 0 are then true.
    pub(crate) fn booleans_or_octets(&mut self, n: usize) -> Result<BooleansOrOctets<'de>> {
        let octets = self.octets(n)?;
        match bytemuck::checked::try_cast_slice(octets) {
            Ok(booleans) => Ok(Ok(booleans)),
            Err(_) if !self.limits.strict => Ok(Err(octets)),
            Err(_) => {
                let bad = octets.iter().position(|&octet| octet > 1).unwrap_or(0);
                Err(self.error_back(n - bad, ErrorKind::BadBoolean(octets[bad])))
            }
        }
    }

    /// Reads `n` shorts: borrowed if they are in native order and aligned in memory, else copied.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, Dialect};
    ///
    /// let mut decoder = Decoder::new(&[0, 1, 0, 2], ByteOrder::Big, Dialect::new(2));
    /// assert_eq!(*decoder.shorts(2)?, [1, 2]);
    /// # Ok::<(), oxorb_cdr::Error>(())
    /// ```
    #[inline]
    pub fn shorts(&mut self, n: usize) -> Result<Cow<'de, [i16]>> {
        self.numbers(n)
    }

    /// Reads `n` unsigned shorts, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn ushorts(&mut self, n: usize) -> Result<Cow<'de, [u16]>> {
        self.numbers(n)
    }

    /// Reads `n` longs, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn longs(&mut self, n: usize) -> Result<Cow<'de, [i32]>> {
        self.numbers(n)
    }

    /// Reads `n` unsigned longs, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn ulongs(&mut self, n: usize) -> Result<Cow<'de, [u32]>> {
        self.numbers(n)
    }

    /// Reads `n` long longs, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn longlongs(&mut self, n: usize) -> Result<Cow<'de, [i64]>> {
        self.numbers(n)
    }

    /// Reads `n` unsigned long longs, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn ulonglongs(&mut self, n: usize) -> Result<Cow<'de, [u64]>> {
        self.numbers(n)
    }

    /// Reads `n` floats, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn floats(&mut self, n: usize) -> Result<Cow<'de, [f32]>> {
        self.numbers(n)
    }

    /// Reads `n` doubles, as [`shorts`](Self::shorts) does.
    #[inline]
    pub fn doubles(&mut self, n: usize) -> Result<Cow<'de, [f64]>> {
        self.numbers(n)
    }

    /// Reads a block of octets, aligned at its start.
    pub(crate) fn block(&mut self, align: usize, size: usize) -> Result<&'de [u8]> {
        let start = aligned(self.at, align);
        match self.octets.get(start..).and_then(|rest| rest.get(..size)) {
            Some(octets) => {
                self.at = start + size;
                Ok(octets)
            }
            None => self.block_beyond(align, size),
        }
    }

    #[inline(always)]
    fn number<T: Primitive>(&mut self) -> Result<T> {
        let start = aligned(self.at, T::ALIGN) & POSITIONS;
        if let Some(octets) = self.octets.get(start..start + T::SIZE) {
            self.at = start + T::SIZE;
            return Ok(T::load(octets, self.swap));
        }
        // Matches and rebuilds the `Result` by hand, so that the compiler does not pass the value of the fast path
        // above through a `Result` in memory.
        match self.beyond(T::ALIGN, T::SIZE) {
            Ok(octets) => Ok(T::from_wire(bytemuck::pod_read_unaligned(octets), self.swap)),
            Err(error) => Err(error),
        }
    }

    /// Borrows as many octets as the unsigned long before them declares, if all are present and the
    /// last one is a NUL; otherwise reads nothing.
    #[inline(always)]
    pub(crate) fn terminated(&mut self) -> Option<&'de [u8]> {
        let start = aligned(self.at, 4) & POSITIONS;
        let count = u32::load(self.octets.get(start..start + 4)?, self.swap);
        let (text, [0]) = self.octets[start + 4..].get(..count as usize)?.split_last_chunk()?
        else {
            return None;
        };
        self.at = start + 4 + count as usize;
        Some(text)
    }

    #[inline(always)]
    pub(crate) fn numbers<T: Primitive>(&mut self, n: usize) -> Result<Cow<'de, [T]>> {
        if n == 0 {
            return Ok(Cow::Borrowed(&[])); // without elements there is no padding for them
        }
        let size = n.saturating_mul(T::SIZE);
        let start = aligned(self.at, T::ALIGN);
        let octets = match self.octets.get(start..).and_then(|rest| rest.get(..size)) {
            Some(octets) => {
                self.at = start + size;
                octets
            }
            None => self.block_beyond(T::ALIGN, size)?,
        };
        if !self.swap
            && let Ok(numbers) = bytemuck::try_cast_slice(octets)
        {
            return Ok(Cow::Borrowed(numbers));
        }
        if self.swap {
            return Ok(Cow::Owned(raw::swapped(octets)));
        }
        let read = |octets| T::from_wire(bytemuck::pod_read_unaligned(octets), false);
        Ok(Cow::Owned(octets.chunks_exact(T::SIZE).map(read).collect()))
    }
}
