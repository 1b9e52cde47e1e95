//! Values of types known only at run time.

use crate::prelude::*;
mod convert;
mod default;
mod error;
mod navigate;
mod read;
mod reference;
mod skip;
mod value;
mod write;

use alloc::sync::Arc;

use crate::{Any, Decimal, LongDouble, TypeCode, ValueKey};

pub use error::{DynamicError, DynamicErrorKind};
pub use reference::{RawProfile, RawReference};
pub use skip::skip;
pub(crate) use skip::{Walk, skip_exception_id};
pub use value::DynamicValue;

/// CORBA value of any type as a tree: the basis of dynamic anys, calls without stubs, JSON, and
/// interpreted marshalling.
///
/// A value identifies its kind, but not its complete type, so reading and writing need a
/// [`TypeCode`]. Values of aliases are values of the aliased types.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Decoder, Dialect, Dynamic, TypeCode};
///
/// let point = TypeCode::structure("IDL:P:1.0", "P", [("x", TypeCode::SHORT), ("name", TypeCode::STRING)]);
/// let octets = [0, 7, 0, 0, 0, 0, 0, 2, b'a', 0];
/// let mut decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::new(2));
/// let mut value = Dynamic::decode(&point, &mut decoder)?;
/// assert_eq!(value.at("x"), Some(&Dynamic::Short(7)));
///
/// *value.at_mut("name").unwrap() = Dynamic::Long(1);
/// let error = value.check(&point).unwrap_err();
/// assert_eq!(error.to_string(), "name: expected string, found long");
/// # Ok::<(), oxorb_cdr::DynamicError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Dynamic {
    /// Value of `null` and `void`; the null valuetype; written as a nil reference where one is
    /// expected.
    #[default]
    Null,
    /// `short`
    Short(i16),
    /// `long`
    Long(i32),
    /// `unsigned short`
    Ushort(u16),
    /// `unsigned long`
    Ulong(u32),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
    /// `boolean`
    Boolean(bool),
    /// `char`
    Char(char),
    /// `octet`
    Octet(u8),
    /// `any`
    Any(Any),
    /// `CORBA::TypeCode`
    TypeCode(TypeCode),
    /// `CORBA::Principal`, which is obsolete.
    Principal(Vec<u8>),
    /// Reference to an object, component or home.
    Reference(RawReference),
    /// Struct or exception: its members in order.
    Struct(Vec<Field>),
    /// Union.
    Union(Box<Selected>),
    /// Enumerator.
    Enum {
        /// Name of the enumerator; empty if the type code is compact.
        name: Arc<str>,
        /// Zero-based index of the enumerator.
        ordinal: u32,
    },
    /// `string`, bounded or not.
    String(String),
    /// Sequence, bounded or not, of elements other than octets.
    Sequence(Vec<Dynamic>),
    /// Array of elements other than octets.
    Array(Vec<Dynamic>),
    /// Sequence or array of octets.
    Octets(Vec<u8>),
    /// `long long`
    Longlong(i64),
    /// `unsigned long long`
    Ulonglong(u64),
    /// `long double`
    Longdouble(LongDouble),
    /// `wchar`
    Wchar(char),
    /// `wstring`, bounded or not.
    Wstring(String),
    /// `fixed`
    Fixed(Decimal),
    /// Value of a valuetype or value box.
    Value(Box<DynamicValue>),
    /// Reference to the value with this key, which is earlier in the same message, or encloses this
    /// one.
    Indirection(ValueKey),
}

/// Member of a struct, exception or union with its name.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// Name as in IDL; empty if the type code is compact.
    pub name: Arc<str>,
    /// The value.
    pub value: Dynamic,
}

/// Value of a union.
#[derive(Clone, PartialEq, Debug)]
pub struct Selected {
    /// Discriminant.
    pub discriminator: Dynamic,
    /// Selected member, if the discriminant selects one.
    pub member: Option<Field>,
    /// Whether the member name determines the discriminant
    /// ([`TypeRef::is_named`](crate::TypeRef::is_named)).
    pub named: bool,
}

impl Dynamic {
    /// Returns the IDL word for the kind of value, as used in error messages.
    pub fn what(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Short(_) => "short",
            Self::Long(_) => "long",
            Self::Ushort(_) => "unsigned short",
            Self::Ulong(_) => "unsigned long",
            Self::Float(_) => "float",
            Self::Double(_) => "double",
            Self::Boolean(_) => "boolean",
            Self::Char(_) => "char",
            Self::Octet(_) => "octet",
            Self::Any(_) => "any",
            Self::TypeCode(_) => "TypeCode",
            Self::Principal(_) => "Principal",
            Self::Reference(_) => "object reference",
            Self::Struct(_) => "struct",
            Self::Union(_) => "union",
            Self::Enum { .. } => "enumerator",
            Self::String(_) => "string",
            Self::Sequence(_) => "sequence",
            Self::Array(_) => "array",
            Self::Octets(_) => "octets",
            Self::Longlong(_) => "long long",
            Self::Ulonglong(_) => "unsigned long long",
            Self::Longdouble(_) => "long double",
            Self::Wchar(_) => "wchar",
            Self::Wstring(_) => "wstring",
            Self::Fixed(_) => "fixed",
            Self::Value(_) => "value",
            Self::Indirection(_) => "indirection",
        }
    }

    /// Returns the value as a discriminant: a boolean is 0 or 1, a character its code point, an
    /// enumerator its ordinal.
    pub fn label(&self) -> Option<i128> {
        Some(match *self {
            Self::Short(v) => v.into(),
            Self::Long(v) => v.into(),
            Self::Ushort(v) => v.into(),
            Self::Ulong(v) => v.into(),
            Self::Longlong(v) => v.into(),
            Self::Ulonglong(v) => v.into(),
            Self::Boolean(v) => v.into(),
            Self::Octet(v) => v.into(),
            Self::Char(v) | Self::Wchar(v) => u32::from(v).into(),
            Self::Enum { ordinal, .. } => ordinal.into(),
            _ => return None,
        })
    }
}
