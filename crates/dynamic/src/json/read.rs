//! Conversion of JSON to values.

use std::collections::HashMap;
use std::fmt;

use oxorb_cdr::{
    Any, Decimal, Dynamic, DynamicErrorKind, Field, RawProfile, RawReference, Selected, Shape,
    TcKind, TypeCode, TypeRef, ValueKey,
};
use serde_json::{Map, Number, Value};

use super::number::{read_double, read_long_double};
use super::positions::{Positions, unknown_key};
use super::{JsonError, Names, base64, type_from_json};

/// Converts JSON to a value of a type. The error names the invalid part.
pub fn from_json(json: &Value, ty: &TypeCode, names: &dyn Names) -> Result<Dynamic, JsonError> {
    Reader::new(names).from_json(json, ty)
}

/// Reader of the values of one message, which may share valuetypes: later values may refer to a
/// `"$id"` of earlier ones.
pub struct Reader<'n> {
    pub(super) names: &'n dyn Names,
    /// Keys of the values read so far, by their `$id`.
    pub(super) keys: HashMap<String, ValueKey>,
    /// Number of omitted members so far.
    pub(super) filled: usize,
    /// Positions of the names of large enums and unions.
    positions: Positions,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl<'n> Reader<'n> {
    /// Creates a reader with names as in [`from_json`].
    pub fn new(names: &'n dyn Names) -> Self {
        Self { names, keys: HashMap::new(), filled: 0, positions: Positions::default() }
    }

    /// Converts the next value of the message.
    pub fn from_json(&mut self, json: &Value, ty: &TypeCode) -> Result<Dynamic, JsonError> {
        if !ty.is_complete() {
            return Err(JsonError::new("the type is not complete"));
        }
        let value = self.read(json, ty.as_ref())?;
        // `check` also finds exceeded bounds, and characters that no code set contains.
        match value.check(ty) {
            // The target is in an earlier value, or the reader would have rejected the indirection.
            Err(error) if error.reason == DynamicErrorKind::NoSuchValue => Ok(value),
            Err(error) => Err(JsonError {
                path: error.path,
                what: match error.reason {
                    // Omit the position in the error, because JSON has no octets to which it could
                    // refer.
                    DynamicErrorKind::Cdr(error) => error.kind.to_string(),
                    other => other.to_string(),
                },
            }),
            Ok(()) => Ok(value),
        }
    }

    pub(super) fn read(&mut self, json: &Value, ty: TypeRef<'_>) -> Result<Dynamic, JsonError> {
        read(json, ty, self)
    }
}

fn read(json: &Value, ty: TypeRef<'_>, names: &mut Reader<'_>) -> Result<Dynamic, JsonError> {
    let ty = ty.resolved();
    Ok(match ty.shape() {
        Shape::Simple(kind) => return read_simple(json, kind, names),
        Shape::String { .. } => Dynamic::String(text(json)?.to_owned()),
        Shape::Wstring { .. } => Dynamic::Wstring(text(json)?.to_owned()),
        Shape::Fixed { digits, scale } => Dynamic::Fixed(fixed(json, digits, scale)?),
        Shape::Sequence { element, .. } | Shape::Array { element, .. } => {
            let octets = element.resolved().kind() == TcKind::Octet;
            match json {
                Value::String(text) if octets => {
                    let octets = base64::decode(text);
                    Dynamic::Octets(octets.ok_or_else(|| JsonError::new("this is not base64"))?)
                }
                _ if octets => Dynamic::Octets(
                    elements(json, |json| integer(json, 0, u8::MAX.into(), "octet"))?
                        .into_iter()
                        .map(|octet| octet as u8)
                        .collect(),
                ),
                _ => {
                    let elements = elements(json, |json| read(json, element, names))?;
                    match ty.kind() {
                        TcKind::Array => Dynamic::Array(elements),
                        _ => Dynamic::Sequence(elements),
                    }
                }
            }
        }
        Shape::Struct | Shape::Except => read_struct(json, ty, names)?,
        Shape::Union { discriminator, .. } => read_union(json, ty, discriminator, names)?,
        Shape::Enum => enumerator(json, ty, names)?,
        Shape::Named(TcKind::Native | TcKind::LocalInterface) => {
            return Err(JsonError::new("values of this type cannot be sent"));
        }
        Shape::Named(TcKind::AbstractInterface) if json.is_object() => names.value(json, ty)?,
        Shape::Named(_) => Dynamic::Reference(reference(json, names.names)?),
        Shape::Value { .. } | Shape::ValueBox(_) => names.value(json, ty)?,
        Shape::Open | Shape::Alias(_) => return Err(JsonError::new("the type is not complete")),
    })
}

