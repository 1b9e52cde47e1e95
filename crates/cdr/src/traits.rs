use crate::prelude::*;
use crate::{Decoder, Encoder, LongDouble, Result, array, copies};

/// Type that can be encoded as CDR. Generated code implements it for every IDL type.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Dialect, Encode, Encoder, Result};
///
/// struct Named {
///     name: String,
///     marks: Vec<i16>,
/// }
///
/// impl Encode for Named {
///     fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
///         self.name.encode(e)?;
///         e.sequence(&self.marks, Some(4))
///     }
/// }
///
/// let value = Named { name: "a".into(), marks: vec![1, 2] };
/// let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
/// value.encode(&mut encoder)?;
/// assert_eq!(encoder.finish().contiguous(), [0, 0, 0, 2, b'a', 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 2]);
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
pub trait Encode {
    /// Maximum size of a value in octets, padding included, if its type bounds it.
    const MAX_SIZE: Option<usize> = None;

    /// Writes the value.
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()>;

    /// Writes the elements of a sequence or array, without a count; numbers as one block.
    fn encode_slice<'a>(items: &'a [Self], e: &mut Encoder<'a>) -> Result<()>
    where
        Self: Sized,
    {
        if let Some(size) = Self::MAX_SIZE {
            e.reserve(size.saturating_mul(items.len()).min(RESERVED_AT_ONCE));
            return items.iter().try_for_each(|item| item.encode(e));
        }
        let Some((first, rest)) = items.split_first() else {
            return Ok(());
        };
        let start = e.position();
        first.encode(e)?;
        e.reserve_alike(e.position() - start, rest.len());
        rest.iter().try_for_each(|item| item.encode(e))
    }
}

/// Type that can be decoded from CDR. Generated code implements it for every IDL type.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Decode, Decoder, Dialect, Result};
///
/// struct Named {
///     name: String,
///     marks: Vec<i16>,
/// }
///
/// impl<'de> Decode<'de> for Named {
///     const MIN_SIZE: usize = String::MIN_SIZE + Vec::<i16>::MIN_SIZE;
///
///     fn decode(d: &mut Decoder<'de>) -> Result<Self> {
///         Ok(Self { name: d.string()?.into_owned(), marks: d.sequence(Some(4))? })
///     }
/// }
///
/// let octets = [0, 0, 0, 2, b'a', 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 2];
/// let value = Named::decode(&mut Decoder::new(&octets, ByteOrder::Big, Dialect::new(2)))?;
/// assert_eq!((value.name.as_str(), value.marks), ("a", vec![1, 2]));
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
pub trait Decode<'de>: Sized {
    /// Minimum size of a value in octets, by which an implausible announced length of a sequence is
    /// detected.
    const MIN_SIZE: usize = 1;

    /// Reads a value.
    fn decode(d: &mut Decoder<'de>) -> Result<Self>;

    /// Reads the elements of a sequence whose count was already read and checked; numbers as one
    /// block.
    ///
    /// Reserves memory in proportion to the remaining octets, not to the count.
    fn decode_vec(d: &mut Decoder<'de>, n: usize) -> Result<Vec<Self>> {
        d.elements(n, Self::decode)
    }

    /// Reads an array. Allocates nothing unless an element does.
    fn decode_array<const N: usize>(d: &mut Decoder<'de>) -> Result<[Self; N]> {
        d.array_with(Self::decode)
    }
}

/// Maximum space reserved for a sequence before its elements are written, in octets; beyond it the
/// buffer grows on demand.
const RESERVED_AT_ONCE: usize = 1 << 20;

/// Maximum ratio of the size of a decoded element to its octets for which a sequence's memory is
/// reserved at once.
const EXPANSION: usize = 8;

impl<'a> Encoder<'a> {
    /// Writes a sequence: its count, checked against the bound of its type, and its elements.
    #[inline]
    pub fn sequence<T: Encode>(&mut self, v: &'a [T], bound: Option<u32>) -> Result<()> {
        self.length(v.len(), bound)?;
        T::encode_slice(v, self)
    }

    /// Reserves space for elements without a maximum size, estimated from the first one's octets
    /// plus an eighth. Beyond that the buffer grows on demand.
    #[inline]
    pub(crate) fn reserve_alike(&mut self, first: usize, others: usize) {
        let octets = first.saturating_mul(others);
        self.reserve((octets + octets / 8).min(RESERVED_AT_ONCE));
    }

