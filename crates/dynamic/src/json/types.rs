//! Conversion of types to JSON and back: `"sequence<long>"`, or an object for a named type.

use std::cell::{Cell, RefCell};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use oxorb_cdr::{Label, Shape, TcKind, TypeCode, TypeRef, ValueModifier, Visibility};
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::budget::{MARK, Text};
use super::read::{object, text};
use super::{JsonError, Names, Plain};

/// Serialisable form of a type. Each component type is described once: further occurrences are
/// `{"kind": "recursive", "id": ...}`. Fails for text of more than
/// [`DecoderLimits::max_text`](oxorb_cdr::DecoderLimits::max_text) octets.
#[derive(Clone, Copy, Debug)]
pub struct JsonType<'t>(pub &'t TypeCode);

impl Serialize for JsonType<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Budgeted(self.0, &Text::default(), &Plain).serialize(to)
    }
}

/// Type within a longer text.
pub(super) struct Budgeted<'t>(
    pub(super) &'t TypeCode,
    pub(super) &'t Text,
    pub(super) &'t dyn Names,
);

impl Serialize for Budgeted<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(ty, text, names) = *self;
        let whole = Whole {
            text,
            names,
            around: RefCell::default(),
            before: RefCell::default(),
            by_id: RefCell::default(),
            comparisons: Cell::new(MAX_COMPARISONS),
            lookups: Cell::new(MAX_LOOKUPS),
        };
        Part { ty: ty.as_ref(), whole: &whole }.serialize(to)
    }
}

/// Maximum nesting depth of types, because each level uses stack.
const MAX_DEPTH: usize = 128;

/// Maximum number of type comparisons while a type is written. Each may take time proportional to
/// the size of the whole, so without a limit the total could be quadratic.
const MAX_COMPARISONS: usize = 32;

/// Maximum number of name lookups while a type is written, each of which compares the type with the
/// one of that name.
const MAX_LOOKUPS: usize = 256;

/// State of a type while it is written.
struct Whole<'t> {
    text: &'t Text,
    names: &'t dyn Names,
    /// Repository ids of the enclosing types, as far as they have one.
    around: RefCell<Vec<&'t str>>,
    /// Numbers of the named types written so far.
    before: RefCell<HashSet<usize>>,
    /// First type written for each repository id.
    by_id: RefCell<HashMap<&'t str, TypeRef<'t>>>,
    /// Number of comparisons left.
    comparisons: Cell<usize>,
    /// Number of name lookups left; each is a comparison.
    lookups: Cell<usize>,
}

/// Decrements a counter; returns `false` if it is zero.
fn take_one(left: &Cell<usize>) -> bool {
    let before = left.get();
    left.set(before.saturating_sub(1));
    before > 0
}

/// Part of a type.
struct Part<'t, 'o> {
    ty: TypeRef<'t>,
    whole: &'o Whole<'t>,
}

impl<'t, 'o> Part<'t, 'o> {
    fn part(&self, ty: TypeRef<'t>) -> Part<'t, 'o> {
        Part { ty, whole: self.whole }
    }

    /// Reports whether the type is described elsewhere: in an enclosing or an earlier one.
    fn stands_elsewhere(&self, id: &'t str) -> bool {
        if id.is_empty() {
            return false; // nothing to call it by
        }
        let first = match self.ty.number() {
            Some(number) => self.whole.before.borrow_mut().insert(number),
            None => true,
        };
        !first || self.whole.around.borrow().contains(&id) || self.equals_earlier(id)
    }

    /// Reports whether the type equals the first one with its id, since peers may send a type
    /// repeatedly.
    fn equals_earlier(&self, id: &'t str) -> bool {
        match self.whole.by_id.borrow_mut().entry(id) {
            Entry::Vacant(entry) => {
                entry.insert(self.ty);
                false
            }
            Entry::Occupied(earlier) => {
                take_one(&self.whole.comparisons) && *earlier.get() == self.ty
            }
        }
    }

    /// Returns the name by which the type is known.
    fn known_name(&self) -> Option<String> {
        let known = self.ty.id().is_some() && take_one(&self.whole.lookups);
        let ty = known.then(|| self.ty.to_type_code())?;
        self.whole.names.name_of_type(&ty)
    }
}