fn read_simple(json: &Value, kind: TcKind, names: &mut Reader<'_>) -> Result<Dynamic, JsonError> {
    let whole = |low: i128, high: i128| integer(json, low, high, kind.idl());
    Ok(match kind {
        TcKind::Null | TcKind::Void if json.is_null() => Dynamic::Null,
        TcKind::Null | TcKind::Void => return Err(unlike("null", json)),
        TcKind::Short => Dynamic::Short(whole(i16::MIN.into(), i16::MAX.into())? as i16),
        TcKind::Ushort => Dynamic::Ushort(whole(0, u16::MAX.into())? as u16),
        TcKind::Long => Dynamic::Long(whole(i32::MIN.into(), i32::MAX.into())? as i32),
        TcKind::Ulong => Dynamic::Ulong(whole(0, u32::MAX.into())? as u32),
        TcKind::Longlong => Dynamic::Longlong(whole(i64::MIN.into(), i64::MAX.into())? as i64),
        TcKind::Ulonglong => Dynamic::Ulonglong(whole(0, u64::MAX.into())? as u64),
        TcKind::Octet => Dynamic::Octet(whole(0, u8::MAX.into())? as u8),
        TcKind::Float => {
            let double = double(json)?;
            let float = double as f32;
            if double.is_finite() && !float.is_finite() {
                return Err(JsonError::new(format!("{double} is too large for float")));
            }
            Dynamic::Float(float)
        }
        TcKind::Double => Dynamic::Double(double(json)?),
        TcKind::Longdouble => {
            let value = match json {
                Value::String(text) => read_long_double(text),
                Value::Number(number) if !number.is_f64() => read_long_double(&number.to_string()),
                other => Some(double(other)?.into()),
            };
            Dynamic::Longdouble(value.ok_or_else(|| JsonError::new("this is not a number"))?)
        }
        TcKind::Boolean => {
            Dynamic::Boolean(json.as_bool().ok_or_else(|| unlike("true or false", json))?)
        }
        TcKind::Char => Dynamic::Char(character(json)?),
        TcKind::Wchar => Dynamic::Wchar(character(json)?),
        TcKind::TypeCode => Dynamic::TypeCode(type_from_json(json, names.names)?),
        TcKind::Any => Dynamic::Any(any(json, names.names)?),
        TcKind::Principal => {
            let octets = base64::decode(text(json)?);
            Dynamic::Principal(octets.ok_or_else(|| JsonError::new("this is not base64"))?)
        }
        // This kind is never `Object` or `ValueBase`, which are not simple kinds.
        other => return Err(JsonError::new(format!("a {other} cannot be JSON"))),
    })
}

fn read_struct(
    json: &Value,
    ty: TypeRef<'_>,
    names: &mut Reader<'_>,
) -> Result<Dynamic, JsonError> {
    let object = object(json)?;
    if let Some(name) = unknown_key(object.keys(), ty.members().map(|member| &**member.name)) {
        let known: Vec<&str> = ty.members().map(|member| &**member.name).collect();
        return Err(JsonError::new(format!(
            "there is no member {name} in {}; it has {}",
            ty.name().unwrap_or("the struct"),
            listed(&known)
        )));
    }
    let fields = ty.members().map(|member| {
        let value = match object.get(&**member.name) {
            Some(json) => {
                read(json, member.ty, names).map_err(|error| error.within(member.name))?
            }
            None => names.left_out(ty, member, &missing(member.name))?,
        };
        let name = member.name.clone();
        Ok(Field { name, value })
    });
    Ok(Dynamic::Struct(fields.collect::<Result<_, JsonError>>()?))
}

/// Reads `{"discriminator": 1, "member": ...}`, or `{"name": ...}` with the name of a member.
fn read_union(
    json: &Value,
    ty: TypeRef<'_>,
    discriminator: TypeRef<'_>,
    names: &mut Reader<'_>,
) -> Result<Dynamic, JsonError> {
    let object = object(json)?;
    let Some(chosen) = object.get("discriminator") else {
        return read_union_by_name(object, ty, names);
    };
    let chosen =
        read(chosen, discriminator, names).map_err(|error| error.within("discriminator"))?;
    let member = chosen.label().and_then(|label| ty.select(label));
    if let Some(name) =
        object.keys().find(|name| !["discriminator", "member"].contains(&name.as_str()))
    {
        return Err(JsonError::new(format!(
            "a union can have only a discriminator and a member, not {name}"
        )));
    }
    let member = match (member, object.get("member")) {
        (None, None | Some(Value::Null)) => None,
        (None, Some(_)) => {
            return Err(JsonError::new("the discriminator selects no member").within("member"));
        }
        (Some(member), None) => {
            let missing =
                format!("the discriminator selects {}, but there is no member", member.name);
            let value = names.left_out(ty, member, &missing)?;
            let name = member.name.clone();
            Some(Field { name, value })
        }
        (Some(member), Some(json)) => {
            let value = read(json, member.ty, names).map_err(|error| error.within("member"))?;
            let name = member.name.clone();
            Some(Field { name, value })
        }
    };
    let named = chosen.label().is_some_and(|label| ty.is_named(label));
    Ok(Dynamic::Union(Box::new(Selected { discriminator: chosen, member, named })))
}

