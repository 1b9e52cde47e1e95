//! Basic types, each an object of the repository.

use oxorb::values::{TcKind, TypeCode};
use oxorb_idl::model::Basic;

use crate::corba::PrimitiveKind;

/// Basic types by number: kind, IDL name, type code.
pub(crate) const PRIMITIVES: [(PrimitiveKind, &str, TypeCode); 22] = [
    (PrimitiveKind::PkNull, "null", TypeCode::NULL),
    (PrimitiveKind::PkVoid, "void", TypeCode::VOID),
    (PrimitiveKind::PkShort, "short", TypeCode::SHORT),
    (PrimitiveKind::PkLong, "long", TypeCode::LONG),
    (PrimitiveKind::PkUshort, "unsigned short", TypeCode::USHORT),
    (PrimitiveKind::PkUlong, "unsigned long", TypeCode::ULONG),
    (PrimitiveKind::PkFloat, "float", TypeCode::FLOAT),
    (PrimitiveKind::PkDouble, "double", TypeCode::DOUBLE),
    (PrimitiveKind::PkBoolean, "boolean", TypeCode::BOOLEAN),
    (PrimitiveKind::PkChar, "char", TypeCode::CHAR),
    (PrimitiveKind::PkOctet, "octet", TypeCode::OCTET),
    (PrimitiveKind::PkAny, "any", TypeCode::ANY),
    (PrimitiveKind::PkTypeCode, "TypeCode", TypeCode::TYPE_CODE),
    (PrimitiveKind::PkPrincipal, "Principal", TypeCode::PRINCIPAL),
    (PrimitiveKind::PkString, "string", TypeCode::STRING),
    (PrimitiveKind::PkObjref, "Object", TypeCode::OBJECT),
    (PrimitiveKind::PkLonglong, "long long", TypeCode::LONGLONG),
    (PrimitiveKind::PkUlonglong, "unsigned long long", TypeCode::ULONGLONG),
    (PrimitiveKind::PkLongdouble, "long double", TypeCode::LONGDOUBLE),
    (PrimitiveKind::PkWchar, "wchar", TypeCode::WCHAR),
    (PrimitiveKind::PkWstring, "wstring", TypeCode::WSTRING),
    (PrimitiveKind::PkValueBase, "ValueBase", TypeCode::VALUE_BASE),
];

/// Returns the IDL name of a basic type, and its type code.
pub(crate) fn basic(kind: PrimitiveKind) -> (&'static str, TypeCode) {
    let (_, key, ty) = &PRIMITIVES[kind as usize];
    (key, ty.clone())
}

/// Returns the repository's kind of a basic type of IDL.
pub(crate) fn primitive(basic: Basic) -> PrimitiveKind {
    match basic {
        // Type codes do not distinguish these three types.
        Basic::Octet | Basic::Int8 | Basic::UInt8 => PrimitiveKind::PkOctet,
        Basic::Boolean => PrimitiveKind::PkBoolean,
        Basic::Char => PrimitiveKind::PkChar,
        Basic::WChar => PrimitiveKind::PkWchar,
        Basic::Short => PrimitiveKind::PkShort,
        Basic::UShort => PrimitiveKind::PkUshort,
        Basic::Long => PrimitiveKind::PkLong,
        Basic::ULong => PrimitiveKind::PkUlong,
        Basic::LongLong => PrimitiveKind::PkLonglong,
        Basic::ULongLong => PrimitiveKind::PkUlonglong,
        Basic::Float => PrimitiveKind::PkFloat,
        Basic::Double => PrimitiveKind::PkDouble,
        Basic::LongDouble => PrimitiveKind::PkLongdouble,
    }
}

/// Returns the repository's kind for the type code of an unsigned integer.
pub(crate) fn integer(kind: TcKind) -> PrimitiveKind {
    match kind {
        TcKind::Octet => PrimitiveKind::PkOctet,
        TcKind::Ushort => PrimitiveKind::PkUshort,
        TcKind::Ulong => PrimitiveKind::PkUlong,
        _ => PrimitiveKind::PkUlonglong,
    }
}
