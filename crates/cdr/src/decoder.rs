use core::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use crate::budget::{Budget, footprint};
use crate::fixed::take_all;
use crate::interpreted::{FixedSlot, Grow};
use crate::pieces::Pieces;
use crate::primitive::{POSITIONS, Primitive, aligned, padding};
use crate::rare::drop_rare;
use crate::value::Incoming;
use crate::{
    ByteOrder, Dialect, Error, ErrorKind, Fixed, FixedReader, Layout, Limits, LongDouble, Result,
    Scope, ValueRegistry, raw,
};

/// Reads CDR from a message, borrowing from it what need not be converted.
///
/// Whatever the octets are, reading them ends with a value or an [`Error`] that says where; lengths are checked against
/// the octets that are there before anything is allocated for them.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Decoder, Dialect};
///
/// let octets = [7, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, b'h', b'i', 0];
/// let mut decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::new(2));
/// assert_eq!(decoder.octet()?, 7);
/// assert_eq!(decoder.ulong()?, 1);
/// assert_eq!(decoder.string()?, "hi");
/// decoder.finish()?;
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder<'de> {
    /// Starts at the alignment origin. Ends with the chunk, inside the state of a value that comes in chunks, and with the
    /// piece, of a message that came in pieces.
    octets: &'de [u8],
    /// Where reading goes on, from the alignment origin.
    at: usize,
    /// Octets of the message before the alignment origin.
    base: usize,
    swap: bool,
    order: ByteOrder,
    dialect: Dialect,
    depth: u16,
    limits: Limits,
    budget: Budget,
    scope: Option<&'de dyn Scope>,
    registry: Option<&'de ValueRegistry>,
    /// What was read of values; nothing in most messages.
    pub(crate) values: Option<Box<Incoming<'de>>>,
}

impl<'de> Decoder<'de> {
    /// Reads a message from its first octet, where alignment starts too.
    #[inline]
    pub fn new(message: &'de [u8], order: ByteOrder, dialect: Dialect) -> Self {
        Self {
            octets: message,
            at: 0,
            base: 0,
            swap: order.is_foreign(),
            order,
            dialect,
            depth: 0,
            limits: Limits::default(),
            budget: Budget::START,
            scope: None,
            registry: None,
            values: None,
        }
    }

    /// Reads the octets of an encapsulation, without a length: the data of a profile, component or context.
    ///
    /// The first octet says the byte order.
    #[inline]
    pub fn encapsulated(data: &'de [u8], dialect: Dialect) -> Result<Self> {
        Self::new(data, ByteOrder::Big, dialect).announced()
    }

    /// Goes to this many octets after the alignment origin. Beyond the end, whatever is read next is an error.
    #[inline]
    #[must_use]
    pub fn at(mut self, position: usize) -> Self {
        if position > self.octets.len() {
            self.at_a_distance(position);
        } else {
            self.at = position;
        }
        self
    }