impl Serialize for Part<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let text = self.whole.text;
        if is_well_known(self.ty) {
            return to.serialize_str(self.ty.name().unwrap_or_default());
        }
        if is_plain(self.ty, MOST_WORDS) {
            text.spend(MARK)?;
            return to.collect_str(&self.ty);
        }
        if let Some(name) = self.known_name() {
            text.spend(MARK + name.len())?;
            return to.serialize_str(&name);
        }
        let id = self.ty.id().unwrap_or_default();
        text.spend(MARK + id.len())?;
        let again = self.stands_elsewhere(id);
        let mut map = to.serialize_map(None)?;
        if again {
            map.serialize_entry("kind", "recursive")?;
            map.serialize_entry("id", id)?;
            return map.end();
        }
        if self.whole.around.borrow().len() >= MAX_DEPTH {
            let nested = format!("types are nested more than {MAX_DEPTH} deep");
            return Err(S::Error::custom(nested));
        }
        let kind = match self.ty.kind() {
            // IDL has the keyword `valuetype` for both kinds, so a box needs another word.
            TcKind::ValueBox => VALUE_BOX,
            kind => kind.idl(),
        };
        map.serialize_entry("kind", kind)?;
        if self.ty.id().is_some() {
            let name = self.ty.name().unwrap_or_default();
            text.spend(name.len())?;
            map.serialize_entry("id", id)?;
            map.serialize_entry("name", name)?;
        }
        self.whole.around.borrow_mut().push(id);
        match self.ty.shape() {
            Shape::Sequence { element, bound } => {
                map.serialize_entry("type", &self.part(element))?;
                if let Some(bound) = bound {
                    map.serialize_entry("bound", &bound)?;
                }
            }
            Shape::Array { element, length } => {
                map.serialize_entry("type", &self.part(element))?;
                map.serialize_entry("length", &length)?;
            }
            Shape::Alias(content) | Shape::ValueBox(content) => {
                map.serialize_entry("type", &self.part(content))?;
            }
            Shape::Union { discriminator, .. } => {
                map.serialize_entry("discriminator", &self.part(discriminator))?;
                map.serialize_entry("members", &Members(self))?;
            }
            Shape::Value { modifier, base } => {
                map.serialize_entry("modifier", modifier_name(modifier))?;
                if let Some(base) = base {
                    map.serialize_entry("base", &self.part(base))?;
                }
                map.serialize_entry("members", &Members(self))?;
            }
            Shape::Struct | Shape::Except => map.serialize_entry("members", &Members(self))?,
            Shape::Enum => {
                let names: Vec<&str> = self.ty.enumerators().iter().map(|name| &**name).collect();
                text.spend(names.iter().map(|name| MARK + name.len()).sum())?;
                map.serialize_entry("members", &names)?;
            }
            _ => {}
        }
        self.whole.around.borrow_mut().pop();
        map.end()
    }
}

struct Members<'p, 't, 'o>(&'p Part<'t, 'o>);

impl Serialize for Members<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let valuetype = matches!(self.0.ty.shape(), Shape::Value { .. });
        to.collect_seq(self.0.ty.members().map(|member| Member {
            name: member.name,
            ty: self.0.part(member.ty),
            label: member.label,
            private: valuetype && member.visibility == Visibility::Private,
        }))
    }
}

struct Member<'m, 't, 'o> {
    name: &'m str,
    ty: Part<'t, 'o>,
    label: Option<Label>,
    private: bool,
}

impl Serialize for Member<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.ty.whole.text.spend(MARK + self.name.len())?;
        let mut map = to.serialize_map(None)?;
        match self.label {
            // A label has at most 64 bits, signed or unsigned.
            Some(Label::Value(label)) => match i64::try_from(label) {
                Ok(label) => map.serialize_entry("label", &label)?,
                Err(_) => map.serialize_entry("label", &(label as u64))?,
            },
            Some(Label::Default) => map.serialize_entry("label", "default")?,
            None => {}
        }
        map.serialize_entry("name", self.name)?;
        map.serialize_entry("type", &self.ty)?;
        if self.private {
            map.serialize_entry("private", &true)?;
        }
        map.end()
    }
}