    /// Writes a sequence with `f` for each element: for element types that are not one Rust type,
    /// such as wide strings.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encoder};
    ///
    /// let names = ["é".to_owned(), "b".to_owned()];
    /// let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
    /// encoder.sequence_with(&names, Some(9), |e, name| e.wstring(name))?;
    /// let message = encoder.finish().to_vec();
    ///
    /// let mut decoder = Decoder::new(&message, ByteOrder::Big, Dialect::GIOP_1_2);
    /// assert_eq!(decoder.sequence_with(Some(9), 4, |d| d.wstring())?, names);
    /// # Ok::<(), oxorb_cdr::Error>(())
    /// ```
    #[inline]
    pub fn sequence_with<T>(
        &mut self,
        v: &'a [T],
        bound: Option<u32>,
        mut f: impl FnMut(&mut Self, &'a T) -> Result<()>,
    ) -> Result<()> {
        self.length(v.len(), bound)?;
        let Some((first, rest)) = v.split_first() else {
            return Ok(());
        };
        let start = self.position();
        f(self, first)?;
        self.reserve_alike(self.position() - start, rest.len());
        rest.iter().try_for_each(|item| f(self, item))
    }
}

impl<'de> Decoder<'de> {
    /// Reads a sequence: its count, checked against the bound of its type and the octets left, and its elements.
    // Always inlined: otherwise the vector would be returned in memory, within a `Result`, and moved from there.
    #[inline(always)]
    pub fn sequence<T: Decode<'de>>(&mut self, bound: Option<u32>) -> Result<Vec<T>> {
        let n = self.length(bound, T::MIN_SIZE)?;
        T::decode_vec(self, n)
    }

    /// Reads a sequence with `f` for each element, of at least `min_element` octets.
    #[inline]
    pub fn sequence_with<T>(
        &mut self,
        bound: Option<u32>,
        min_element: usize,
        f: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let n = self.length(bound, min_element)?;
        self.elements(n, f)
    }

    /// Reads an array with `f` for each element, for element types that are not one Rust type, such as `wchar`.
    /// Allocates nothing itself.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, Dialect};
    ///
    /// let octets = [2, 0, b'a', 2, 0, b'b'];
    /// let mut decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::GIOP_1_2);
    /// assert_eq!(decoder.array_with(|d| d.wchar())?, ['a', 'b']);
    /// # Ok::<(), oxorb_cdr::Error>(())
    /// ```
    #[inline]
    pub fn array_with<T, const N: usize>(
        &mut self,
        mut f: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<[T; N]> {
        array::try_from_fn(|| f(self))
    }

    /// Returns the number of elements of a size in memory for which memory may be reserved at once,
    /// given the remaining octets.
    pub(crate) fn affordable(&self, element: usize) -> usize {
        self.remaining().saturating_mul(EXPANSION) / element.max(1)
    }

    /// Reads `n` elements one nesting level deeper: recursive types recur through their sequences.
    fn elements<T>(
        &mut self,
        n: usize,
        mut f: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.charge_for::<T>(n)?;
        let mut items = Vec::with_capacity(n.min(self.affordable(size_of::<T>())));
        self.nested(|decoder| {
            for _ in 0..n {
                items.push(f(decoder)?);
            }
            Ok(())
        })?;
        Ok(items)
    }
}

/// Implements [`Encode`] and [`Decode`] by [`Fixed`](crate::Fixed).
#[macro_export]
macro_rules! fixed {
    ($type:ty) => {
        impl $crate::Encode for $type {
            const MAX_SIZE: ::core::option::Option<usize> =
                ::core::option::Option::Some(<$type as $crate::Fixed>::LAYOUT.max());

            #[inline]
            fn encode<'a>(&'a self, e: &mut $crate::Encoder<'a>) -> $crate::Result<()> {
                e.fixed(self);
                ::core::result::Result::Ok(())
            }

            #[inline]
            fn encode_slice<'a>(
                items: &'a [Self],
                e: &mut $crate::Encoder<'a>,
            ) -> $crate::Result<()> {
                e.fixed_slice(items);
                ::core::result::Result::Ok(())
            }
        }

        impl<'de> $crate::Decode<'de> for $type {
            const MIN_SIZE: usize = <$type as $crate::Fixed>::LAYOUT.min();

            #[inline(always)]
            fn decode(d: &mut $crate::Decoder<'de>) -> $crate::Result<Self> {
                d.fixed()
            }

