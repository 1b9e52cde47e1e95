//! Values whose types are known only at run time.

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

pub use error::{DynamicError, Reason};
pub use reference::{RawProfile, RawReference};
pub use skip::skip;
pub(crate) use skip::{Walk, skip_exception_id};
pub use value::DynamicValue;

/// Any CORBA value as a tree: the basis of dynamic anys, calls without stubs, JSON, and interpreted marshalling.
///
/// It says what it is, but not all about its type; so reading and writing take a [`TypeCode`]. Values of aliases are
/// values of what they stand for.
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
    /// The value of `null` and `void`; the null valuetype; a nil reference when written.
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
    /// `CORBA::Principal`, which nobody uses any more.
    Principal(Vec<u8>),
    /// A reference to an object, component or home.
    Reference(RawReference),
    /// A struct or exception: its members in order.
    Struct(Vec<Field>),
    /// A union.
    Union(Box<Selected>),
    /// An enumerator.
    Enum {
        /// Name of the enumerator; empty if the type code is compact.
        name: Arc<str>,
        /// Number of the enumerator, counted from zero.
        ordinal: u32,
    },
    /// `string`, bounded or not.
    String(String),
    /// A sequence, bounded or not, of anything but octets.
    Sequence(Vec<Dynamic>),
    /// An array of anything but octets.
    Array(Vec<Dynamic>),
    /// A sequence or an array of octets.
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
    /// A value of a valuetype or value box.
    Value(Box<DynamicValue>),
    /// The value with this key, which stands earlier in the same message, or around this place.
    Indirection(ValueKey),
}

/// A member of a struct, exception or union with its name.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// Name as in IDL; empty if the type code is compact.
    pub name: Arc<str>,
    /// The value.
    pub value: Dynamic,
}

/// The value of a union.
#[derive(Clone, PartialEq, Debug)]
pub struct Selected {
    /// The discriminant.
    pub discriminator: Dynamic,
    /// The member it selects, unless it selects none.
    pub member: Option<Field>,
    /// Whether the name of the member says the discriminant ([`TypeRef::is_named`](crate::TypeRef::is_named)).
    pub named: bool,
}

impl Dynamic {
    /// The word of IDL for what it is, as error messages have it.
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