/// Maximum nesting depth of templates and dimensions for which a type is written as IDL text.
const MOST_WORDS: usize = 6;

/// Reports whether the type can be written as IDL text.
fn is_plain(ty: TypeRef<'_>, depth: usize) -> bool {
    match ty.shape() {
        Shape::Simple(_) | Shape::String { .. } | Shape::Wstring { .. } | Shape::Fixed { .. } => {
            true
        }
        Shape::Sequence { element, .. } | Shape::Array { element, .. } => {
            depth > 0 && is_plain(element, depth - 1)
        }
        _ => is_well_known(ty),
    }
}

/// Reports whether the type is one of the three that every IDL file knows by name.
fn is_well_known(ty: TypeRef<'_>) -> bool {
    WELL_KNOWN.contains(&ty.to_type_code())
}

const WELL_KNOWN: [TypeCode; 3] = [TypeCode::OBJECT, TypeCode::VALUE_BASE, TypeCode::ABSTRACT_BASE];

fn modifier_name(modifier: ValueModifier) -> &'static str {
    match modifier {
        ValueModifier::None => "none",
        ValueModifier::Custom => "custom",
        ValueModifier::Abstract => "abstract",
        ValueModifier::Truncatable => "truncatable",
    }
}

/// Converts JSON to a type: IDL text (`"unsigned long"`, `"sequence<string<8>, 3>"`,
/// `"long[2][3]"`), the name or repository id of a type that `names` knows, or an object as
/// [`JsonType`] writes it.
pub fn type_from_json(json: &Value, names: &dyn Names) -> Result<TypeCode, JsonError> {
    let ty = read(json, names, &Work::default())?;
    if ty.is_complete() {
        Ok(ty)
    } else {
        Err(JsonError::new("it contains itself, or a type that does not exist"))
    }
}

/// Maximum number of types and members that are copied while a type is read. Each type copies its parts, so a large
/// type inside many others would otherwise take quadratic time.
const MAX_COPIES: usize = 1 << 17;

/// Work that a type takes.
struct Work {
    /// Number of types and members that were read.
    read: Cell<usize>,
    /// Number of copies left.
    left: Cell<usize>,
}

impl Default for Work {
    fn default() -> Self {
        Work { read: Cell::new(0), left: Cell::new(MAX_COPIES) }
    }
}

impl Work {
    /// Charges the copies of a type with these direct members, whose parts were read after the first `before`.
    fn spend(&self, before: usize, members: usize) -> Result<(), JsonError> {
        self.read.set(self.read.get() + 1 + members);
        let left = self.left.get().checked_sub(self.read.get() - before);
        self.left.set(left.ok_or_else(|| {
            JsonError::new(format!(
                "the type is too large: it may have at most {MAX_COPIES} parts, each counted once for each type around \
                 it"
            ))
        })?);
        Ok(())
    }
}

