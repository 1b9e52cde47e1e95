//! Parts of an event, and the steps between them.

use std::borrow::Cow;

use oxorb_cdr::{Any, Dynamic, Shape, TypeRef, Wchar, Wstring};

use crate::etcl::octets::{Octets, Opened};
use crate::etcl::path::Step;
use crate::etcl::scratch::Scratch;
use crate::etcl::subject::List;
use crate::etcl::tree::{Tree, is_under, selects_default};
use crate::etcl::value::Value;
use crate::etcl::{Dialect, Event, Mismatch};

/// Part of an event, selected by a component.
#[derive(Clone)]
pub(crate) enum Part<'e> {
    /// A complete structured event.
    Event(&'e dyn Event),
    Header(&'e dyn Event),
    FixedHeader(&'e dyn Event),
    EventType(&'e dyn Event),
    Properties(List<'e>),
    Property(&'e str, &'e Any),
    /// `$curtime`, in 100 ns since 15 October 1582.
    Time(u64),
    Simple(Value<'e>),
    /// A simple value with its type.
    Typed(TypeRef<'e>, Value<'e>),
    Octets(Octets<'e>),
    Tree(Tree<'e>),
}

impl<'e> Part<'e> {
    pub(crate) fn text(text: &'e str) -> Self {
        Self::Simple(Value::Text(Cow::Borrowed(text)))
    }

    /// Returns the value of an any. It is read in place if the any was received, and converted otherwise. Allocates
    /// memory only for a complete struct, union or sequence that was never sent.
    pub(crate) fn of_any(any: &'e Any, scratch: &'e Scratch) -> Result<Self, Mismatch> {
        let ty = any.type_code().as_ref();
        if let Some(d) = any.decoder() {
            return Self::Octets(Octets { ty, d }).opened(scratch);
        }
        if let Some(value) = any.as_dynamic() {
            return Self::Tree(Tree { ty, value }).opened(scratch);
        }
        if let Some(value) = put_in(any) {
            return Ok(Self::Typed(ty.resolved(), value));
        }
        let tree = any.dynamic().map_err(|error| Mismatch::Malformed(error.to_cdr(0)))?;
        let value = scratch.keep(tree)?;
        Self::Tree(Tree { ty, value }).opened(scratch)
    }

    /// Resolves anys and typedefs.
    fn opened(self, scratch: &'e Scratch) -> Result<Self, Mismatch> {
        match self {
            Self::Octets(octets) => match octets.open(scratch)? {
                Opened::Octets(octets) => Ok(Self::Octets(octets)),
                Opened::Tree(tree) => Ok(Self::Tree(tree)),
            },
            Self::Tree(Tree { ty, value }) => match value {
                Dynamic::Any(any) => {
                    scratch.spend(1)?;
                    Self::of_any(any, scratch)
                }
                Dynamic::Value(content) => {
                    let ty = content.ty.as_ref();
                    Ok(Self::Tree(Tree { ty, value }))
                }
                _ => Ok(Self::Tree(Tree { ty: ty.resolved(), value })),
            },
            other => Ok(other),
        }
    }

    pub(crate) fn simple(self) -> Result<Value<'e>, Mismatch> {
        match self {
            Self::Simple(value) | Self::Typed(_, value) => Ok(value),
            Self::Time(time) => Ok(Value::Integer(time.into())),
            Self::Octets(octets) => octets.simple(),
            Self::Tree(tree) => tree.simple(),
            _ => Err(Mismatch::NotSimple),
        }
    }

    pub(crate) fn step(
        self,
        step: &Step,
        scratch: &'e Scratch,
        dialect: Dialect,
    ) -> Result<Self, Mismatch> {
        scratch.spend(1)?;
        if dialect == Dialect::Tao && matches!(step, Step::Element(_) | Step::Label(_)) {
            return Err(Mismatch::Missing);
        }
        match step {
            Step::Member(name) => self.member(name, scratch, dialect),
            Step::Position(at) => self.position(*at as usize, scratch),
            Step::Element(at) => self.element(*at as usize, scratch),
            Step::Named(name) => self.named(name, scratch, dialect),
            Step::Label(label) => {
                let (ty, found) = self.clone().discriminator(scratch)?;
                match is_under(ty, &found, label) {
                    true => self.selected(scratch),
                    false => Err(Mismatch::Missing),
                }
            }
            Step::Length => {
                let length = self.length(scratch)?;
                Ok(Self::Simple(Value::Integer(length as i128)))
            }
            Step::Discriminator => Ok(Self::Simple(self.discriminator(scratch)?.1)),
            Step::TypeName => self.type_name().map(Self::text).ok_or(Mismatch::Missing),
            Step::RepositoryId => self.repository_id(),
        }
    }

    pub(crate) fn member(
        self,
        name: &str,
        scratch: &'e Scratch,
        dialect: Dialect,
    ) -> Result<Self, Mismatch> {
        match self {
            Self::Octets(octets) => Self::Octets(octets.member(name, scratch)?).opened(scratch),
            Self::Tree(tree) => {
                scratch.spend(tree.value.fields().len())?;
                Self::Tree(tree.member(name)?).opened(scratch)
            }
            Self::Event(event)
            | Self::Header(event)
            | Self::FixedHeader(event)
            | Self::EventType(event)
                if dialect == Dialect::Tao =>
            {
                known_word(event, name, scratch)
            }
            other => {
                let at = other.member_names().iter().position(|known| *known == name);
                other.position(at.ok_or(Mismatch::Missing)?, scratch)
            }
        }
    }

    /// Returns the names of the members if the part has one of the types of the Notification Service.
    fn member_names(&self) -> &'static [&'static str] {
        match self {
            Self::Event(_) => &["header", "filterable_data", "remainder_of_body"],
            Self::Header(_) => &["fixed_header", "variable_header"],
            Self::FixedHeader(_) => &["event_type", "event_name"],
            Self::EventType(_) => &["domain_name", "type_name"],
            Self::Property(..) => &["name", "value"],
            Self::Time(_) => &["time", "inacclo", "inacchi", "tdf"],
            _ => &[],
        }
    }

    fn position(self, at: usize, scratch: &'e Scratch) -> Result<Self, Mismatch> {
        Ok(match (self, at) {
            (Self::Octets(octets), at) => {
                return Self::Octets(octets.position(at, scratch)?).opened(scratch);
            }
            (Self::Tree(tree), at) => return Self::Tree(tree.position(at)?).opened(scratch),
            (Self::Event(event), 0) => Self::Header(event),
            (Self::Event(event), 1) => Self::Properties(List::FilterableData(event)),
            (Self::Event(event), 2) => Self::of_any(event.remainder_of_body(), scratch)?,
            (Self::Header(event), 0) => Self::FixedHeader(event),
            (Self::Header(event), 1) => Self::Properties(List::VariableHeader(event)),
            (Self::FixedHeader(event), 0) => Self::EventType(event),
            (Self::FixedHeader(event), 1) => Self::text(event.event_name()),
            (Self::EventType(event), 0) => Self::text(event.domain_name()),
            (Self::EventType(event), 1) => Self::text(event.type_name()),
            (Self::Property(name, _), 0) => Self::text(name),
            (Self::Property(_, value), 1) => Self::of_any(value, scratch)?,
            (Self::Time(time), 0) => Self::Simple(Value::Integer(time.into())),
            // The clock is read in UTC, so inaccuracy and time zone are zero.
            (Self::Time(_), 1..=3) => Self::Simple(Value::Integer(0)),
            _ => return Err(Mismatch::Missing),
        })
    }

    fn element(self, at: usize, scratch: &'e Scratch) -> Result<Self, Mismatch> {
        match self {
            Self::Octets(octets) => Self::Octets(octets.element(at, scratch)?).opened(scratch),
            Self::Tree(Tree { value: Dynamic::Octets(octets), ty }) => {
                let octet = octets.get(at).ok_or(Mismatch::Missing)?;
                let value = Value::Integer((*octet).into());
                Ok(match ty.content() {
                    Some(ty) => Self::Typed(ty.resolved(), value),
                    None => Self::Simple(value),
                })
            }
            Self::Tree(tree) => Self::Tree(tree.element(at)?).opened(scratch),
            Self::Properties(list) => {
                let (name, value) = list.property(at).ok_or(Mismatch::Missing)?;
                Ok(Self::Property(name, value))
            }
            _ => Err(Mismatch::NoSequence),
        }
    }

    fn length(self, scratch: &'e Scratch) -> Result<usize, Mismatch> {
        match self {
            Self::Octets(octets) => Ok(octets.elements()?.0),
            Self::Tree(tree) => tree.length(),
            Self::Properties(list) => {
                let mut count = 0;
                while list.property(count).is_some() {
                    scratch.spend(1)?;
                    count += 1;
                }
                Ok(count)
            }
            _ => Err(Mismatch::NoSequence),
        }
    }

    /// Returns the value for a name in a list of names and values. The list consists of properties of an event, or is a
    /// sequence of structs of a string and a value.
    pub(crate) fn named(
        self,
        name: &str,
        scratch: &'e Scratch,
        dialect: Dialect,
    ) -> Result<Self, Mismatch> {
        match self {
            Self::Properties(list) => match find(list, name, scratch, dialect)? {
                Some(value) => Self::of_any(value, scratch),
                None => Err(Mismatch::Missing),
            },
            Self::Octets(octets) => {
                let (n, mut pairs) = octets.elements()?;
                check_pair(pairs.ty.resolved())?;
                let pair = pairs.ty.resolved();
                for _ in 0..n {
                    let here = Octets { ty: pair, d: pairs.d.clone() };
                    let key = here.clone().position(0, scratch)?.opened_simple(scratch)?;
                    if key.with_text(|key| key == name) == Some(true) {
                        return Self::Octets(here.position(1, scratch)?).opened(scratch);
                    }
                    pairs.skip(pair, scratch)?;
                }
                Err(Mismatch::Missing)
            }
            Self::Tree(tree) => {
                let length = tree.length()?;
                check_pair(tree.ty.content().ok_or(Mismatch::NoSequence)?.resolved())?;
                for at in 0..length {
                    scratch.spend(1)?;
                    let pair = tree.element(at)?;
                    let pair = Tree { ty: pair.ty.resolved(), ..pair };
                    if pair.position(0)?.simple()?.with_text(|key| key == name) == Some(true) {
                        return Self::Tree(pair.position(1)?).opened(scratch);
                    }
                }
                Err(Mismatch::Missing)
            }
            _ => Err(Mismatch::NoSequence),
        }
    }

    fn discriminator(self, scratch: &'e Scratch) -> Result<(TypeRef<'e>, Value<'e>), Mismatch> {
        match self {
            Self::Octets(octets) => Ok((octets.ty, octets.selected(scratch)?.0)),
            Self::Tree(tree) => Ok((tree.ty, tree.discriminator()?)),
            _ => Err(Mismatch::NoUnion),
        }
    }

    fn selected(self, scratch: &'e Scratch) -> Result<Self, Mismatch> {
        match self {
            Self::Octets(octets) => {
                let (_, member) = octets.selected(scratch)?;
                Self::Octets(member.ok_or(Mismatch::Missing)?.1).opened(scratch)
            }
            Self::Tree(tree) => Self::Tree(tree.selected()?).opened(scratch),
            _ => Err(Mismatch::NoUnion),
        }
    }

    /// Reports whether the discriminant of a union selects its default member.
    pub(crate) fn selects_default(self, scratch: &'e Scratch) -> Result<bool, Mismatch> {
        let (ty, found) = self.discriminator(scratch)?;
        Ok(selects_default(ty, &found))
    }

    /// Calls `is_it` for the elements of a sequence or array until it returns `true`.
    pub(crate) fn any_element(
        self,
        scratch: &'e Scratch,
        mut is_it: impl FnMut(&Value<'e>) -> Result<bool, Mismatch>,
    ) -> Result<bool, Mismatch> {
        match self {
            Self::Octets(octets) => {
                let (n, mut elements) = octets.elements()?;
                for _ in 0..n {
                    if is_it(&elements.clone().opened_simple(scratch)?)? {
                        return Ok(true);
                    }
                    elements.skip(elements.ty, scratch)?;
                }
            }
            Self::Tree(tree) => {
                for at in 0..tree.length()? {
                    scratch.spend(1)?;
                    if is_it(&Self::Tree(tree).element(at, scratch)?.simple()?)? {
                        return Ok(true);
                    }
                }
            }
            _ => return Err(Mismatch::NoSequence),
        }
        Ok(false)
    }

    fn type_name(&self) -> Option<&'e str> {
        let ty = match self {
            Self::Octets(octets) => octets.ty,
            Self::Tree(tree) => tree.ty,
            Self::Typed(ty, _) => *ty,
            Self::Event(_) => return Some("StructuredEvent"),
            Self::Header(_) => return Some("EventHeader"),
            Self::FixedHeader(_) => return Some("FixedEventHeader"),
            Self::EventType(_) => return Some("EventType"),
            Self::Properties(_) => return Some("PropertySeq"),
            Self::Property(..) => return Some("Property"),
            Self::Time(_) => return Some("UtcT"),
            // The names of an event, which are strings, have no type code here.
            Self::Simple(Value::Text(_)) => return Some("string"),
            Self::Simple(_) => return None,
        };
        ty.name().filter(|name| !name.is_empty()).or(Some(ty.kind().idl()))
    }

    fn repository_id(self) -> Result<Self, Mismatch> {
        let id = match &self {
            Self::Octets(octets) => octets.ty.id(),
            Self::Tree(tree) => tree.ty.id(),
            Self::Typed(ty, _) => ty.id(),
            Self::Event(_) => Some("IDL:omg.org/CosNotification/StructuredEvent:1.0"),
            Self::Header(_) => Some("IDL:omg.org/CosNotification/EventHeader:1.0"),
            Self::FixedHeader(_) => Some("IDL:omg.org/CosNotification/FixedEventHeader:1.0"),
            Self::EventType(_) => Some("IDL:omg.org/CosNotification/EventType:1.0"),
            Self::Properties(_) => Some("IDL:omg.org/CosNotification/PropertySeq:1.0"),
            Self::Property(..) => Some("IDL:omg.org/CosNotification/Property:1.0"),
            Self::Time(_) => Some("IDL:omg.org/TimeBase/UtcT:1.0"),
            Self::Simple(_) => None,
        };
        id.filter(|id| !id.is_empty()).map(Self::text).ok_or(Mismatch::Missing)
    }
}

impl<'e> Octets<'e> {
    /// Returns the simple value of this part, even if an any contains it.
    fn opened_simple(self, scratch: &'e Scratch) -> Result<Value<'e>, Mismatch> {
        Part::Octets(self).opened(scratch)?.simple()
    }
}

/// Returns the first property with a name. In TAO's dialect, two properties with the same name are an error.
pub(crate) fn find<'e>(
    list: List<'e>,
    name: &str,
    scratch: &Scratch,
    dialect: Dialect,
) -> Result<Option<&'e Any>, Mismatch> {
    let mut found = None;
    for at in 0.. {
        let Some((key, value)) = list.property(at) else {
            break;
        };
        scratch.spend(1)?;
        if key != name {
            continue;
        }
        if dialect == Dialect::Standard {
            return Ok(Some(value));
        }
        if found.replace(value).is_some() {
            return Err(Mismatch::Duplicate);
        }
    }
    Ok(found)
}

/// Returns the part of a structured event for a word that TAO accepts at any depth.
fn known_word<'e>(
    event: &'e dyn Event,
    word: &str,
    scratch: &'e Scratch,
) -> Result<Part<'e>, Mismatch> {
    Ok(match word {
        "header" => Part::Header(event),
        "fixed_header" => Part::FixedHeader(event),
        "event_type" => Part::EventType(event),
        "domain_name" => Part::text(event.domain_name()),
        "type_name" => Part::text(event.type_name()),
        "event_name" => Part::text(event.event_name()),
        "variable_header" => Part::Properties(List::VariableHeader(event)),
        "filterable_data" => Part::Properties(List::FilterableData(event)),
        "remainder_of_body" => Part::of_any(event.remainder_of_body(), scratch)?,
        _ => return Err(Mismatch::Missing),
    })
}

/// Checks that a type is a struct of a string and one other member.
fn check_pair(ty: TypeRef<'_>) -> Result<(), Mismatch> {
    let mut members = ty.members();
    let is_text = |ty: TypeRef<'_>| matches!(ty.resolved().shape(), Shape::String { .. });
    let is_pair = matches!(ty.shape(), Shape::Struct) && members.len() == 2;
    match is_pair && members.next().is_some_and(|name| is_text(name.ty)) {
        true => Ok(()),
        false => Err(Mismatch::NoSequence),
    }
}

/// Returns a simple value that this process has inserted into an any that was never sent.
fn put_in(any: &Any) -> Option<Value<'_>> {
    macro_rules! one_of {
        ($($type:ty => $make:expr;)*) => {$(
            if let Some(value) = any.downcast_ref::<$type>() {
                let make: fn(&$type) -> Value<'_> = $make;
                return Some(make(value));
            }
        )*};
    }
    one_of! {
        i16 => |value| Value::Integer((*value).into());
        i32 => |value| Value::Integer((*value).into());
        i64 => |value| Value::Integer((*value).into());
        u16 => |value| Value::Integer((*value).into());
        u32 => |value| Value::Integer((*value).into());
        u64 => |value| Value::Integer((*value).into());
        u8 => |value| Value::Integer((*value).into());
        f32 => |value| Value::Double((*value).into());
        f64 => |value| Value::Double(*value);
        bool => |value| Value::Boolean(*value);
        char => |value| Value::Char(*value);
        String => |value| Value::Text(Cow::Borrowed(value));
        Wchar => |value| Value::Char(value.0);
        Wstring => |value| Value::Text(Cow::Borrowed(&value.0));
    }
    None
}
