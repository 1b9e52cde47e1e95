//! Constants of IDL as values of type `any`.

use oxorb::Any;
use oxorb::values::{Dynamic, LongDouble, TcKind, TypeCode};
use oxorb_idl::model::{Model, Value};

use crate::types::number;

/// Returns a constant as a value of its type; empty if it does not match the type, which the front end rules out.
pub(crate) fn any(model: &Model, value: &Value, ty: &TypeCode) -> Any {
    let dynamic = dynamic(model, value, ty).unwrap_or_default();
    Any::with_type(ty.clone(), dynamic).unwrap_or_default()
}

fn dynamic(model: &Model, value: &Value, ty: &TypeCode) -> Option<Dynamic> {
    let ty = ty.resolved();
    Some(match (value, ty.kind()) {
        (Value::Integer(n), TcKind::Octet) => Dynamic::Octet(u8::try_from(n & 0xFF).ok()?),
        (Value::Integer(n), TcKind::Short) => Dynamic::Short((*n).try_into().ok()?),
        (Value::Integer(n), TcKind::Long) => Dynamic::Long((*n).try_into().ok()?),
        (Value::Integer(n), TcKind::Longlong) => Dynamic::Longlong((*n).try_into().ok()?),
        (Value::Integer(n), TcKind::Ushort) => Dynamic::Ushort((*n).try_into().ok()?),
        (Value::Integer(n), TcKind::Ulong) => Dynamic::Ulong((*n).try_into().ok()?),
        (Value::Integer(n), TcKind::Ulonglong) => Dynamic::Ulonglong((*n).try_into().ok()?),
        (Value::Float(x), TcKind::Float) => Dynamic::Float(*x as f32),
        (Value::Float(x), TcKind::Double) => Dynamic::Double(*x),
        (Value::LongDouble(x), TcKind::Longdouble) => {
            Dynamic::Longdouble(LongDouble::from_bits(x.to_bits()))
        }
        (Value::Boolean(truth), _) => Dynamic::Boolean(*truth),
        (Value::Char(c), TcKind::Wchar) => Dynamic::Wchar(*c),
        (Value::Char(c), _) => Dynamic::Char(*c),
        (Value::String(text), TcKind::Wstring) => Dynamic::Wstring(text.to_string()),
        (Value::String(text), _) => Dynamic::String(text.to_string()),
        (Value::Enumerator(_, ordinal), TcKind::Enum) => Dynamic::Enum {
            name: ty.as_ref().enumerators().get(*ordinal as usize)?.clone(),
            ordinal: *ordinal,
        },
        // The type code of an enum with explicit values is that of an integer.
        (Value::Enumerator(..), _) => dynamic(model, &Value::Integer(number(model, value)), &ty)?,
        (Value::Fixed(digits), _) => Dynamic::Fixed(digits.parse().ok()?),
        (Value::Integer(_) | Value::Float(_) | Value::LongDouble(_), _) => return None,
    })
}
