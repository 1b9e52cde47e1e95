//! Interpreted marshalling: tables of members and one loop for all types, whereas compiled code
//! contains the code for every member of every type.
//!
//! A table lists the members of a value, each with the address of its write or read function.
//! Writing a struct is one call with its table; reading fills a blank value. Interpreted and
//! compiled code write, read and reject the same, because both use the operations of [`Encoder`]
//! and [`Decoder`]: the interpreter calls them, and compiled code inlines them for each type.
//! Interpreted code allocates no more than compiled code. This module is used by generated code.
//!
//! ```
//! use oxorb_cdr::interpreted::{self, Blank, Part, Slot};
//! use oxorb_cdr::{ByteOrder, Decode, Decoder, Dialect, Encode, Encoder, Result};
//!
//! struct Named {
//!     name: String,
//!     marks: Vec<i16>,
//! }
//!
//! impl Part for Named {
//!     fn write<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
//!         interpreted::write(&[&self.name, &self.marks], e)
//!     }
//! }
//!
//! impl Slot for Named {
//!     fn read(&mut self, d: &mut Decoder<'_>) -> Result<()> {
//!         interpreted::read(&mut [&mut self.name, &mut self.marks], d)
//!     }
//! }
//!
//! impl Blank for Named {
//!     fn blank() -> Self {
//!         Self { name: String::new(), marks: Vec::new() }
//!     }
//! }
//!
//! oxorb_cdr::interpreted!(Named, None, 8);
//!
//! let value = Named { name: "a".into(), marks: vec![1, 2] };
//! let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
//! value.encode(&mut encoder)?;
//! let octets = encoder.finish().to_vec();
//! assert_eq!(octets, [0, 0, 0, 2, b'a', 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 2]);
//! let read = Named::decode(&mut Decoder::new(&octets, ByteOrder::Big, Dialect::new(2)))?;
//! assert_eq!((read.name.as_str(), read.marks), ("a", vec![1, 2]));
//! # Ok::<(), oxorb_cdr::Error>(())
//! ```

use crate::prelude::*;
use alloc::collections::BTreeMap;

use crate::{
    Any, Decode, Decoder, Encode, Encoder, Fixed, FixedPoint, FixedReader, FixedWriter, Layout,
    LongDouble, Nilable, Result, TypeCode,
};

/// Value that the interpreter writes.
pub trait Part {
    /// Writes the value.
    fn write<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()>;
}

/// Destination into which the interpreter reads a value.
pub trait Slot {
    /// Reads the value. After an error the destination holds an unspecified value of its type.
    fn read(&mut self, d: &mut Decoder<'_>) -> Result<()>;
}

/// Value of fixed layout that the interpreter writes; every [`Fixed`] is one.
pub trait FixedPart {
    /// Writes the value.
    fn put_part(&self, w: &mut FixedWriter<'_>);
}

/// Destination into which the interpreter reads a value of fixed layout; every [`Fixed`] is one.
pub trait FixedSlot {
    /// Reads the value. After an error the destination holds an unspecified value of its type.
    fn take_slot(&mut self, r: &mut FixedReader<'_>) -> Result<()>;
}

/// Type with an initial value to be overwritten. Any value will do, if it costs nothing to create.
pub trait Blank: Sized + 'static {
    /// Returns the initial value.
    fn blank() -> Self;
}

/// Sequence that grows while it is read: the operations that depend on the element type.
pub trait Grow<S: ?Sized> {
    /// Reserves capacity for `n` more elements.
    fn reserve(&mut self, n: usize);
    /// Appends an element, and returns it to be filled.
    fn grow(&mut self) -> &mut S;
}

/// Writes the members in a table.
#[inline(never)]
pub fn write<'a>(table: &[&'a dyn Part], e: &mut Encoder<'a>) -> Result<()> {
    table.iter().try_for_each(|part| part.write(e))
}

/// Reads the members in a table.
#[inline(never)]
pub fn read(table: &mut [&mut dyn Slot], d: &mut Decoder<'_>) -> Result<()> {
    table.iter_mut().try_for_each(|slot| slot.read(d))
}

/// Writes the members of a value of fixed layout.
#[inline(never)]
pub fn put(table: &[&dyn FixedPart], w: &mut FixedWriter<'_>) {
    table.iter().for_each(|part| part.put_part(w));
}

/// Reads the members of a value of fixed layout.
#[inline(never)]
pub fn take(table: &mut [&mut dyn FixedSlot], r: &mut FixedReader<'_>) -> Result<()> {
    table.iter_mut().try_for_each(|slot| slot.take_slot(r))
}