    /// Refuses what exceeds these limits.
    #[inline]
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Carries something to whoever decodes values that octets alone do not make, such as object references.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, Dialect};
    ///
    /// # use std::sync::Arc;
    /// # use oxorb_cdr::Scope;
    /// #[derive(Clone)]
    /// struct Orb(&'static str);
    ///
    /// impl Scope for Orb {
    ///     fn keep(&self) -> Arc<dyn Scope> {
    ///         Arc::new(self.clone())
    ///     }
    /// }
    ///
    /// let orb = Orb("mine");
    /// let decoder = Decoder::new(&[], ByteOrder::Big, Dialect::new(2)).with_scope(&orb);
    /// assert_eq!(decoder.scope::<Orb>().map(|orb| orb.0), Some("mine"));
    /// ```
    #[inline]
    #[must_use]
    pub fn with_scope(mut self, scope: &'de dyn Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// What [`with_scope`](Self::with_scope) was given, if it is a `T`.
    #[inline]
    pub fn scope<T: 'static>(&self) -> Option<&'de T> {
        (self.scope? as &dyn Any).downcast_ref()
    }

    /// What [`with_scope`](Self::with_scope) was given, to outlive the message.
    pub(crate) fn kept_scope(&self) -> Option<Arc<dyn Scope>> {
        self.scope.map(Scope::keep)
    }

    /// Knows the valuetypes in a registry besides those that the IDL compiler saw at each place.
    #[inline]
    #[must_use]
    pub fn with_values(mut self, registry: &'de ValueRegistry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// What [`with_values`](Self::with_values) was given, else what the scope knows.
    #[inline]
    pub fn registry(&self) -> Option<&'de ValueRegistry> {
        self.registry.or_else(|| self.scope?.values())
    }

    /// Octets from the start of the message to what is read next.
    #[inline]
    pub fn position(&self) -> usize {
        self.base + self.at
    }

    /// Octets left to read; inside the state of a value that comes in chunks, octets left in the chunk.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.octets.len() - self.at
    }

    /// The order numbers are read in.
    #[inline]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// The rules in force for characters.
    #[inline]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Changes the rules for the characters that follow.
    #[inline]
    pub fn set_dialect(&mut self, dialect: Dialect) {
        self.dialect = dialect;
    }

    /// Skips to the next multiple of `to`, a power of two up to eight. What is skipped may hold anything.
    #[inline]
    pub fn align(&mut self, to: usize) -> Result<()> {
        debug_assert!(
            to.is_power_of_two() && to <= 8,
            "CDR aligns to 1, 2, 4 or 8"
        );
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

    /// Reads a boolean; anything but 0 and 1 is an error.
    #[inline]
    pub fn boolean(&mut self) -> Result<bool> {
        match self.octet()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.error_back(1, ErrorKind::BadBoolean(other))),
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

    /// Reads the count of a sequence and checks it: against the bound of its type (`None` is unbounded), and against
    /// the octets left, of which each element takes at least `min_element`.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, Dialect, ErrorKind};
    ///
    /// // Two million doubles are announced, and four octets are there.
    /// let octets = [0, 0x1E, 0x84, 0x80, 0, 0, 0, 0];
    /// let error = Decoder::new(&octets, ByteOrder::Big, Dialect::new(2)).length(None, 8).unwrap_err();
    /// assert_eq!(error.kind, ErrorKind::LengthImplausible { length: 2_000_000, left: 4 });
    /// ```
    // A count that came back in a `Result` in memory would be waited for.
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

    /// Why a length is refused, unless it is one of elements without octets or of those that continue in the next chunk.
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

    /// Reads `n` booleans, borrowed; any that is neither 0 nor 1 is an error.
    pub fn booleans(&mut self, n: usize) -> Result<&'de [bool]> {
        let octets = self.octets(n)?;
        bytemuck::checked::try_cast_slice(octets).map_err(|_| {
            let bad = octets.iter().position(|&octet| octet > 1).unwrap_or(0);
            self.error_back(n - bad, ErrorKind::BadBoolean(octets[bad]))
        })
    }

    /// Reads `n` shorts: borrowed when they are in native order and lie aligned in memory, else copied.
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

    /// Reads a value whose layout is known beforehand, with one check for all its members.
    // Inlined wherever it is called: a value that comes back in memory, member by member, and is then moved in larger
    // pieces, costs more than reading it.
    #[inline(always)]
    pub fn fixed<T: Fixed>(&mut self) -> Result<T> {
        let start = aligned(self.at, const { T::LAYOUT.first_align() });
        match start & const { T::LAYOUT.align() - 1 } {
            // Where most values start, and after a long: every offset is a constant.
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
                T::take(&mut FixedReader::new(octets, PHASE, position, self.swap))
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

    /// Reads `n` values whose layout is known beforehand; see [`Encoder::fixed_slice`](crate::Encoder::fixed_slice).
    #[inline(always)]
    pub fn fixed_vec<T: Fixed>(&mut self, n: usize) -> Result<Vec<T>> {
        self.charge(n, size_of::<T>())?;
        let start = aligned(self.at, const { T::LAYOUT.first_align() });
        let items = match start & const { T::LAYOUT.align() - 1 } {
            // After the count of a sequence there is nothing else.
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

    /// The same for values that are not all there, continue in the next chunk, or are wrong.
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
                octets, phase, position, self.swap,
            ))?);
        }
        Ok(())
    }

    /// Enters an encapsulation: a reader of its octets alone, with its own byte order and alignment, one level deeper.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, Dialect};
    ///
    /// // In a big-endian message, eight octets whose own order is little-endian; then an octet.
    /// let octets = [0, 0, 0, 8, 1, 0, 0, 0, 5, 0, 0, 0, 9];
    /// let mut outer = Decoder::new(&octets, ByteOrder::Big, Dialect::new(2));
    /// let mut inner = outer.encapsulation()?;
    /// assert_eq!(inner.ulong()?, 5);
    /// assert_eq!(outer.octet()?, 9);
    /// # Ok::<(), oxorb_cdr::Error>(())
    /// ```
    pub fn encapsulation(&mut self) -> Result<Decoder<'de>> {
        let n = self.length(None, 1)?;
        let depth = self.deeper()?;
        let octets = self.octets(n)?;
        let inner = self.inside(octets);
        Decoder { depth, ..inner }.announced()
    }

    /// A decoder of octets that were just read, aligned anew.
    pub(crate) fn inside(&self, octets: &'de [u8]) -> Self {
        Decoder {
            octets,
            at: 0,
            base: self.position() - octets.len(),
            values: None, // those inside are on their own
            ..*self
        }
    }

    /// Reads a value that may contain values of its own type, one level deeper, so that nesting stays within the limit.
    #[inline]
    pub fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth = self.deeper()?;
        let value = f(self);
        self.depth -= 1;
        value
    }

    /// Ends reading; octets that are left are an error.
    #[inline]
    pub fn finish(self) -> Result<()> {
        let left = match &self.values {
            None => self.remaining(),
            Some(_) => self.remaining_in_all(),
        };
        let ended = match left {
            0 => Ok(()),
            left => Err(self.error(ErrorKind::TrailingOctets(left))),
        };
        self.end();
        ended
    }

    /// Ends reading, whatever is left, in fewer instructions than dropping takes.
    #[inline]
    pub fn end(self) {
        drop_rare(self.values);
    }

    /// An error about what is read next.
    #[cold]
    pub fn error(&self, kind: ErrorKind) -> Error {
        kind.at(self.position())
    }

    /// An error about what was just read, which took so many octets.
    #[cold]
    pub fn error_back(&self, octets: usize, kind: ErrorKind) -> Error {
        kind.at(self.position() - octets)
    }

    /// Takes memory for `n` values of so many octets each, before it is allocated.
    #[inline(always)]
    pub(crate) fn charge(&mut self, n: usize, each: usize) -> Result<()> {
        let octets = n.saturating_mul(each);
        match self.budget.take(octets) {
            true => Ok(()),
            false => self.charge_more(octets),
        }
    }

    /// Goes on with what the reader of an encapsulation within this has left.
    pub(crate) fn charged_as(&mut self, inside: &Self) {
        self.budget = inside.budget;
    }

    /// Takes memory for `n` values of a type, and for what they own.
    #[inline(always)]
    pub(crate) fn charge_for<T>(&mut self, n: usize) -> Result<()> {
        self.charge(n, const { footprint::<T>() })
    }

    #[cold]
    #[inline(never)]
    fn charge_more(&mut self, octets: usize) -> Result<()> {
        let Some(more) = self.budget.step(octets, self.limits.max_memory) else {
            let limit = self.limits.max_memory;
            return Err(self.error(ErrorKind::TooMuchMemory { limit }));
        };
        if self.scope.is_some_and(|scope| !scope.afford(more)) {
            return Err(self.error(ErrorKind::NoMemoryLeft));
        }
        self.budget.grant(more, octets);
        Ok(())
    }

    /// Octets from the alignment origin.
    #[inline]
    pub(crate) fn phase(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Where in the message an item of this alignment will start.
    #[inline]
    pub(crate) fn start(&self, align: usize) -> usize {
        self.position() + padding(self.at, align)
    }

    #[inline(always)]
    fn number<T: Primitive>(&mut self) -> Result<T> {
        let start = aligned(self.at, T::ALIGN) & POSITIONS;
        if let Some(octets) = self.octets.get(start..start + T::SIZE) {
            self.at = start + T::SIZE;
            return Ok(T::load(octets, self.swap));
        }
        // Taken apart and put together again, so that the value read above never passes through a `Result` in memory.
        match self.beyond(T::ALIGN, T::SIZE) {
            Ok(octets) => Ok(T::from_wire(
                bytemuck::pod_read_unaligned(octets),
                self.swap,
            )),
            Err(error) => Err(error),
        }
    }

    /// Borrows as many octets as the unsigned long before them says, if all of that is there and the last one is a NUL; else
    /// nothing is read.
    #[inline(always)]
    pub(crate) fn terminated(&mut self) -> Option<&'de [u8]> {
        let start = aligned(self.at, 4) & POSITIONS;
        let count = u32::load(self.octets.get(start..start + 4)?, self.swap);
        let (text, [0]) = self.octets[start + 4..]
            .get(..count as usize)?
            .split_last_chunk()?
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

    fn announced(mut self) -> Result<Self> {
        self.order = match self.octet()? {
            0 => ByteOrder::Big,
            1 => ByteOrder::Little,
            other => return Err(self.error_back(1, ErrorKind::BadByteOrder(other))),
        };
        self.swap = self.order.is_foreign();
        Ok(self)
    }

    #[inline]
    fn deeper(&self) -> Result<u16> {
        if self.depth >= self.limits.max_depth {
            return Err(self.error(ErrorKind::TooDeep {
                limit: self.limits.max_depth,
            }));
        }
        Ok(self.depth + 1)
    }

    #[cold]
    #[inline(never)]
    fn truncated(&self, needed: usize) -> Error {
        self.error(ErrorKind::Truncated {
            needed,
            left: self.remaining(),
        })
    }
}

