use super::skip::{Walk, number_size, read_label, skip_exception_id};
use super::{Dynamic, DynamicError, Field, RawReference, Selected};
use crate::prelude::*;
use crate::{
    Any, Decode, Decoder, ErrorKind, MemberRef, Result, Shape, TcKind, TypeCode, TypeRef, copies,
};

/// Maximum number of elements for which capacity is reserved in advance.
const RESERVED_AT_ONCE: usize = 1024;

/// Estimated number of octets that a leaf owns in addition to its own size.
const OWNED: usize = 32;

impl Dynamic {
    /// Reports whether the value owns memory other than its parts.
    fn owns_memory(&self) -> bool {
        matches!(self, Self::String(_) | Self::Wstring(_) | Self::Principal(_) | Self::Reference(_))
    }

    /// Reads a value of a type.
    ///
    /// Time and memory are proportional to the octets: a struct of one boolean takes about a
    /// hundred times its octet.
    pub fn decode(ty: &TypeCode, d: &mut Decoder<'_>) -> Result<Self, DynamicError> {
        Self::decode_as(ty.as_ref(), d)
    }

    /// Reads a value of a part of a type, as [`decode`](Self::decode).
    pub fn decode_as(ty: TypeRef<'_>, d: &mut Decoder<'_>) -> Result<Self, DynamicError> {
        Walk::new(ty, d)?.read(ty, d)
    }
}

impl Walk {
    pub(crate) fn read(
        &mut self,
        ty: TypeRef<'_>,
        d: &mut Decoder<'_>,
    ) -> Result<Dynamic, DynamicError> {
        if ty.min_size() == 0 {
            self.empty(d)?;
        }
        self.enter(d)?;
        let value = self.read_shape(ty, d)?;
        self.leave();
        Ok(value)
    }

    /// Reads a value according to its shape. Recursive cases are in separate functions, so that a
    /// level takes little stack.
    fn read_shape(
        &mut self,
        ty: TypeRef<'_>,
        d: &mut Decoder<'_>,
    ) -> Result<Dynamic, DynamicError> {
        match ty.shape() {
            Shape::Sequence { element, bound } => self.read_sequence(element, bound, d),
            Shape::Array { element, length } => self.read_array(element, length, d),
            Shape::Alias(content) => self.read(content, d),
            Shape::Except | Shape::Struct => self.read_members(ty, d),
            Shape::Union { discriminator, .. } => self.read_union(ty, discriminator, d),
            Shape::ValueBox(_) | Shape::Value { .. } => self.read_value(ty, d),
            Shape::Named(TcKind::AbstractInterface) => self.read_object_or_value(ty, d),
            _ => self.read_leaf(ty, d),
        }
    }

    #[inline(never)]
    fn read_leaf(&mut self, ty: TypeRef<'_>, d: &mut Decoder<'_>) -> Result<Dynamic, DynamicError> {
        let start = d.position();
        let leaf = self.read_leaf_of(ty, d)?;
        if leaf.owns_memory() {
            d.charge(1, OWNED + d.position() - start)?;
        }
        Ok(leaf)
    }

    fn read_leaf_of(
        &mut self,
        ty: TypeRef<'_>,
        d: &mut Decoder<'_>,
    ) -> Result<Dynamic, DynamicError> {
        Ok(match ty.shape() {
            Shape::Simple(TcKind::Any) => Dynamic::Any(Any::read(self, d)?),
            Shape::Simple(kind) => read_simple(kind, d)?,
            Shape::String { bound: None } => Dynamic::String(d.string()?.into_owned()),
            Shape::String { bound: Some(bound) } => {
                Dynamic::String(d.bounded_string(bound)?.into_owned())
            }
            Shape::Wstring { bound: None } => Dynamic::Wstring(d.wstring()?),
            Shape::Wstring { bound: Some(bound) } => Dynamic::Wstring(d.bounded_wstring(bound)?),
            Shape::Fixed { digits, scale } => {
                let scale = u8::try_from(scale).unwrap_or(u8::MAX); // refused below
                Dynamic::Fixed(d.decimal(digits, scale)?)
            }
            Shape::Enum => {
                let label = read_label(ty, d)?;
                enumerator(ty, label as u32).expect("checked when it was read")
            }
            Shape::Named(TcKind::Native | TcKind::LocalInterface) => {
                return Err(d.error(ErrorKind::NotMarshallable).into());
            }
            Shape::Named(_) => Dynamic::Reference(RawReference::decode(d)?),
            _ => return Err(d.error(ErrorKind::BadTypeCode).into()),
        })
    }

    fn read_object_or_value(
        &mut self,
        ty: TypeRef<'_>,
        d: &mut Decoder<'_>,
    ) -> Result<Dynamic, DynamicError> {
        match d.boolean()? {
            true => Ok(Dynamic::Reference(RawReference::decode(d)?)),
            false => self.read_value(ty, d),
        }
    }

    fn read_sequence(
        &mut self,
        element: TypeRef<'_>,
        bound: Option<u32>,
        d: &mut Decoder<'_>,
    ) -> Result<Dynamic, DynamicError> {
        let n = d.length(bound, element.min_size())?;
        if element.resolved().kind() == TcKind::Octet {
            d.charge(n, 1)?;
            return Ok(Dynamic::Octets(copies::to_vec(d.octets(n)?)));
        }
        d.nested(|d| Ok(self.read_elements(element, n, d)))?.map(Dynamic::Sequence)
    }

