//! Valuetypes whose type is known as a type code: representation, reading, writing and skipping of
//! values.

use crate::prelude::*;
use crate::tables::{Table, TableSet};
use alloc::sync::Arc;

use super::skip::Walk;
use super::write::write_members;
use super::{Dynamic, DynamicError, DynamicErrorKind, Field};
use crate::value::{Found, Head, Known, Untyped};
use crate::{
    Decoder, Encoder, ErrorKind, MemberRef, Result, Shape, TypeCode, TypeRef, ValueKey,
    ValueModifier,
};

/// Value of a valuetype, event type or value box.
///
/// Further occurrences of the same value in a message are [`Dynamic::Indirection`]s with its key;
/// they follow it, or are inside it. A graph of values, with sharing and cycles, is thus a tree
/// that can be walked, cloned and freed like any other. A clone has the same key and so the same
/// identity: for a distinct value, [change the key](Self::new).
///
/// ```
/// use oxorb_cdr::{Dynamic, DynamicValue, TypeCode, ValueModifier, Visibility};
///
/// let node = TypeCode::recursive("IDL:Node:1.0");
/// let members = [("id", TypeCode::LONG, Visibility::Public), ("next", node, Visibility::Public)];
/// let node = TypeCode::value("IDL:Node:1.0", "Node", ValueModifier::None, None, members);
///
/// let mut ring = DynamicValue::default_for(&node)?;
/// ring.fields[0].value = Dynamic::Long(5);
/// ring.fields[1].value = Dynamic::Indirection(ring.key.clone());
/// let ring = Dynamic::from(ring);
/// ring.check(&node)?;
/// assert_eq!(ring.at("next.next.id"), Some(&Dynamic::Long(5)));
/// # Ok::<(), oxorb_cdr::DynamicError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DynamicValue {
    /// Actual type, which may inherit from the declared one.
    pub ty: TypeCode,
    /// Identity of the value.
    pub key: ValueKey,
    /// State: the members of the bases first. For a box, its content, as the single field `value`.
    pub fields: Vec<Field>,
    /// Repository id of the type as which the value was sent, if the value was truncated to `ty`.
    pub truncated_from: Option<Arc<str>>,
}

/// Name of the field of a box.
pub(super) const BOXED: &str = "value";

impl DynamicValue {
    /// Creates a value with a new identity.
    pub fn new(ty: TypeCode, fields: Vec<Field>) -> Self {
        Self { ty: ty.resolved(), key: ValueKey::new(), fields, truncated_from: None }
    }

    /// Creates a value with the [default](Dynamic::default_for) for each member; members of
    /// valuetypes are null.
    pub fn default_for(ty: &TypeCode) -> Result<Self, DynamicError> {
        let of = ty.as_ref().resolved();
        if !ty.is_complete() || !has_state(of) {
            return Err(DynamicError::expected(of, "nothing with a state"));
        }
        let default = |name: &Arc<str>, ty: TypeRef<'_>| {
            let value = Dynamic::default_for(&ty.to_type_code());
            Ok::<_, DynamicError>(Field {
                name: name.clone(),
                value: value.map_err(|error| error.in_member(name))?,
            })
        };
        let fields = match of.shape() {
            Shape::ValueBox(content) => vec![default(&BOXED.into(), content)?],
            _ => {
                let members = of.state_members().into_iter();
                let fields = members.map(|member| default(member.name, member.ty));
                fields.collect::<Result<_, _>>()?
            }
        };
        Ok(Self::new(of.to_type_code(), fields))
    }
}

impl From<DynamicValue> for Dynamic {
    fn from(value: DynamicValue) -> Self {
        Self::Value(Box::new(value))
    }
}

impl<'a> TypeRef<'a> {
    /// Returns the members of a valuetype and of the bases whose state it inherits, those of the
    /// bases first.
    pub fn state_members(self) -> Vec<MemberRef<'a>> {
        let mut types: Vec<Self> = self.with_bases().collect();
        types.reverse();
        types.into_iter().flat_map(Self::members).collect()
    }
}

/// Reports whether values of exactly this type exist.
fn has_state(ty: TypeRef<'_>) -> bool {
    match ty.shape() {
        Shape::ValueBox(_) => true,
        Shape::Value { modifier, .. } => modifier != ValueModifier::Abstract && !ty.is_value_base(),
        _ => false,
    }
}

fn is_custom(ty: &TypeCode) -> bool {
    matches!(ty.shape(), Shape::Value { modifier: ValueModifier::Custom, .. })
}