/// Reads into a place of its own what only functions can read that are not inlined. If they filled the place of the result,
/// that had to be memory on every path, and each value would be written there and moved once more.
#[inline(always)]
fn apart<T>(fill: impl FnOnce(&mut Option<T>) -> Result<()>) -> Result<T> {
    let mut place = None;
    match fill(&mut place) {
        Err(error) => Err(error),
        Ok(()) => Ok(place.expect("filled")),
    }
}

/// State of a decoder whose next item does not fit into the octets that are left.
pub(crate) struct Here<'de> {
    pub(crate) octets: &'de [u8],
    pub(crate) at: usize,
    pub(crate) base: usize,
    pub(crate) swap: bool,
}

/// What the reading of values needs.
impl<'de> Decoder<'de> {
    /// Goes on in the next chunk or piece, if there is one, for an item that does not fit into the octets that are left.
    #[inline(always)]
    fn beyond(&mut self, align: usize, size: usize) -> Result<&'de [u8]> {
        self.item_beyond(align, size, false)
    }

    /// Goes on in the next chunk or piece for a block of items, which has no alignment but that of its first.
    #[inline(always)]
    fn block_beyond(&mut self, align: usize, size: usize) -> Result<&'de [u8]> {
        self.item_beyond(align, size, true)
    }

    #[inline(always)]
    fn item_beyond(&mut self, align: usize, size: usize, block: bool) -> Result<&'de [u8]> {
        // Field by field, so that a decoder on the stack stays in registers.
        let here = Here {
            octets: self.octets,
            at: self.at,
            base: self.base,
            swap: self.swap,
        };
        let (item, octets, at) = here.beyond(self.values.as_deref_mut(), align, size, block)?;
        (self.octets, self.at) = (octets, at);
        Ok(item)
    }

    /// Reads a block of octets, aligned where it starts.
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

    /// Gives the pieces of the message that `octets` are the first of.
    pub(crate) fn start_pieces(&mut self, pieces: Pieces<'de>) {
        let mut values = Box::new(Incoming::of(pieces.whole()));
        values.pieces = Some(pieces);
        self.values = Some(values);
    }

    /// Goes to a position that is not in the octets: in another piece, or beyond the end.
    #[cold]
    #[inline(never)]
    fn at_a_distance(&mut self, position: usize) {
        self.at = position;
        self.reopen();
        self.at = self.at.min(self.octets.len());
    }

    /// Takes the octets of the piece that reading is in now.
    pub(crate) fn reopen(&mut self) {
        if let Some(pieces) = self
            .values
            .as_mut()
            .and_then(|values| values.pieces.as_mut())
        {
            self.octets = pieces.open(self.at);
        }
    }

    /// Whether the message came in pieces, of which each aligns anew.
    pub(crate) fn is_in_pieces(&self) -> bool {
        (self.values.as_ref()).is_some_and(|values| values.pieces.is_some())
    }

    /// Lets `take` read a value of fixed layout, which may stand in two pieces.
    pub(crate) fn fixed_with(
        &mut self,
        layout: &Layout,
        take: impl FnOnce(&mut FixedReader<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.remaining() >= layout.size_at(self.at) || !self.is_in_pieces() {
            return take(&mut self.fixed_reader(layout)?);
        }
        let (octets, at) = (&self.octets[self.at..], self.at);
        let pieces = self
            .values
            .as_ref()
            .and_then(|values| values.pieces.as_ref());
        let mut reader = FixedReader::across(octets, at, self.swap, pieces.expect("in pieces"));
        let taken = take(&mut reader);
        let end = reader.end();
        self.at = end.unwrap_or(at);
        self.reopen();
        match (end, taken) {
            (None, _) => Err(self.truncated(layout.size_at(at))),
            (Some(_), taken) => taken,
        }
    }

    /// For a value of fixed layout, whose octets are counted as read.
    ///
    /// It may stand at the start of the next chunk. One that a chunk ends within is refused: its members are read at
    /// offsets that are known beforehand.
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
        Ok(FixedReader::new(octets, phase, position, self.swap))
    }

    /// Reads what [`fixed_vec`](Self::fixed_vec) reads, into places of any type.
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
        // As many as there are octets for, or the first one fails already.
        items.reserve(n.min(self.remaining() / layout.min() + 1));
        self.fixed_with(layout, |reader| items.grow().take_slot(reader))?;
        let position = self.position();
        let octets = self.octets(in_one_piece.saturating_mul(stride))?;
        for (index, octets) in octets.chunks_exact(stride).enumerate() {
            let position = position + index * stride;
            let mut reader = FixedReader::new(octets, phase, position, self.swap);
            items.grow().take_slot(&mut reader)?;
        }
        for _ in in_one_piece..rest {
            self.fixed_with(layout, |reader| items.grow().take_slot(reader))?;
        }
        Ok(())
    }

    /// Reads ahead: reading goes on where it is.
    pub(crate) fn peek<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let back = self.values.is_some().then(|| self.place());
        let at = self.at;
        let result = read(self);
        match back {
            Some(back) => self.return_from(back),
            None => self.at = at,
        }
        result
    }

    pub(crate) fn all_octets(&self) -> &'de [u8] {
        self.octets
    }

    pub(crate) fn set_octets(&mut self, octets: &'de [u8]) {
        self.octets = octets;
    }

    /// Octets from the alignment origin to what is read next.
    pub(crate) fn cursor(&self) -> usize {
        self.at
    }

    /// Goes to this many octets after the alignment origin.
    pub(crate) fn jump(&mut self, cursor: usize) {
        self.at = cursor;
    }

    /// Goes to a position in the message that lies in these octets.
    pub(crate) fn jump_to(&mut self, position: usize) {
        self.at = position - self.base;
    }
}