/// Writes a value of fixed layout.
#[inline(never)]
pub fn write_fixed(value: &dyn FixedPart, layout: &Layout, e: &mut Encoder<'_>) {
    e.fixed_part(value, layout);
}

/// Reads a value of fixed layout.
#[inline(never)]
pub fn read_fixed(slot: &mut dyn FixedSlot, layout: &Layout, d: &mut Decoder<'_>) -> Result<()> {
    d.fixed_with(layout, |reader| slot.take_slot(reader))
}

/// Writes the elements of a sequence.
#[inline(never)]
pub fn write_each<'a>(
    n: usize,
    item: &dyn Fn(usize) -> &'a dyn Part,
    e: &mut Encoder<'a>,
) -> Result<()> {
    let Some(last) = n.checked_sub(1) else {
        return Ok(());
    };
    let start = e.position();
    item(0).write(e)?;
    e.reserve_alike(e.position() - start, last);
    (1..n).try_for_each(|index| item(index).write(e))
}

/// Writes the elements of a sequence, of fixed layout.
#[inline(never)]
pub fn write_each_fixed<'a>(
    n: usize,
    item: &dyn Fn(usize) -> &'a dyn FixedPart,
    layout: &Layout,
    e: &mut Encoder<'_>,
) {
    e.reserve(n.saturating_mul(layout.max()));
    (0..n).for_each(|index| e.fixed_part(item(index), layout));
}

/// Reads the elements of a sequence whose count was already read and checked.
#[inline(never)]
pub fn read_each(
    n: usize,
    element: usize,
    items: &mut dyn Grow<dyn Slot>,
    d: &mut Decoder<'_>,
) -> Result<()> {
    items.reserve(n.min(d.affordable(element)));
    d.nested(|d| (0..n).try_for_each(|_| items.grow().read(d)))
}

/// Reads the elements of a sequence, of fixed layout, whose count was already read and checked.
#[inline(never)]
pub fn read_each_fixed(
    n: usize,
    layout: &Layout,
    items: &mut dyn Grow<dyn FixedSlot>,
    d: &mut Decoder<'_>,
) -> Result<()> {
    d.fixed_each(n, layout, items)
}

/// Implements `decode_vec` for an interpreted type.
#[inline]
pub fn read_vec<T: Blank + Slot>(n: usize, d: &mut Decoder<'_>) -> Result<Vec<T>> {
    d.charge_for::<T>(n)?;
    let mut items = Vec::new();
    read_each(n, size_of::<T>(), &mut items, d)?;
    Ok(items)
}

/// Implements `decode_vec` for an interpreted type of fixed layout.
#[inline]
pub fn read_fixed_vec<T: Blank + Fixed>(n: usize, d: &mut Decoder<'_>) -> Result<Vec<T>> {
    d.charge_for::<T>(n)?;
    let mut items = Vec::new();
    read_each_fixed(n, const { &T::LAYOUT }, &mut items, d)?;
    Ok(items)
}

impl<T: Fixed> FixedPart for T {
    fn put_part(&self, w: &mut FixedWriter<'_>) {
        self.put(w);
    }
}

impl<T: Fixed> FixedSlot for T {
    fn take_slot(&mut self, r: &mut FixedReader<'_>) -> Result<()> {
        *self = T::take(r)?;
        Ok(())
    }
}

macro_rules! grow {
    ($kind:ident, $bound:ident) => {
        impl<T: Blank + $bound> Grow<dyn $kind> for Vec<T> {
            fn reserve(&mut self, n: usize) {
                self.reserve_exact(n);
            }

            fn grow(&mut self) -> &mut (dyn $kind + 'static) {
                self.push(T::blank());
                self.last_mut().expect("just pushed")
            }
        }
    };
}

grow!(Slot, Slot);
grow!(FixedSlot, Fixed);

/// Implements [`Part`] and [`Slot`] for a type by its [`Encode`] and [`Decode`].
macro_rules! whole {
    ([$($parameters:tt)*] $type:ty) => {
        impl<$($parameters)*> Part for $type {
            fn write<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
                self.encode(e)
            }
        }

        impl<$($parameters)*> Slot for $type {
            fn read(&mut self, d: &mut Decoder<'_>) -> Result<()> {
                *self = Self::decode(d)?;
                Ok(())
            }
        }
    };
}

whole!([] bool);
whole!([] u8);
whole!([] i8);
whole!([] i16);
whole!([] u16);
whole!([] i32);
whole!([] u32);
whole!([] i64);
whole!([] u64);
whole!([] f32);
whole!([] f64);
whole!([] LongDouble);
whole!([] char);
whole!([] String);
whole!([] Any);
whole!([] TypeCode);