/// Returns a value with its type but without state, before the state is read.
#[inline(never)]
fn start(
    formal: TypeRef<'_>,
    head: &Head<'_>,
    d: &mut Decoder<'_>,
) -> Result<(Box<DynamicValue>, bool)> {
    let (ty, truncated_from) = match d.known_type(head, formal)? {
        Known::As(ty, cut) if cut.is_none() || head.chunked => (ty, cut),
        _ => return Err(ErrorKind::NoValueFactory.at(head.at)),
    };
    if is_custom(&ty) {
        return Err(ErrorKind::ValueUnsupported.at(head.at));
    }
    let (key, outer) = d.enter_untyped(head, &ty)?;
    // Charges twice: for the value itself, and for what the decoder records about it until the end
    // of the message.
    let cut = truncated_from.as_ref().map_or(0, |id: &Arc<str>| id.len());
    d.charge(1, cut + 2 * size_of::<DynamicValue>())?;
    let value = DynamicValue { ty, key, fields: Vec::new(), truncated_from };
    Ok((Box::new(value), outer))
}

impl Walk {
    pub(super) fn read_value(
        &mut self,
        formal: TypeRef<'_>,
        d: &mut Decoder<'_>,
    ) -> Result<Dynamic, DynamicError> {
        match d.untyped()? {
            Found::Null => Ok(Dynamic::Null),
            Found::Value(head) => self.read_state(formal, &head, d),
            Found::Elsewhere(detour) => {
                let value = self.read_state(formal, &detour.head, d)?;
                d.come_back(detour);
                Ok(value)
            }
            Found::Again(Untyped { key, ty }) => match ty.as_ref().is_value_of(formal) {
                true => Ok(Dynamic::Indirection(key)),
                false => Err(d.error_back(4, ErrorKind::ValueMismatch).into()),
            },
        }
    }

    fn read_state(
        &mut self,
        formal: TypeRef<'_>,
        head: &Head<'_>,
        d: &mut Decoder<'_>,
    ) -> Result<Dynamic, DynamicError> {
        let (mut value, outer) = start(formal, head, d)?;
        value.fields = match value.ty.shape() {
            Shape::ValueBox(content) => vec![self.read_boxed(content, d)?],
            _ => self.read_fields(value.ty.as_ref().state_members().into_iter(), d)?,
        };
        d.leave_untyped(outer, value.truncated_from.is_some())?;
        Ok(Dynamic::Value(value))
    }

    fn read_boxed(
        &mut self,
        content: TypeRef<'_>,
        d: &mut Decoder<'_>,
    ) -> Result<Field, DynamicError> {
        let value = self.read(content, d);
        Ok(Field { name: BOXED.into(), value: value.map_err(|error| error.in_member(BOXED))? })
    }

    /// Skips a value. The type of a chunked value need not be known.
    pub(super) fn skip_value(&mut self, formal: TypeRef<'_>, d: &mut Decoder<'_>) -> Result<()> {
        let Some(head) = d.untyped_header()? else {
            return Ok(());
        };
        self.met_value = true;
        let (ty, cut) = match d.known_type(&head, formal)? {
            Known::As(ty, cut) if !is_custom(&ty) => (Some(ty), cut.is_some()),
            Known::As(..) if !head.chunked => {
                return Err(ErrorKind::ValueUnsupported.at(head.at));
            }
            _ => (None, true),
        };
        if cut && !head.chunked {
            return Err(ErrorKind::NoValueFactory.at(head.at));
        }
        let outer = d.enter_unread(&head)?;
        match ty.as_ref().map(|ty| (ty, ty.shape())) {
            None => {}
            Some((_, Shape::ValueBox(content))) => self.skip(content, d)?,
            Some((ty, _)) => {
                let members = ty.as_ref().state_members();
                members.iter().try_for_each(|one| self.skip(one.ty, d))?;
            }
        }
        d.leave_untyped(outer, cut)
    }
}

pub(super) fn write(
    value: &Dynamic,
    formal: TypeRef<'_>,
    e: &mut Encoder<'_>,
) -> Result<(), DynamicError> {
    match value {
        Dynamic::Null => {
            e.ulong(0);
            Ok(())
        }
        Dynamic::Indirection(key) => match e.untyped_again(key)? {
            Some(ty) if ty.as_ref().is_value_of(formal) => Ok(()),
            Some(_) => Err(DynamicError::expected(formal, "a value of another type")),
            None => Err(DynamicErrorKind::NoSuchValue.into()),
        },
        Dynamic::Value(value) => write_value(value, formal, e),
        other => Err(DynamicError::expected(formal, other.what())),
    }
}