            #[inline(always)]
            fn decode_vec(
                d: &mut $crate::Decoder<'de>,
                n: usize,
            ) -> $crate::Result<$crate::__alloc::vec::Vec<Self>> {
                d.fixed_vec(n)
            }
        }
    };
}

fixed!(LongDouble);

/// Implements both traits for types whose slices are one block.
macro_rules! block {
    ($($type:ty: $one:ident, $many:ident, $read:expr;)*) => {$(
        impl Encode for $type {
            const MAX_SIZE: Option<usize> = Some(<$type as crate::Fixed>::LAYOUT.max());

            #[inline]
            fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
                e.$one(*self);
                Ok(())
            }

            #[inline]
            fn encode_slice<'a>(items: &'a [Self], e: &mut Encoder<'a>) -> Result<()> {
                e.$many(items);
                Ok(())
            }
        }

        impl<'de> Decode<'de> for $type {
            const MIN_SIZE: usize = <$type as crate::Fixed>::LAYOUT.min();

            #[inline]
            fn decode(d: &mut Decoder<'de>) -> Result<Self> {
                d.$one()
            }

            #[inline]
            fn decode_vec(d: &mut Decoder<'de>, n: usize) -> Result<Vec<Self>> {
                d.charge(n, size_of::<Self>())?;
                $read(d.$many(n)?)
            }

            #[inline]
            fn decode_array<const N: usize>(d: &mut Decoder<'de>) -> Result<[Self; N]> {
                d.fixed()
            }
        }
    )*};
}

block! {
    u8: octet, octets, |read: &[u8]| Ok(copies::to_vec(read));
    bool: boolean, booleans, owned;
    i16: short, shorts, owned;
    u16: ushort, ushorts, owned;
    i32: long, longs, owned;
    u32: ulong, ulongs, owned;
    i64: longlong, longlongs, owned;
    u64: ulonglong, ulonglongs, owned;
    f32: float, floats, owned;
    f64: double, doubles, owned;
}

fn owned<T: Copy>(read: alloc::borrow::Cow<'_, [T]>) -> Result<Vec<T>> {
    Ok(match read {
        alloc::borrow::Cow::Borrowed(read) => copies::to_vec(read),
        alloc::borrow::Cow::Owned(read) => read,
    })
}

/// IDL `char`; a `wchar` is written with [`Encoder::wchar`].
impl Encode for char {
    const MAX_SIZE: Option<usize> = Some(1);

    #[inline]
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.char(*self)
    }
}

/// IDL `char`; a `wchar` is read with [`Decoder::wchar`].
impl<'de> Decode<'de> for char {
    #[inline]
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        d.char()
    }
}

/// IDL `string`; a `wstring` is written with [`Encoder::wstring`].
impl Encode for str {
    #[inline]
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.string(self)
    }
}

/// IDL `string`; a `wstring` is written with [`Encoder::wstring`].
impl Encode for String {
    #[inline]
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.string(self)
    }
}

/// IDL `string`; a `wstring` is read with [`Decoder::wstring`].
impl<'de> Decode<'de> for String {
    const MIN_SIZE: usize = 4;

    #[inline]
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        d.owned_string()
    }
}

/// Encodes an unbounded sequence.
impl<T: Encode> Encode for Vec<T> {
    #[inline]
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.sequence(self, None)
    }
}

/// Decodes an unbounded sequence.
impl<'de, T: Decode<'de>> Decode<'de> for Vec<T> {
    const MIN_SIZE: usize = 4;

    #[inline(always)]
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        d.sequence(None)
    }
}

impl<T: Encode, const N: usize> Encode for [T; N] {
    const MAX_SIZE: Option<usize> = match T::MAX_SIZE {
        Some(size) => size.checked_mul(N),
        None => None,
    };

    #[inline]
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        T::encode_slice(self, e)
    }

    #[inline]
    fn encode_slice<'a>(items: &'a [Self], e: &mut Encoder<'a>) -> Result<()> {
        T::encode_slice(items.as_flattened(), e)
    }
}

impl<'de, T: Decode<'de>, const N: usize> Decode<'de> for [T; N] {
    const MIN_SIZE: usize = T::MIN_SIZE * N;

    #[inline]
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        T::decode_array(d)
    }
}

impl<T: Encode + ?Sized> Encode for Box<T> {
    const MAX_SIZE: Option<usize> = None; // asking T would never end for a type that holds itself

    #[inline]
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        (**self).encode(e)
    }
}

impl<'de, T: Decode<'de>> Decode<'de> for Box<T> {
    #[inline]
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        T::decode(d).map(Box::new)
    }
}