fn read(json: &Value, names: &dyn Names, work: &Work) -> Result<TypeCode, JsonError> {
    if let Value::String(words) = json {
        return from_words(words, names)
            .ok_or_else(|| JsonError::new(format!("there is no type {words}")));
    }
    let object = object(json)?;
    let before = work.read.get();
    let kind = field_text(object, "kind")?;
    let id = || field_text(object, "id");
    let name = || object.get("name").map_or(Ok(""), text);
    let part = |field: &str| {
        let json = object.get(field).ok_or_else(|| lacks(field))?;
        read(json, names, work).map_err(|error| error.within(field))
    };
    let number = |field: &str| match object.get(field) {
        None => Ok(None),
        Some(json) => json
            .as_u64()
            .and_then(|number| u32::try_from(number).ok())
            .map(Some)
            .ok_or_else(|| JsonError::new("expected an integer").within(field)),
    };
    let ty = match kind {
        "recursive" => TypeCode::recursive(id()?),
        "sequence" => TypeCode::bounded_sequence(part("type")?, number("bound")?.unwrap_or(0)),
        "array" => {
            TypeCode::array(part("type")?, number("length")?.ok_or_else(|| lacks("length"))?)
        }
        "typedef" => TypeCode::alias(id()?, name()?, part("type")?),
        VALUE_BOX => TypeCode::value_box(id()?, name()?, part("type")?),
        "struct" => TypeCode::structure(id()?, name()?, pairs(&members(object, names, work)?)),
        "exception" => TypeCode::exception(id()?, name()?, pairs(&members(object, names, work)?)),
        "enum" => {
            let list = object.get("members").and_then(Value::as_array);
            let list = list.ok_or_else(|| lacks("members"))?;
            let list: Vec<&str> = list.iter().map(text).collect::<Result<_, _>>()?;
            TypeCode::enumeration(id()?, name()?, list)
        }
        "union" => {
            let members = members(object, names, work)?;
            let cases = members.iter().map(|member| {
                let label = member.label.ok_or_else(|| lacks("label"))?;
                Ok((label, member.name, member.ty.clone()))
            });
            let cases: Vec<_> = cases.collect::<Result<_, JsonError>>()?;
            TypeCode::union(id()?, name()?, part("discriminator")?, cases)
        }
        VALUE | EVENT => {
            let modifier = match object.get("modifier").map_or(Ok("none"), text)? {
                "none" => ValueModifier::None,
                "custom" => ValueModifier::Custom,
                "abstract" => ValueModifier::Abstract,
                "truncatable" => ValueModifier::Truncatable,
                other => return Err(JsonError::new(format!("{other} is not a modifier"))),
            };
            let base = object.get("base").map(|_| part("base")).transpose()?;
            let members = members(object, names, work)?;
            let members =
                members.iter().map(|member| (member.name, member.ty.clone(), member.visibility));
            match kind {
                VALUE => TypeCode::value(id()?, name()?, modifier, base, members),
                _ => TypeCode::event(id()?, name()?, modifier, base, members),
            }
        }
        kind => {
            let make = NAMED.iter().find(|(named, _)| named.idl() == kind);
            let (_, make) =
                make.ok_or_else(|| JsonError::new(format!("{kind} is not a kind of type")))?;
            make(id()?, name()?)
        }
    };
    work.spend(before, object.get("members").and_then(Value::as_array).map_or(0, Vec::len))?;
    Ok(ty)
}

const VALUE: &str = TcKind::Value.idl();
const EVENT: &str = TcKind::Event.idl();
const VALUE_BOX: &str = "valuebox";

type MakeNamed = fn(&str, &str) -> TypeCode;

/// Kinds of which a type code contains only the name.
const NAMED: [(TcKind, MakeNamed); 6] = [
    (TcKind::Objref, TypeCode::interface),
    (TcKind::AbstractInterface, TypeCode::abstract_interface),
    (TcKind::LocalInterface, TypeCode::local_interface),
    (TcKind::Native, TypeCode::native),
    (TcKind::Component, TypeCode::component),
    (TcKind::Home, TypeCode::home),
];

struct ReadMember<'j> {
    name: &'j str,
    ty: TypeCode,
    label: Option<Label>,
    visibility: Visibility,
}

fn members<'j>(
    object: &'j Map<String, Value>,
    names: &dyn Names,
    work: &Work,
) -> Result<Vec<ReadMember<'j>>, JsonError> {
    let list = object.get("members").and_then(Value::as_array);
    let list = list.ok_or_else(|| lacks("members"))?;
    let member = |json: &'j Value| {
        let member = self::object(json)?;
        let label = match member.get("label") {
            None => None,
            Some(Value::String(word)) if word == "default" => Some(Label::Default),
            Some(label) => {
                let signed = label.as_i64().map(i128::from);
                let value = signed.or_else(|| label.as_u64().map(i128::from));
                let value = value
                    .ok_or_else(|| JsonError::new("a label must be a number or \"default\""))?;
                Some(Label::Value(value))
            }
        };
        let ty = member.get("type").ok_or_else(|| lacks("type"))?;
        let private = member.get("private").and_then(Value::as_bool) == Some(true);
        Ok(ReadMember {
            name: field_text(member, "name")?,
            ty: read(ty, names, work).map_err(|error| error.within("type"))?,
            label,
            visibility: if private { Visibility::Private } else { Visibility::Public },
        })
    };
    let numbered = list.iter().enumerate();
    numbered
        .map(|(at, json)| {
            member(json).map_err(|error: JsonError| error.within(&format!("members[{at}]")))
        })
        .collect()
}

