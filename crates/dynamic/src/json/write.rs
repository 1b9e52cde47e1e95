//! Conversion of values to JSON.

use std::collections::HashMap;
use std::fmt;

use oxorb_cdr::{Any, DecoderLimits, Dynamic, Field, RawReference, Selected, ValueKey};
use oxorb_object::{Ior, TaggedProfile};
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};

use super::budget::{MARK, Text};
use super::number::{EXACT, show_long_double};
use super::types::Budgeted;
use super::{Names, Plain, base64, value};

/// Serialisable form of a value, with members in the order of IDL.
///
/// For several values that may share valuetypes, use [`Shared`]. Fails for text of more than
/// [`DecoderLimits::max_text`] octets, as names may make it much longer than the value.
#[derive(Clone, Copy, Debug)]
pub struct Json<'v>(pub &'v Dynamic);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Shared::new([self.0]).json(self.0).serialize(to)
    }
}

/// Valuetypes that the values of a message share: each has a `"$id"` at its first occurrence, and a
/// `"$ref"` at others.
///
/// ```
/// use oxorb_dynamic::json::Shared;
/// use oxorb_dynamic::{Dynamic, DynamicValue, TypeCode};
///
/// let text = TypeCode::value_box("IDL:Text:1.0", "Text", TypeCode::STRING);
/// let one = DynamicValue::default_for(&text)?;
/// let args = [Dynamic::Indirection(one.key.clone()), Dynamic::from(one)];
/// let [again, one] = &args;
/// let shared = Shared::new([one, again]);
/// let json = |value| serde_json::to_string(&shared.json(value));
/// assert_eq!(json(one)?, r#"{"$type":"IDL:Text:1.0","$id":1,"$value":""}"#);
/// assert_eq!(json(again)?, r#"{"$ref":1}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shared<'v> {
    pub(super) numbers: HashMap<&'v ValueKey, usize>,
    /// Limit of text for all values together.
    pub(super) text: Text,
    /// Names to be written for types.
    names: &'v dyn Names,
}

impl fmt::Debug for Shared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("numbers", &self.numbers)
            .field("text", &self.text)
            .finish_non_exhaustive()
    }
}

impl<'v> Shared<'v> {
    /// Scans all values of a message, in the order in which they are written.
    pub fn new(values: impl IntoIterator<Item = &'v Dynamic>) -> Self {
        Self { numbers: value::number(values), text: Text::default(), names: &Plain }
    }

    /// Sets names by which the types of `any`s are written ([`Names::name_of_type`]), instead of
    /// complete types. Values that are types are written completely. The [limits](Names::limits) of
    /// the names limit the octets of the text.
    #[must_use]
    pub fn with_names(mut self, names: &'v dyn Names) -> Self {
        self.text = Text::of(&names.limits());
        self.names = names;
        self
    }

    /// Sets limits of the text, for all values together.
    #[must_use]
    pub fn with_limits(mut self, limits: &DecoderLimits) -> Self {
        self.text = Text::of(limits);
        self
    }

    /// Returns a value of the message, for `serde`.
    pub fn json<'s>(&'s self, value: &'s Dynamic) -> impl Serialize + 's {
        Within(value, self)
    }
}

/// Value of a message.
#[derive(Clone, Copy)]
struct Within<'v>(&'v Dynamic, &'v Shared<'v>);