fn write_value(
    value: &DynamicValue,
    formal: TypeRef<'_>,
    e: &mut Encoder<'_>,
) -> Result<(), DynamicError> {
    let ty = value.ty.as_ref();
    if !ty.is_value_of(formal) || !has_state(ty) {
        return Err(DynamicError::expected(formal, "a value of another type"));
    }
    if !ty.is_complete() {
        return Err(e.error(ErrorKind::BadTypeCode).into());
    }
    if is_custom(&value.ty) {
        return Err(e.error(ErrorKind::ValueUnsupported).into());
    }
    let Some(chunked) = e.start_untyped(&value.key, &value.ty)? else {
        return Ok(());
    };
    match (ty.shape(), &*value.fields) {
        (Shape::ValueBox(content), [field]) => {
            let written = field.value.encode_as(content, e);
            written.map_err(|error| error.in_member(BOXED))?;
        }
        (Shape::ValueBox(_), fields) => {
            let (length, expected) = (fields.len(), 1);
            return Err(DynamicErrorKind::WrongLength { length, expected }.into());
        }
        (_, fields) => write_members(fields, ty.state_members().into_iter(), e)?,
    }
    Ok(e.end_untyped(chunked)?)
}

/// Pairs of corresponding values in two trees.
#[derive(Default)]
struct Same<'a> {
    left: Table<&'a ValueKey, usize>,
    right: Table<&'a ValueKey, usize>,
    /// Pairs of types found to be equal: many values have few types.
    types: TableSet<[(usize, usize); 2]>,
}

impl PartialEq for Dynamic {
    /// Reports whether both have the same values in the same positions, with the same sharing: keys
    /// that refer to corresponding values are equal.
    fn eq(&self, other: &Self) -> bool {
        Same::default().trees(self, other)
    }
}

impl PartialEq for DynamicValue {
    fn eq(&self, other: &Self) -> bool {
        Same::default().values(self, other)
    }
}

impl<'a> Same<'a> {
    fn trees(&mut self, left: &'a Dynamic, right: &'a Dynamic) -> bool {
        use Dynamic::*;
        match (left, right) {
            (Null, Null) => true,
            (Short(left), Short(right)) => left == right,
            (Long(left), Long(right)) => left == right,
            (Ushort(left), Ushort(right)) => left == right,
            (Ulong(left), Ulong(right)) => left == right,
            (Float(left), Float(right)) => left == right,
            (Double(left), Double(right)) => left == right,
            (Boolean(left), Boolean(right)) => left == right,
            (Char(left), Char(right)) | (Wchar(left), Wchar(right)) => left == right,
            (Octet(left), Octet(right)) => left == right,
            (Any(left), Any(right)) => left == right,
            (TypeCode(left), TypeCode(right)) => left == right,
            (Principal(left), Principal(right)) | (Octets(left), Octets(right)) => left == right,
            (Reference(left), Reference(right)) => left == right,
            (Struct(left), Struct(right)) => self.fields(left, right),
            (Union(left), Union(right)) => {
                left.discriminator == right.discriminator
                    && self.fields(left.member.as_slice(), right.member.as_slice())
            }
            (Enum { name, ordinal }, Enum { name: n, ordinal: o }) => name == n && ordinal == o,
            (String(left), String(right)) | (Wstring(left), Wstring(right)) => left == right,
            (Sequence(left), Sequence(right)) | (Array(left), Array(right)) => {
                let mut pairs = left.iter().zip(right);
                left.len() == right.len() && pairs.all(|(left, right)| self.trees(left, right))
            }
            (Longlong(left), Longlong(right)) => left == right,
            (Ulonglong(left), Ulonglong(right)) => left == right,
            (Longdouble(left), Longdouble(right)) => left == right,
            (Fixed(left), Fixed(right)) => left == right,
            (Value(left), Value(right)) => self.values(left, right),
            (Indirection(left), Indirection(right)) => {
                match (self.left.get(left), self.right.get(right)) {
                    (None, None) => left == right, // to values outside of what is compared
                    (left, right) => left == right,
                }
            }
            _ => false,
        }
    }

    fn fields(&mut self, left: &'a [Field], right: &'a [Field]) -> bool {
        let mut pairs = left.iter().zip(right);
        left.len() == right.len()
            && pairs.all(|(left, right)| {
                left.name == right.name && self.trees(&left.value, &right.value)
            })
    }

    fn types(&mut self, left: &TypeCode, right: &TypeCode) -> bool {
        let places = [left.place(), right.place()];
        if self.types.contains(&places) {
            return true;
        }
        let equal = left == right;
        if equal {
            self.types.insert(places);
        }
        equal
    }

    fn values(&mut self, left: &'a DynamicValue, right: &'a DynamicValue) -> bool {
        let number = self.left.len();
        let first = (
            *self.left.entry(&left.key).or_insert(number),
            *self.right.entry(&right.key).or_insert(number),
        );
        first.0 == first.1
            && self.types(&left.ty, &right.ty)
            && left.truncated_from == right.truncated_from
            && self.fields(&left.fields, &right.fields)
    }
}