fn read_union_by_name(
    object: &Map<String, Value>,
    ty: TypeRef<'_>,
    names: &mut Reader<'_>,
) -> Result<Dynamic, JsonError> {
    let wrong = || {
        let known: Vec<&str> = ty.members().map(|member| &**member.name).collect();
        JsonError::new(format!(
            "expected a discriminator and a member, or one of {}",
            listed(&known)
        ))
    };
    let mut entries = object.iter();
    let (Some((name, json)), None) = (entries.next(), entries.next()) else {
        return Err(wrong());
    };
    // No default value is made on the way: it might be much larger than the JSON.
    let at = names.positions.of(ty, name).ok_or_else(wrong)?;
    let label = ty.label_of_member(at).ok_or_else(wrong)?;
    let discriminator = ty.discriminant(label).ok_or_else(wrong)?;
    let member = ty.select(label).ok_or_else(wrong)?;
    let value = read(json, member.ty, names).map_err(|error| error.within(name))?;
    let member = Some(Field { name: member.name.clone(), value });
    Ok(Dynamic::Union(Box::new(Selected { discriminator, member, named: ty.is_named(label) })))
}

fn enumerator(json: &Value, ty: TypeRef<'_>, names: &mut Reader<'_>) -> Result<Dynamic, JsonError> {
    let known = ty.enumerators();
    let name = json.as_str().ok_or_else(|| unlike(&format!("one of {}", listed(known)), json))?;
    match names.positions.of(ty, name) {
        Some(ordinal) => {
            Ok(Dynamic::Enum { name: known[ordinal].clone(), ordinal: ordinal as u32 })
        }
        None => Err(JsonError::new(format!("{name} is none of {}", listed(known)))),
    }
}

/// Converts `{"type": ..., "value": ...}`, or a plain value whose type follows from it.
fn any(json: &Value, names: &dyn Names) -> Result<Any, JsonError> {
    let plain = |ty: TypeCode| {
        let value = from_json(json, &ty, names)?;
        Any::with_type(ty, value).map_err(|error| JsonError::new(error.to_string()))
    };
    let wrong = || {
        JsonError::new(
            "an any must be {\"type\": ..., \"value\": ...}, or a plain boolean, number or string",
        )
    };
    let object = match json {
        Value::Null => return Ok(Any::default()),
        Value::Bool(_) => return plain(TypeCode::BOOLEAN),
        Value::String(_) => return plain(TypeCode::STRING),
        Value::Number(number) => return plain(type_of_number(number)),
        Value::Array(_) => return Err(wrong()),
        Value::Object(object) => object,
    };
    let (Some(ty), Some(value), 2) = (object.get("type"), object.get("value"), object.len()) else {
        return Err(wrong());
    };
    let ty = type_from_json(ty, names).map_err(|error| error.within("type"))?;
    let value = from_json(value, &ty, names).map_err(|error| error.within("value"))?;
    Any::with_type(ty, value).map_err(|error| JsonError::new(error.to_string()).within("value"))
}

/// Returns the first of long, long long, unsigned long long and double that can represent a number.
fn type_of_number(number: &Number) -> TypeCode {
    match number.as_i64() {
        Some(value) if i32::try_from(value).is_ok() => TypeCode::LONG,
        Some(_) => TypeCode::LONGLONG,
        None if number.is_u64() => TypeCode::ULONGLONG,
        None => TypeCode::DOUBLE,
    }
}

fn reference(json: &Value, names: &dyn Names) -> Result<RawReference, JsonError> {
    let text = match json {
        Value::Null => return Ok(RawReference::default()),
        Value::String(text) => text,
        other => return Err(unlike("a reference as a string, or null", other)),
    };
    let ior =
        names.find_object(text).map_err(|why| JsonError::new(format!("not a reference: {why}")))?;
    let profiles =
        ior.profiles.into_iter().map(|profile| RawProfile { tag: profile.tag, data: profile.data });
    Ok(RawReference { type_id: ior.type_id, profiles: profiles.collect() })
}

pub(super) fn missing(member: &str) -> String {
    format!("member {member} is missing")
}

