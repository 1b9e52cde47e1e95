use crate::prelude::*;
use core::ops::Deref;

use super::TypeCode;
use crate::{
    Decode, Decoder, Encode, Encoder, LongDouble, OctetSeq, Result, Value, ValueBase, ValueLink,
    Valuetype,
};

/// Rust type that represents one IDL type. Generated code implements it.
///
/// Rust's `char` and `String` represent IDL `char` and `string`; [`Wchar`] and [`Wstring`]
/// represent `wchar` and `wstring`. IDL types without a distinct Rust type, such as bounded strings
/// and typedefs, have no implementation; the type code of a struct contains the full types of such
/// members.
///
/// ```
/// use std::sync::LazyLock;
///
/// use oxorb_cdr::{TypeCode, Typed};
///
/// struct Point {
///     x: i32,
///     y: i32,
/// }
///
/// impl Typed for Point {
///     fn type_code() -> TypeCode {
///         static TC: LazyLock<TypeCode> = LazyLock::new(|| {
///             TypeCode::structure("IDL:Point:1.0", "Point", [("x", i32::type_code()), ("y", i32::type_code())])
///         });
///         TC.clone()
///     }
/// }
///
/// assert_eq!(<Vec<Point>>::type_code().to_string(), "sequence<Point>");
/// ```
pub trait Typed {
    /// Returns the IDL type.
    fn type_code() -> TypeCode;
}

macro_rules! typed {
    ($($type:ty: $constant:ident;)*) => {$(
        impl Typed for $type {
            #[inline]
            fn type_code() -> TypeCode {
                TypeCode::$constant
            }
        }
    )*};
}

typed! {
    i16: SHORT;
    i32: LONG;
    u16: USHORT;
    u32: ULONG;
    f32: FLOAT;
    f64: DOUBLE;
    bool: BOOLEAN;
    char: CHAR;
    u8: OCTET;
    TypeCode: TYPE_CODE;
    str: STRING;
    String: STRING;
    i64: LONGLONG;
    u64: ULONGLONG;
    LongDouble: LONGDOUBLE;
    Wchar: WCHAR;
    Wstring: WSTRING;
    crate::Any: ANY;
    ValueBase: VALUE_BASE;
}

/// Type of an unbounded sequence.
impl<T: Typed> Typed for Vec<T> {
    fn type_code() -> TypeCode {
        TypeCode::sequence(T::type_code())
    }
}

impl Typed for OctetSeq {
    fn type_code() -> TypeCode {
        TypeCode::sequence(TypeCode::OCTET)
    }
}

impl<T: Typed, const N: usize> Typed for [T; N] {
    /// # Panics
    /// When there are more elements than an array in IDL can have.
    fn type_code() -> TypeCode {
        let length = u32::try_from(N).expect("an array has less than 2^32 elements");
        TypeCode::array(T::type_code(), length)
    }
}

impl<T: Typed + ?Sized> Typed for Box<T> {
    fn type_code() -> TypeCode {
        T::type_code()
    }
}

impl<T: Typed + Valuetype> Typed for ValueLink<T> {
    fn type_code() -> TypeCode {
        T::type_code()
    }
}

impl<T: Typed + Valuetype> Typed for Value<T> {
    fn type_code() -> TypeCode {
        T::type_code()
    }
}

/// `char` as an IDL `wchar` outside of generated code, such as in [`Any::new`](crate::Any::new).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Wchar(pub char);

/// `String` as an IDL `wstring` outside of generated code, such as in
/// [`Any::new`](crate::Any::new).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Wstring(pub String);

impl Encode for Wchar {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.wchar(self.0)
    }
}

impl Encode for Wstring {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.wstring(&self.0)
    }
}

impl<'de> Decode<'de> for Wchar {
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        d.wchar().map(Self)
    }
}

impl<'de> Decode<'de> for Wstring {
    const MIN_SIZE: usize = 4;

    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        d.wstring().map(Self)
    }
}

impl Deref for Wstring {
    type Target = String;

    fn deref(&self) -> &String {
        &self.0
    }
}

impl From<String> for Wstring {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<char> for Wchar {
    fn from(character: char) -> Self {
        Self(character)
    }
}
