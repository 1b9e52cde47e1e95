//! Checks whether a value fits its type.

use super::{Decimal, Raw, Real};
use crate::check::constant::Constant;
use crate::model::{Basic, Type, Value};
use std::sync::Arc;

/// Converts a value to type `ty`, following typedefs; `name` is the type's name in messages.
pub(crate) fn fit(raw: Raw, ty: &Type, name: &str) -> Result<Value, Constant> {
    match (ty, raw) {
        (Type::Basic(Basic::Boolean), Raw::Boolean(value)) => Ok(Value::Boolean(value)),
        (Type::Basic(Basic::Char), Raw::Char(value))
        | (Type::Basic(Basic::WChar), Raw::WChar(value)) => Ok(Value::Char(value)),
        (Type::Basic(basic), Raw::Integer(value)) if integer_range(*basic).is_some() => {
            integer(value, *basic, name)
        }
        (
            Type::Basic(basic @ (Basic::Float | Basic::Double | Basic::LongDouble)),
            Raw::Float(value),
        ) => float(value, *basic, name),
        (Type::String(bound), Raw::Str(text)) | (Type::WString(bound), Raw::WStr(text)) => {
            string(text, *bound)
        }
        (Type::Fixed(digits, scale), Raw::Fixed(value)) => fixed(&value, *digits, *scale, name),
        (Type::Named(wanted), Raw::Enumerator(owner, ordinal)) if *wanted == owner => {
            Ok(Value::Enumerator(owner, ordinal))
        }
        (ty, raw) => Err(mismatch(&raw, ty, name)),
    }
}

/// Returns the smallest and the largest value of an integer type.
pub(crate) fn integer_range(basic: Basic) -> Option<(i128, i128)> {
    Some(match basic {
        Basic::Octet | Basic::UInt8 => (0, u8::MAX.into()),
        Basic::Int8 => (i8::MIN.into(), i8::MAX.into()),
        Basic::Short => (i16::MIN.into(), i16::MAX.into()),
        Basic::UShort => (0, u16::MAX.into()),
        Basic::Long => (i32::MIN.into(), i32::MAX.into()),
        Basic::ULong => (0, u32::MAX.into()),
        Basic::LongLong => (i64::MIN.into(), i64::MAX.into()),
        Basic::ULongLong => (0, u64::MAX.into()),
        _ => return None,
    })
}

fn integer(value: i128, basic: Basic, name: &str) -> Result<Value, Constant> {
    let range = integer_range(basic);
    match range {
        Some((low, high)) if (low..=high).contains(&value) => Ok(Value::Integer(value)),
        _ => Err(Constant::OutOfRange { value: value.to_string(), ty: name.into(), range }),
    }
}

fn float(value: Real, basic: Basic, name: &str) -> Result<Value, Constant> {
    let finite = match basic {
        Basic::Float => (value.double as f32).is_finite(),
        Basic::LongDouble => value.long.is_finite(),
        _ => value.double.is_finite(),
    };
    match (finite, basic) {
        (true, Basic::LongDouble) => Ok(Value::LongDouble(value.long)),
        (true, _) => Ok(Value::Float(value.double)),
        (false, _) => Err(Constant::OutOfRange {
            value: match (value.double.is_finite(), value.long.is_finite()) {
                (true, _) => format!("{:e}", value.double),
                (false, true) => value.long.to_string(),
                (false, false) => "this number".into(),
            },
            ty: name.into(),
            range: None,
        }),
    }
}

fn fixed(value: &Decimal, digits: u16, scale: i16, name: &str) -> Result<Value, Constant> {
    match value.fits(digits, scale.unsigned_abs()) {
        true => Ok(Value::Fixed(value.to_string())),
        false => {
            Err(Constant::OutOfRange { value: format!("{value}d"), ty: name.into(), range: None })
        }
    }
}

fn string(text: Arc<str>, bound: Option<u32>) -> Result<Value, Constant> {
    let length = text.chars().count();
    match bound {
        Some(bound) if length > bound as usize => Err(Constant::TooLong { length, bound }),
        _ => Ok(Value::String(text)),
    }
}

fn mismatch(raw: &Raw, ty: &Type, name: &str) -> Constant {
    let help = match (ty, raw) {
        (Type::Basic(Basic::Float | Basic::Double | Basic::LongDouble), Raw::Integer(value)) => {
            Some(format!("write `{value}.0`"))
        }
        (Type::Fixed(..), Raw::Integer(value)) => Some(format!("write `{value}d`")),
        (Type::Basic(Basic::WChar) | Type::WString(_), Raw::Char(_) | Raw::Str(_)) => {
            Some("put an `L` before the quotes".into())
        }
        (Type::Basic(Basic::Char) | Type::String(_), Raw::WChar(_) | Raw::WStr(_)) => {
            Some("remove the `L`, or use the wide type".into())
        }
        (Type::Basic(Basic::Boolean), Raw::Integer(_)) => Some("write `TRUE` or `FALSE`".into()),
        _ => None,
    };
    let found = match (ty, raw) {
        (Type::Named(_), Raw::Enumerator(..)) => "an enumerator of another enum",
        _ => raw.what(),
    };
    Constant::Mismatch { found: found.into(), wanted: format!("a value of {name}"), help }
}