impl Serialize for Within<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(value, shared) = *self;
        let part = |value| Within(value, shared);
        shared.text.spend(MARK + text_of(value))?;
        match value {
            Dynamic::Null => to.serialize_unit(),
            Dynamic::Short(v) => to.serialize_i16(*v),
            Dynamic::Long(v) => to.serialize_i32(*v),
            Dynamic::Ushort(v) => to.serialize_u16(*v),
            Dynamic::Ulong(v) => to.serialize_u32(*v),
            Dynamic::Octet(v) => to.serialize_u8(*v),
            Dynamic::Longlong(v) if v.unsigned_abs() > EXACT => to.collect_str(v),
            Dynamic::Longlong(v) => to.serialize_i64(*v),
            Dynamic::Ulonglong(v) if *v > EXACT => to.collect_str(v),
            Dynamic::Ulonglong(v) => to.serialize_u64(*v),
            Dynamic::Float(v) if v.is_finite() => to.serialize_f32(*v),
            Dynamic::Float(v) => to.serialize_str(not_finite(f64::from(*v))),
            Dynamic::Double(v) if v.is_finite() => to.serialize_f64(*v),
            Dynamic::Double(v) => to.serialize_str(not_finite(*v)),
            Dynamic::Longdouble(v) => to.serialize_str(&show_long_double(*v)),
            Dynamic::Fixed(v) => to.collect_str(v),
            Dynamic::Boolean(v) => to.serialize_bool(*v),
            Dynamic::Char(v) | Dynamic::Wchar(v) => to.serialize_char(*v),
            Dynamic::String(v) | Dynamic::Wstring(v) => to.serialize_str(v),
            Dynamic::Octets(v) | Dynamic::Principal(v) => to.serialize_str(&base64::encode(v)),
            Dynamic::Sequence(v) | Dynamic::Array(v) => to.collect_seq(v.iter().map(part)),
            Dynamic::Struct(fields) => {
                to.collect_map(fields.iter().map(|field| (&*field.name, part(&field.value))))
            }
            Dynamic::Union(selected) => {
                if let Some(member) = &selected.member
                    && is_by_name(selected)
                {
                    return to.collect_map([(&*member.name, part(&member.value))]);
                }
                let mut map = to.serialize_map(None)?;
                map.serialize_entry("discriminator", &part(&selected.discriminator))?;
                if let Some(member) = &selected.member {
                    map.serialize_entry("member", &part(&member.value))?;
                }
                map.end()
            }
            // The type code is compact and has no names, so write the ordinal.
            Dynamic::Enum { name, ordinal } if name.is_empty() => to.serialize_u32(*ordinal),
            Dynamic::Enum { name, .. } => to.serialize_str(name),
            Dynamic::Reference(reference) => match reference.is_nil() {
                true => to.serialize_unit(),
                false => to.collect_str(&ior(reference)),
            },
            Dynamic::TypeCode(ty) => Budgeted(ty, &shared.text, &Plain).serialize(to),
            Dynamic::Any(any) => write_any(any, shared, to),
            Dynamic::Value(value) => value::write(value, shared, to),
            Dynamic::Indirection(key) => {
                let number = shared.numbers.get(key).copied().unwrap_or_default();
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry(value::REF, &number)?;
                map.end()
            }
            other => Err(S::Error::custom(format!(
                "a value of this kind cannot be JSON yet: {}",
                other.what()
            ))),
        }
    }
}

/// Reports whether a union is written as its member alone: `{"name": value}`. A member called
/// `discriminator` would be mistaken for the discriminator.
fn is_by_name(selected: &Selected) -> bool {
    let name = selected.member.as_ref().map(|member| &*member.name);
    selected.named && name.is_some_and(|name| name != "discriminator")
}

/// Returns the octets of text of a value, without [`MARK`] and the text of its parts.
fn text_of(value: &Dynamic) -> usize {
    let names = |fields: &[Field]| fields.iter().map(|field| field.name.len()).sum();
    match value {
        Dynamic::String(text) | Dynamic::Wstring(text) => text.len(),
        Dynamic::Octets(octets) | Dynamic::Principal(octets) => octets.len() / 3 * 4,
        Dynamic::Enum { name, .. } => name.len(),
        Dynamic::Struct(fields) => names(fields),
        Dynamic::Union(selected) if is_by_name(selected) => names(selected.member.as_slice()),
        Dynamic::Value(value) => names(&value.fields) + value.ty.id().unwrap_or_default().len(),
        Dynamic::Reference(reference) => {
            let profiles = reference.profiles.iter().map(|profile| profile.data.len());
            2 * (reference.type_id.len() + profiles.sum::<usize>())
        }
        _ => 0,
    }
}

/// Writes an any, whose value shares nothing with values outside it, except the limit of text.
fn write_any<S: Serializer>(any: &Any, around: &Shared<'_>, to: S) -> Result<S::Ok, S::Error> {
    let value = any.dynamic().map_err(S::Error::custom)?;
    let shared = Shared { text: around.text.share(), names: around.names, ..Shared::new([&value]) };
    let mut map = to.serialize_map(Some(2))?;
    map.serialize_entry("type", &Budgeted(any.type_code(), &shared.text, shared.names))?;
    map.serialize_entry("value", &Within(&value, &shared))?;
    map.end()
}

fn not_finite(value: f64) -> &'static str {
    match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    }
}

fn ior(reference: &RawReference) -> Ior {
    let profiles = reference
        .profiles
        .iter()
        .map(|profile| TaggedProfile { tag: profile.tag, data: profile.data.clone() });
    Ior { type_id: reference.type_id.clone(), profiles: profiles.collect() }
}