    fn read_array(
        &mut self,
        element: TypeRef<'_>,
        length: u32,
        d: &mut Decoder<'_>,
    ) -> Result<Dynamic, DynamicError> {
        let n = length as usize;
        let needed = n.saturating_mul(element.min_size());
        let left = d.remaining_in_all();
        if needed > left {
            return Err(d.error(ErrorKind::Truncated { needed, left }).into());
        }
        if element.resolved().kind() == TcKind::Octet {
            d.charge(n, 1)?;
            return Ok(Dynamic::Octets(copies::to_vec(d.octets(n)?)));
        }
        self.read_elements(element, n, d).map(Dynamic::Array)
    }

    fn read_elements(
        &mut self,
        element: TypeRef<'_>,
        n: usize,
        d: &mut Decoder<'_>,
    ) -> Result<Vec<Dynamic>, DynamicError> {
        d.charge(n, size_of::<Dynamic>())?;
        let mut elements = Vec::with_capacity(n.min(RESERVED_AT_ONCE));
        let mut block = match number_size(element) {
            Some(size) => d.block_of(size, n)?,
            None => None,
        };
        let d = block.as_mut().unwrap_or(d);
        for at in 0..n {
            let value = self.read(element, d);
            elements.push(value.map_err(|error| error.in_element(at))?);
        }
        Ok(elements)
    }

    fn read_members(
        &mut self,
        ty: TypeRef<'_>,
        d: &mut Decoder<'_>,
    ) -> Result<Dynamic, DynamicError> {
        if matches!(ty.shape(), Shape::Except) {
            skip_exception_id(ty.id(), d)?;
        }
        self.read_fields(ty.members(), d).map(Dynamic::Struct)
    }

    pub(super) fn read_fields<'t>(
        &mut self,
        members: impl ExactSizeIterator<Item = MemberRef<'t>>,
        d: &mut Decoder<'_>,
    ) -> Result<Vec<Field>, DynamicError> {
        d.charge(members.len(), size_of::<Field>())?;
        let mut fields = Vec::with_capacity(members.len());
        for member in members {
            let value = self.read(member.ty, d);
            fields.push(Field {
                value: value.map_err(|error| error.in_member(member.name))?,
                name: member.name.clone(),
            });
        }
        Ok(fields)
    }

    fn read_union(
        &mut self,
        ty: TypeRef<'_>,
        discriminator: TypeRef<'_>,
        d: &mut Decoder<'_>,
    ) -> Result<Dynamic, DynamicError> {
        let discriminator = discriminator.resolved();
        let label = read_label(discriminator, d)?;
        let member = match ty.select(label) {
            None => None,
            Some(member) => Some(Field {
                value: self.read(member.ty, d).map_err(|error| error.in_member(member.name))?,
                name: member.name.clone(),
            }),
        };
        d.charge(1, size_of::<Selected>())?;
        Ok(Dynamic::Union(Box::new(Selected {
            discriminator: discriminant(discriminator, label).expect("just read"),
            member,
            named: ty.is_named(label),
        })))
    }
}

fn read_simple(kind: TcKind, d: &mut Decoder<'_>) -> Result<Dynamic> {
    Ok(match kind {
        TcKind::Null | TcKind::Void => Dynamic::Null,
        TcKind::Short => Dynamic::Short(d.short()?),
        TcKind::Long => Dynamic::Long(d.long()?),
        TcKind::Ushort => Dynamic::Ushort(d.ushort()?),
        TcKind::Ulong => Dynamic::Ulong(d.ulong()?),
        TcKind::Float => Dynamic::Float(d.float()?),
        TcKind::Double => Dynamic::Double(d.double()?),
        TcKind::Boolean => Dynamic::Boolean(d.boolean()?),
        TcKind::Char => Dynamic::Char(d.char()?),
        TcKind::Octet => Dynamic::Octet(d.octet()?),
        TcKind::TypeCode => Dynamic::TypeCode(TypeCode::decode(d)?),
        TcKind::Principal => Dynamic::Principal(d.sequence(None)?),
        TcKind::Longlong => Dynamic::Longlong(d.longlong()?),
        TcKind::Ulonglong => Dynamic::Ulonglong(d.ulonglong()?),
        TcKind::Longdouble => Dynamic::Longdouble(d.long_double()?),
        TcKind::Wchar => Dynamic::Wchar(d.wchar()?),
        _ => return Err(d.error(ErrorKind::BadTypeCode)),
    })
}

/// Returns the enumerator with this index.
pub(super) fn enumerator(ty: TypeRef<'_>, ordinal: u32) -> Option<Dynamic> {
    let name = ty.enumerators().get(ordinal as usize)?.clone();
    Some(Dynamic::Enum { name, ordinal })
}

/// Returns the discriminant with this value, of a type that is not an alias, if the type has such a
/// value.
pub(super) fn discriminant(ty: TypeRef<'_>, label: i128) -> Option<Dynamic> {
    let character = || u32::try_from(label).ok().and_then(char::from_u32);
    Some(match ty.kind() {
        TcKind::Short => Dynamic::Short(label.try_into().ok()?),
        TcKind::Long => Dynamic::Long(label.try_into().ok()?),
        TcKind::Ushort => Dynamic::Ushort(label.try_into().ok()?),
        TcKind::Ulong => Dynamic::Ulong(label.try_into().ok()?),
        TcKind::Longlong => Dynamic::Longlong(label.try_into().ok()?),
        TcKind::Ulonglong => Dynamic::Ulonglong(label.try_into().ok()?),
        TcKind::Boolean => Dynamic::Boolean(match label {
            0 => false,
            1 => true,
            _ => return None,
        }),
        TcKind::Octet => Dynamic::Octet(label.try_into().ok()?),
        TcKind::Char => Dynamic::Char(character()?),
        TcKind::Wchar => Dynamic::Wchar(character()?),
        TcKind::Enum => enumerator(ty, label.try_into().ok()?)?,
        _ => return None,
    })
}