whole!([T: Encode + for<'de> Decode<'de>] Vec<T>);
whole!([T: Encode + for<'de> Decode<'de>, const N: usize] [T; N]);
whole!([T: Nilable] Option<T>);
whole!([K: Encode + for<'de> Decode<'de> + Ord, V: Encode + for<'de> Decode<'de>] BTreeMap<K, V>);
whole!([const D: u16, const S: u8] FixedPoint<D, S>);

/// Operations of [`Encoder`] as functions that are never inlined, for single steps between tables
/// and for the arguments of calls.
pub mod writing {
    use crate::{Encode, Encoder, Fixed, LongDouble, Result};

    macro_rules! plain {
        ($($name:ident: $type:ty),*) => {$(
            #[doc = concat!("[`Encoder::", stringify!($name), "`].")]
            #[inline(never)]
            pub fn $name(e: &mut Encoder<'_>, v: $type) {
                e.$name(v);
            }
        )*};
    }

    macro_rules! fallible {
        ($($name:ident: $type:ty $(, $bound:ident)?;)*) => {$(
            #[doc = concat!("[`Encoder::", stringify!($name), "`].")]
            #[inline(never)]
            pub fn $name(e: &mut Encoder<'_>, v: $type $(, $bound: u32)?) -> Result<()> {
                e.$name(v $(, $bound)?)
            }
        )*};
    }

    plain!(
        octet: u8, int8: i8, boolean: bool, short: i16, ushort: u16, long: i32, ulong: u32, longlong: i64,
        ulonglong: u64, float: f32, double: f64, long_double: LongDouble
    );
    fallible! {
        char: char;
        wchar: char;
        string: &str;
        bounded_string: &str, bound;
        wstring: &str;
        bounded_wstring: &str, bound;
    }

    /// Calls [`Encoder::fixed`].
    #[inline]
    pub fn fixed<T: Fixed>(e: &mut Encoder<'_>, v: &T) {
        super::write_fixed(v, const { &T::LAYOUT }, e);
    }

    /// Calls [`Encoder::sequence`].
    #[inline(never)]
    pub fn sequence<'a, T: Encode>(
        e: &mut Encoder<'a>,
        v: &'a [T],
        bound: Option<u32>,
    ) -> Result<()> {
        e.sequence(v, bound)
    }
}

/// Operations of [`Decoder`] as functions that are never inlined.
pub mod reading {
    use alloc::borrow::Cow;
    use alloc::string::String;
    use alloc::vec::Vec;

    use crate::{Decode, Decoder, LongDouble, Result};

    macro_rules! plain {
        ($($name:ident: $type:ty),*) => {$(
            #[doc = concat!("[`Decoder::", stringify!($name), "`].")]
            #[inline(never)]
            pub fn $name(d: &mut Decoder<'_>) -> Result<$type> {
                d.$name()
            }
        )*};
    }

    macro_rules! blocks {
        ($($name:ident: $type:ty),*) => {$(
            #[doc = concat!("[`Decoder::", stringify!($name), "`].")]
            #[inline(never)]
            pub fn $name<'de>(d: &mut Decoder<'de>, n: usize) -> Result<Cow<'de, [$type]>> {
                d.$name(n)
            }
        )*};
    }

    plain!(
        octet: u8, int8: i8, boolean: bool, char: char, wchar: char, short: i16, ushort: u16, long: i32, ulong: u32,
        longlong: i64, ulonglong: u64, float: f32, double: f64, long_double: LongDouble, wstring: String
    );
    blocks!(
        booleans: bool, shorts: i16, ushorts: u16, longs: i32, ulongs: u32, longlongs: i64, ulonglongs: u64, floats: f32,
        doubles: f64
    );

    /// Calls [`Decoder::octets`].
    #[inline(never)]
    pub fn octets<'de>(d: &mut Decoder<'de>, n: usize) -> Result<&'de [u8]> {
        d.octets(n)
    }

    /// Calls [`Decoder::string`].
    #[inline(never)]
    pub fn string<'de>(d: &mut Decoder<'de>) -> Result<Cow<'de, str>> {
        d.string()
    }

    /// Calls [`Decoder::bounded_string`].
    #[inline(never)]
    pub fn bounded_string<'de>(d: &mut Decoder<'de>, bound: u32) -> Result<Cow<'de, str>> {
        d.bounded_string(bound)
    }

    /// Calls [`Decoder::bounded_wstring`].
    #[inline(never)]
    pub fn bounded_wstring(d: &mut Decoder<'_>, bound: u32) -> Result<String> {
        d.bounded_wstring(bound)
    }

    /// Calls [`Decoder::length`].
    #[inline(never)]
    pub fn length(d: &mut Decoder<'_>, bound: Option<u32>, min_element: usize) -> Result<usize> {
        d.length(bound, min_element)
    }

    /// Calls [`Decoder::sequence`].
    #[inline(never)]
    pub fn sequence<'de, T: Decode<'de>>(
        d: &mut Decoder<'de>,
        bound: Option<u32>,
    ) -> Result<Vec<T>> {
        d.sequence(bound)
    }

    /// Calls [`Decode::decode`].
    #[inline(never)]
    pub fn value<'de, T: Decode<'de>>(d: &mut Decoder<'de>) -> Result<T> {
        T::decode(d)
    }
}