/// Converts an integer; 64-bit integers may be strings, because not every JSON writer keeps all
/// digits.
fn integer(json: &Value, low: i128, high: i128, ty: &str) -> Result<i128, JsonError> {
    let wide = high > u32::MAX.into();
    let value = match json {
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => value.into(),
            (_, Some(value)) => value.into(),
            _ => {
                return Err(JsonError::new(format!("expected an integer, found {number}")));
            }
        },
        Value::String(text) if wide => text
            .parse()
            .map_err(|_| JsonError::new(format!("expected an integer, found {text:?}")))?,
        other => return Err(unlike("a number", other)),
    };
    if value < low || value > high {
        return Err(JsonError::new(format!(
            "{value} is outside the range of {ty}, {low} to {high}"
        )));
    }
    Ok(value)
}

fn double(json: &Value) -> Result<f64, JsonError> {
    match json {
        Value::Number(number) => number
            .as_f64()
            .filter(|value| value.is_finite())
            .ok_or_else(|| JsonError::new(format!("{number} is too large for double"))),
        Value::String(text) => read_double(text)
            .filter(|value| !value.is_finite())
            .ok_or_else(|| unlike("a number, or \"NaN\", \"Infinity\", \"-Infinity\"", json)),
        other => Err(unlike("a number", other)),
    }
}

/// Number of significant digits that every number stored as a `double` keeps.
const DOUBLE_DIGITS: usize = 15;

fn fixed(json: &Value, digits: u16, scale: i16) -> Result<Decimal, JsonError> {
    // Numbers with a point or an exponent, and integers of more than 64 bits, were read as a `double`.
    let double = json.as_number().filter(|number| number.is_f64()).and_then(Number::as_f64);
    let text = match (json, double) {
        // Without an exponent, unlike the number's own text.
        (_, Some(double)) => double.to_string(),
        (Value::String(text), None) => text.clone(),
        (Value::Number(number), None) => number.to_string(),
        (other, None) => return Err(unlike("a decimal number as a string", other)),
    };
    let inexact = || {
        JsonError::new(format!(
            "{json} may have lost digits of a fixed<{digits}, {scale}>, because a JSON number keeps {DOUBLE_DIGITS} \
             digits: write the value as a string, such as \"12.50\""
        ))
    };
    let value: Decimal = text.parse().map_err(|_| match double {
        Some(_) => inexact(),
        None => JsonError::new(format!("{text} is not a decimal number")),
    })?;
    let value = u8::try_from(scale)
        .ok()
        .and_then(|scale| value.rescaled(scale).ok())
        .filter(|value| u16::from(value.digits()) <= digits)
        .ok_or_else(|| match double {
            Some(_) if significant_digits(&text) > DOUBLE_DIGITS => inexact(),
            _ => JsonError::new(format!("{text} is not a value of fixed<{digits}, {scale}>")),
        })?;
    // Two values of the type that a `double` cannot distinguish differ in the last digit of one with more digits.
    match double {
        Some(_) if significant_digits(&value.to_string()) > DOUBLE_DIGITS => Err(inexact()),
        _ => Ok(value),
    }
}

/// Returns the number of digits of a decimal number without its leading zeros.
fn significant_digits(text: &str) -> usize {
    let digits = text.chars().filter(char::is_ascii_digit);
    digits.skip_while(|digit| *digit == '0').count()
}

fn character(json: &Value) -> Result<char, JsonError> {
    let mut characters = text(json)?.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(JsonError::new("expected a string of one character")),
    }
}

fn elements<T>(
    json: &Value,
    mut read: impl FnMut(&Value) -> Result<T, JsonError>,
) -> Result<Vec<T>, JsonError> {
    let elements = json.as_array().ok_or_else(|| unlike("an array", json))?;
    let read = |(at, json)| read(json).map_err(|error| error.at(at));
    elements.iter().enumerate().map(read).collect()
}

pub(super) fn text(json: &Value) -> Result<&str, JsonError> {
    json.as_str().ok_or_else(|| unlike("a string", json))
}

pub(super) fn object(json: &Value) -> Result<&Map<String, Value>, JsonError> {
    json.as_object().ok_or_else(|| unlike("an object", json))
}

pub(super) fn unlike(expected: &str, json: &Value) -> JsonError {
    let found = match json {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    JsonError::new(format!("expected {expected}, found {found}"))
}

/// Returns `a, b, c`, of limited length.
pub(super) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    const MOST: usize = 12;
    let mut list: Vec<&str> = names.iter().take(MOST).map(AsRef::as_ref).collect();
    if names.len() > MOST {
        list.push("...");
    }
    list.join(", ")
}