fn pairs<'m>(members: &'m [ReadMember<'m>]) -> impl Iterator<Item = (&'m str, TypeCode)> {
    members.iter().map(|member| (member.name, member.ty.clone()))
}

fn field_text<'j>(object: &'j Map<String, Value>, field: &str) -> Result<&'j str, JsonError> {
    let json = object.get(field).ok_or_else(|| lacks(field))?;
    text(json).map_err(|error| error.within(field))
}

fn lacks(field: &str) -> JsonError {
    JsonError::new(format!("there is no {field}"))
}

/// Parses a type written as IDL text.
fn from_words(words: &str, names: &dyn Names) -> Option<TypeCode> {
    /// Maximum length of the text, since nested templates take stack.
    const LONGEST: usize = 1000;
    let words = words.trim();
    if words.len() > LONGEST {
        return None;
    }
    if let Some(rest) = words.strip_suffix(']') {
        let (element, length) = rest.rsplit_once('[')?;
        return array(element, length.trim().parse().ok()?, names);
    }
    if let Some(rest) = words.strip_suffix('>') {
        let (template, params) = rest.split_once('<')?;
        return template_type(template.trim(), params, names);
    }
    if words == "Object" || words == "CORBA::Object" {
        return Some(TypeCode::OBJECT);
    }
    if words == "ValueBase" || words == "CORBA::ValueBase" {
        return Some(TypeCode::VALUE_BASE);
    }
    if words == "AbstractBase" || words == "CORBA::AbstractBase" {
        return Some(TypeCode::ABSTRACT_BASE);
    }
    let squeezed: Vec<&str> = words.split_whitespace().collect();
    let squeezed = squeezed.join(" ");
    let simple = TcKind::ALL.iter().find(|kind| kind.idl() == squeezed);
    match simple {
        Some(TcKind::String) => Some(TypeCode::STRING),
        Some(TcKind::Wstring) => Some(TypeCode::WSTRING),
        Some(&kind) => TypeCode::simple(kind),
        None if words == "TypeCode" => Some(TypeCode::TYPE_CODE),
        None => names.find_type(words),
    }
}

/// Parses the dimensions of an array. The outermost dimension comes first, so the last one read is
/// the innermost.
fn array(element: &str, length: u32, names: &dyn Names) -> Option<TypeCode> {
    let mut dimensions = vec![length];
    let mut element = element.trim();
    while let Some(rest) = element.strip_suffix(']') {
        let (outer, length) = rest.rsplit_once('[')?;
        dimensions.push(length.trim().parse().ok()?);
        element = outer.trim();
    }
    let element = from_words(element, names)?;
    Some(dimensions.into_iter().fold(element, TypeCode::array))
}

fn template_type(template: &str, params: &str, names: &dyn Names) -> Option<TypeCode> {
    match template {
        "string" => Some(TypeCode::bounded_string(params.trim().parse().ok()?)),
        "wstring" => Some(TypeCode::bounded_wstring(params.trim().parse().ok()?)),
        "fixed" => {
            let (digits, scale) = params.split_once(',')?;
            let digits = digits.trim().parse().ok()?;
            Some(TypeCode::fixed(digits, scale.trim().parse().ok()?))
        }
        "sequence" => {
            // The part after the last comma is the bound if it is a number; otherwise it belongs to
            // the element type.
            if let Some((element, bound)) = params.rsplit_once(',')
                && let Ok(bound) = bound.trim().parse()
            {
                return Some(TypeCode::bounded_sequence(from_words(element, names)?, bound));
            }
            Some(TypeCode::sequence(from_words(params, names)?))
        }
        _ => None,
    }
}