/// Implements [`Encode`](crate::Encode) and [`Decode`](crate::Decode) by [`Part`], [`Slot`] and
/// [`Blank`], given the maximum size in octets of a value, if its type bounds it, and the minimum.
#[macro_export]
macro_rules! interpreted {
    ($type:ty, $max:expr, $min:expr) => {
        impl $crate::Encode for $type {
            const MAX_SIZE: ::core::option::Option<usize> = $max;

            #[inline]
            fn encode<'a>(&'a self, e: &mut $crate::Encoder<'a>) -> $crate::Result<()> {
                $crate::interpreted::Part::write(self, e)
            }

            #[inline]
            fn encode_slice<'a>(
                items: &'a [Self],
                e: &mut $crate::Encoder<'a>,
            ) -> $crate::Result<()> {
                $crate::interpreted::write_each(items.len(), &|index| &items[index], e)
            }
        }

        impl<'de> $crate::Decode<'de> for $type {
            const MIN_SIZE: usize = $min;

            #[inline]
            fn decode(d: &mut $crate::Decoder<'de>) -> $crate::Result<Self> {
                let mut value = <$type as $crate::interpreted::Blank>::blank();
                $crate::interpreted::Slot::read(&mut value, d)?;
                ::core::result::Result::Ok(value)
            }

            #[inline]
            fn decode_vec(
                d: &mut $crate::Decoder<'de>,
                n: usize,
            ) -> $crate::Result<$crate::__alloc::vec::Vec<Self>> {
                $crate::interpreted::read_vec(n, d)
            }
        }
    };
}

/// Implements [`Encode`](crate::Encode), [`Decode`](crate::Decode), [`Part`] and [`Slot`] by
/// [`Fixed`] and [`Blank`].
#[macro_export]
macro_rules! interpreted_fixed {
    ($type:ty) => {
        impl $crate::interpreted::Part for $type {
            fn write<'a>(&'a self, e: &mut $crate::Encoder<'a>) -> $crate::Result<()> {
                $crate::interpreted::write_fixed(self, &<$type as $crate::Fixed>::LAYOUT, e);
                ::core::result::Result::Ok(())
            }
        }

        impl $crate::interpreted::Slot for $type {
            fn read(&mut self, d: &mut $crate::Decoder<'_>) -> $crate::Result<()> {
                $crate::interpreted::read_fixed(self, &<$type as $crate::Fixed>::LAYOUT, d)
            }
        }

        impl $crate::Encode for $type {
            const MAX_SIZE: ::core::option::Option<usize> =
                ::core::option::Option::Some(<$type as $crate::Fixed>::LAYOUT.max());

            #[inline]
            fn encode<'a>(&'a self, e: &mut $crate::Encoder<'a>) -> $crate::Result<()> {
                $crate::interpreted::Part::write(self, e)
            }

            #[inline]
            fn encode_slice<'a>(
                items: &'a [Self],
                e: &mut $crate::Encoder<'a>,
            ) -> $crate::Result<()> {
                let layout = &<$type as $crate::Fixed>::LAYOUT;
                let item = |index: usize| &items[index] as &dyn $crate::interpreted::FixedPart;
                $crate::interpreted::write_each_fixed(items.len(), &item, layout, e);
                ::core::result::Result::Ok(())
            }
        }

        impl<'de> $crate::Decode<'de> for $type {
            const MIN_SIZE: usize = <$type as $crate::Fixed>::LAYOUT.min();

            #[inline]
            fn decode(d: &mut $crate::Decoder<'de>) -> $crate::Result<Self> {
                let mut value = <$type as $crate::interpreted::Blank>::blank();
                $crate::interpreted::Slot::read(&mut value, d)?;
                ::core::result::Result::Ok(value)
            }

            #[inline]
            fn decode_vec(
                d: &mut $crate::Decoder<'de>,
                n: usize,
            ) -> $crate::Result<$crate::__alloc::vec::Vec<Self>> {
                $crate::interpreted::read_fixed_vec(n, d)
            }
        }
    };
}
