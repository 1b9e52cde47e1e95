use super::{Dynamic, DynamicError, DynamicErrorKind, RawReference};
use crate::prelude::*;
use crate::{Any, Decimal, LongDouble, TypeCode, Wchar, Wstring};

macro_rules! convert {
    ($($type:ty: $variant:ident, $name:literal;)*) => {$(
        impl From<$type> for Dynamic {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        }

        impl TryFrom<&Dynamic> for $type {
            type Error = DynamicError;

            /// Returns the value, if it is of exactly this type.
            fn try_from(value: &Dynamic) -> Result<Self, DynamicError> {
                match value {
                    Dynamic::$variant(value) => Ok(value.clone()),
                    other => Err(other.is_no($name)),
                }
            }
        }
    )*};
}

convert! {
    i16: Short, "short";
    i32: Long, "long";
    u16: Ushort, "unsigned short";
    u32: Ulong, "unsigned long";
    f32: Float, "float";
    f64: Double, "double";
    bool: Boolean, "boolean";
    char: Char, "char";
    u8: Octet, "octet";
    Any: Any, "any";
    TypeCode: TypeCode, "TypeCode";
    RawReference: Reference, "object reference";
    String: String, "string";
    Vec<u8>: Octets, "octets";
    i64: Longlong, "long long";
    u64: Ulonglong, "unsigned long long";
    LongDouble: Longdouble, "long double";
    Decimal: Fixed, "fixed";
}

impl From<&str> for Dynamic {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<Wchar> for Dynamic {
    fn from(value: Wchar) -> Self {
        Self::Wchar(value.0)
    }
}

impl From<Wstring> for Dynamic {
    fn from(value: Wstring) -> Self {
        Self::Wstring(value.0)
    }
}

impl TryFrom<&Dynamic> for Wchar {
    type Error = DynamicError;

    /// Returns the value, if it is a `wchar`.
    fn try_from(value: &Dynamic) -> Result<Self, DynamicError> {
        match value {
            Dynamic::Wchar(value) => Ok(Self(*value)),
            other => Err(other.is_no("wchar")),
        }
    }
}

impl TryFrom<&Dynamic> for Wstring {
    type Error = DynamicError;

    /// Returns the value, if it is a `wstring`.
    fn try_from(value: &Dynamic) -> Result<Self, DynamicError> {
        match value {
            Dynamic::Wstring(value) => Ok(Self(value.clone())),
            other => Err(other.is_no("wstring")),
        }
    }
}

impl Dynamic {
    fn is_no(&self, expected: &str) -> DynamicError {
        let found = self.what();
        let expected = expected.to_owned();
        DynamicErrorKind::Expected { expected, found }.into()
    }
}
