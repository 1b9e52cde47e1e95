//! Objects that rotate values: see `interop.idl`.

use std::borrow::Cow;

use oxorb::SystemException;
use oxorb::servant::Context;
use oxorb::values::LongDouble;
use oxorb_interop::interop::*;
use oxorb_interop::{interop, interop_omniorb};

pub(crate) type Result<T> = core::result::Result<T, SystemException>;

/// Returns the old value of `b` twice, and stores `a` in it.
pub(crate) fn rotate<T: Clone>(a: T, b: &mut T) -> (T, T) {
    let old = std::mem::replace(b, a);
    (old.clone(), old)
}

/// Parameters that are passed by value.
macro_rules! rotate_values {
    ($($op:ident: $type:ty,)*) => {$(
        fn $op(&self, a: $type, b: &mut $type) -> Result<($type, $type)> {
            Ok(rotate(a, b))
        }
    )*};
}

/// Parameters that are passed by reference: the servant's type, and its owned type.
macro_rules! rotate_borrowed {
    ($($op:ident: $seen:ty => $owned:ty,)*) => {$(
        fn $op(&self, a: &$seen, b: &mut $owned) -> Result<($owned, $owned)> {
            Ok(rotate(a.to_owned(), b))
        }
    )*};
}

/// Sequences of numbers, whose results may be the servant's own memory.
macro_rules! rotate_numbers {
    ($($op:ident: $type:ty,)*) => {$(
        fn $op<'a>(&'a self, a: &'a [$type], b: &mut Vec<$type>) -> Result<(Cow<'a, [$type]>, Cow<'a, [$type]>)> {
            let (result, c) = rotate(a.to_owned(), b);
            Ok((result.into(), c.into()))
        }
    )*};
}

pub(crate) use {rotate_borrowed, rotate_values};

pub(crate) struct Numbers;

impl interop::Numbers for Numbers {
    rotate_values! {
        rotate_boolean: bool,
        rotate_octet: u8,
        rotate_short: i16,
        rotate_ushort: u16,
        rotate_long: i32,
        rotate_ulong: u32,
        rotate_longlong: i64,
        rotate_ulonglong: u64,
        rotate_float: f32,
        rotate_double: f64,
    }

    fn constant_values(&self) -> Result<Constants> {
        Ok(Constants {
            yes: YES,
            mask: MASK,
            letter: LETTER,
            low: LOW,
            high: HIGH,
            product: PRODUCT,
            bits: BITS,
            far_away: FAR,
            huge_number: HUGE_NUMBER,
            ratio: RATIO,
            greeting: GREETING.to_owned(),
            favourite: FAVOURITE,
        })
    }

    fn mixed(
        &self,
        o: u8,
        d: f64,
        s: &mut String,
        p: &Point,
        data: &mut Octets,
        not: bool,
    ) -> Result<(f64, i16, i64, bool)> {
        s.push('!');
        data.reverse();
        Ok((2.0 * d, o.into(), p.y.into(), !not))
    }
}

pub(crate) struct Texts;

impl interop::Texts for Texts {
    rotate_values! {
        rotate_char: char,
    }
    rotate_borrowed! {
        rotate_string: str => String,
        rotate_bounded: str => String,
        rotate_strings: [String] => Strings,
        rotate_bounded_strings: [String] => ShortTexts,
    }
}

pub(crate) struct WideTexts;

impl interop::WideTexts for WideTexts {
    rotate_values! {
        rotate_wchar: char,
    }
    rotate_borrowed! {
        rotate_wstring: str => String,
        rotate_wstrings: [String] => WideStrings,
        rotate_wchars: [char] => WideChars,
        rotate_record: WideRecord => WideRecord,
        rotate_choice: WideChoice => WideChoice,
    }

    fn echo_bounded(&self, a: &str) -> Result<String> {
        Ok(a.to_owned())
    }

    fn constant_values(&self) -> Result<(String, char)> {
        Ok((WIDE_GREETING.to_owned(), WIDE_LETTER))
    }
}

pub(crate) struct Aggregates;

impl interop::Aggregates for Aggregates {
    rotate_values! {
        rotate_enum: Colour,
        rotate_typedef: Metres,
    }
    rotate_borrowed! {
        rotate_point: Point => Point,
        rotate_record: Record => Record,
        rotate_tree: Tree => Tree,
        rotate_words: Words => Words,
        rotate_matrix: Matrix => Matrix,
        rotate_names: Names => Names,
        rotate_pair: Pair => Pair,
        rotate_grid: Grid => Grid,
    }
}

pub(crate) struct Choices;

impl interop::Choices for Choices {
    rotate_borrowed! {
        rotate_short: ByShort => ByShort,
        rotate_ushort: ByUShort => ByUShort,
        rotate_long: ByLong => ByLong,
        rotate_ulong: ByULong => ByULong,
        rotate_longlong: ByLongLong => ByLongLong,
        rotate_ulonglong: ByULongLong => ByULongLong,
        rotate_char: ByChar => ByChar,
        rotate_boolean: ByBoolean => ByBoolean,
        rotate_enum: ByEnum => ByEnum,
        rotate_middle: ByMiddle => ByMiddle,
        rotate_nested: Nested => Nested,
        rotate_unions: [ByShort] => Unions,
    }
}

pub(crate) struct Sequences;

impl interop::Sequences for Sequences {
    rotate_numbers! {
        rotate_octets: u8,
        rotate_booleans: bool,
        rotate_shorts: i16,
        rotate_ushorts: u16,
        rotate_longs: i32,
        rotate_ulongs: u32,
        rotate_longlongs: i64,
        rotate_ulonglongs: u64,
        rotate_floats: f32,
        rotate_doubles: f64,
        rotate_bounded: i32,
    }
    rotate_borrowed! {
        rotate_chars: [char] => Chars,
        rotate_enums: [Colour] => Colours,
        rotate_points: [Point] => Points,
        rotate_records: [Record] => Records,
        rotate_lists: [Longs] => LongLists,
        rotate_rows: [Row] => Rows,
        rotate_bounded_strings: [String] => FewStrings,
    }

    fn echo_octets<'a>(&'a self, a: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        Ok(a.into())
    }

    fn echo_doubles<'a>(&'a self, a: &'a [f64]) -> Result<Cow<'a, [f64]>> {
        Ok(a.into())
    }

    fn echo_points(&self, a: &[Point]) -> Result<Points> {
        Ok(a.to_owned())
    }

    fn echo_strings(&self, a: &[String]) -> Result<Strings> {
        Ok(a.to_owned())
    }

    fn echo_string(&self, a: &str) -> Result<String> {
        Ok(a.to_owned())
    }
}

/// Types that only omniORB and OxORB support.
pub(crate) struct OmniorbExtras;

impl interop_omniorb::Extras for OmniorbExtras {
    rotate_borrowed! {
        rotate_far: interop_omniorb::FarLabels => interop_omniorb::FarLabels,
        rotate_top: interop_omniorb::TopLabels => interop_omniorb::TopLabels,
    }
    rotate_values! {
        rotate_longdouble: LongDouble,
    }

    fn with_context(&self, _a: i32, context: &Context) -> Result<String> {
        Ok(context.value("colour").unwrap_or_default().to_owned())
    }
}
