use super::{Dynamic, DynamicError, DynamicErrorKind, Field, RawReference, value};
use crate::prelude::*;
use crate::{
    ByteOrder, CharSet, Dialect, Encoder, ErrorKind, MemberRef, Result, Shape, TcKind, TypeCode,
    TypeRef, WcharSet,
};

impl Dynamic {
    /// Writes the value as one of a type. If it does not match the type, the error names the part
    /// that does not.
    ///
    /// The members of a struct may be in any order if all have names; names that a compact type
    /// code lacks are ignored. Nothing is gathered.
    pub fn encode(&self, ty: &TypeCode, e: &mut Encoder<'_>) -> Result<(), DynamicError> {
        self.encode_as(ty.as_ref(), e)
    }

    /// Writes a value of a part of a type, as [`encode`](Self::encode).
    pub fn encode_as(&self, ty: TypeRef<'_>, e: &mut Encoder<'_>) -> Result<(), DynamicError> {
        if !ty.is_complete() {
            return Err(e.error(ErrorKind::BadTypeCode).into());
        }
        self.write(ty, e)
    }

    /// Checks that this is a value of a type. Costs as much as writing it.
    pub fn check(&self, ty: &TypeCode) -> Result<(), DynamicError> {
        let everything = Dialect { giop_minor: 2, chars: CharSet::Utf8, wchars: WcharSet::Utf16 };
        let scratch = |dialect| Encoder::new(Vec::new(), ByteOrder::NATIVE, dialect);
        match self.encode(ty, &mut scratch(everything)) {
            // A `char` such as `é` is one octet in ISO 8859-1 but not in UTF-8, so the other code
            // set may succeed.
            Err(error) if error.is_about_code_sets() => {
                self.encode(ty, &mut scratch(Dialect::GIOP_1_2))
            }
            result => result,
        }
    }

    fn write(&self, ty: TypeRef<'_>, e: &mut Encoder<'_>) -> Result<(), DynamicError> {
        match (ty.shape(), self) {
            (Shape::Alias(content), _) => self.write(content, e)?,
            (Shape::Simple(kind), _) => self.write_simple(kind, ty, e)?,
            (Shape::String { bound }, Self::String(v)) => match bound {
                None => e.string(v)?,
                Some(bound) => e.bounded_string(v, bound)?,
            },
            (Shape::Wstring { bound }, Self::Wstring(v)) => match bound {
                None => e.wstring(v)?,
                Some(bound) => e.bounded_wstring(v, bound)?,
            },
            (Shape::Fixed { digits, scale }, Self::Fixed(v)) => {
                let scale = u8::try_from(scale).unwrap_or(u8::MAX); // refused below
                e.decimal(*v, digits, scale)?;
            }
            (Shape::Sequence { element, bound }, Self::Octets(v))
                if element.resolved().kind() == TcKind::Octet =>
            {
                e.length(v.len(), bound)?;
                e.copy_octets(v);
            }
            (Shape::Sequence { element, bound }, Self::Sequence(v)) => {
                e.length(v.len(), bound)?;
                write_elements(v, element, e)?;
            }
            (Shape::Array { element, length }, Self::Octets(v))
                if element.resolved().kind() == TcKind::Octet =>
            {
                check_length(v.len(), length)?;
                e.copy_octets(v);
            }
            (Shape::Array { element, length }, Self::Array(v)) => {
                check_length(v.len(), length)?;
                write_elements(v, element, e)?;
            }
            (Shape::Struct, Self::Struct(fields)) => write_members(fields, ty.members(), e)?,
            (Shape::Except, Self::Struct(fields)) => {
                let id = ty.id().unwrap_or_default();
                e.ulong(id.len() as u32 + 1);
                e.copy_octets(id.as_bytes());
                e.octet(0);
                write_members(fields, ty.members(), e)?;
            }
            (Shape::Union { discriminator, .. }, Self::Union(selected)) => {
                let chosen = &selected.discriminator;
                chosen.write(discriminator, e)?;
                let member = chosen.label().and_then(|label| ty.select(label));
                match (member, &selected.member) {
                    (None, None) => {}
                    (Some(member), Some(field)) if same_name(member.name, &field.name) => field
                        .value
                        .write(member.ty, e)
                        .map_err(|error| error.in_member(member.name))?,
                    (expected, found) => {
                        let expected = expected.map(|member| member.name.to_string());
                        let found = found.as_ref().map(|field| field.name.to_string());
                        return Err(DynamicErrorKind::WrongMember { expected, found }.into());
                    }
                }
            }
            (Shape::Enum, Self::Enum { name, ordinal }) => {
                match ty.enumerators().get(*ordinal as usize) {
                    Some(known) if same_name(known, name) => e.ulong(*ordinal),
                    Some(_) => return Err(DynamicErrorKind::UnknownMember(name.to_string()).into()),
                    None => return Err(e.error(ErrorKind::BadEnumerator(*ordinal)).into()),
                }
            }
            (Shape::Named(TcKind::Native | TcKind::LocalInterface), _) => {
                return Err(e.error(ErrorKind::NotMarshallable).into());
            }
            (Shape::Named(TcKind::AbstractInterface), Self::Reference(reference)) => {
                e.boolean(true);
                reference.write(e)?;
            }
            (Shape::Named(TcKind::AbstractInterface), _) => {
                e.boolean(false);
                value::write(self, ty, e)?;
            }
            (Shape::Named(_), Self::Reference(reference)) => reference.write(e)?,
            (Shape::Named(_), Self::Null) => RawReference::default().write(e)?,
            (Shape::ValueBox(_) | Shape::Value { .. }, _) => value::write(self, ty, e)?,
            _ => return Err(DynamicError::expected(ty, self.what())),
        }
        Ok(())
    }

    fn write_simple(
        &self,
        kind: TcKind,
        ty: TypeRef<'_>,
        e: &mut Encoder<'_>,
    ) -> Result<(), DynamicError> {
        match (kind, self) {
            (TcKind::Null | TcKind::Void, Self::Null) => {}
            (TcKind::Short, Self::Short(v)) => e.short(*v),
            (TcKind::Long, Self::Long(v)) => e.long(*v),
            (TcKind::Ushort, Self::Ushort(v)) => e.ushort(*v),
            (TcKind::Ulong, Self::Ulong(v)) => e.ulong(*v),
            (TcKind::Float, Self::Float(v)) => e.float(*v),
            (TcKind::Double, Self::Double(v)) => e.double(*v),
            (TcKind::Boolean, Self::Boolean(v)) => e.boolean(*v),
            (TcKind::Char, Self::Char(v)) => e.char(*v)?,
            (TcKind::Octet, Self::Octet(v)) => e.octet(*v),
            (TcKind::Any, Self::Any(v)) => v.write(e)?,
            (TcKind::TypeCode, Self::TypeCode(v)) => v.as_ref().encode(e)?,
            (TcKind::Principal, Self::Principal(v)) => {
                e.length(v.len(), None)?;
                e.copy_octets(v);
            }
            (TcKind::Longlong, Self::Longlong(v)) => e.longlong(*v),
            (TcKind::Ulonglong, Self::Ulonglong(v)) => e.ulonglong(*v),
            (TcKind::Longdouble, Self::Longdouble(v)) => e.long_double(*v),
            (TcKind::Wchar, Self::Wchar(v)) => e.wchar(*v)?,
            _ => return Err(DynamicError::expected(ty, self.what())),
        }
        Ok(())
    }
}

impl DynamicError {
    fn is_about_code_sets(&self) -> bool {
        matches!(self.reason, DynamicErrorKind::Cdr(error) if matches!(error.kind, ErrorKind::NotInCodeSet(_)))
    }
}

fn write_elements(
    elements: &[Dynamic],
    ty: TypeRef<'_>,
    e: &mut Encoder<'_>,
) -> Result<(), DynamicError> {
    for (at, element) in elements.iter().enumerate() {
        element.write(ty, e).map_err(|error| error.in_element(at))?;
    }
    Ok(())
}

pub(super) fn write_members<'t>(
    fields: &[Field],
    members: impl ExactSizeIterator<Item = MemberRef<'t>> + Clone,
    e: &mut Encoder<'_>,
) -> Result<(), DynamicError> {
    for (at, member) in members.clone().enumerate() {
        let in_place = fields.get(at).filter(|field| same_name(member.name, &field.name));
        let field = in_place.or_else(|| fields.iter().find(|field| field.name == *member.name));
        let Some(field) = field else {
            return Err(DynamicErrorKind::MissingMember(member.name.to_string()).into());
        };
        field.value.write(member.ty, e).map_err(|error| error.in_member(member.name))?;
    }
    if fields.len() > members.len() {
        let unknown =
            fields.iter().find(|field| members.clone().all(|member| *member.name != field.name));
        let name = unknown.unwrap_or(&fields[members.len()]).name.to_string();
        return Err(DynamicErrorKind::UnknownMember(name).into());
    }
    Ok(())
}

/// Reports whether two names are equal or one of them is missing, as in a compact type code.
fn same_name(left: &str, right: &str) -> bool {
    left == right || left.is_empty() || right.is_empty()
}

fn check_length(length: usize, expected: u32) -> Result<(), DynamicErrorKind> {
    let expected = expected as usize;
    if length == expected {
        Ok(())
    } else {
        Err(DynamicErrorKind::WrongLength { length, expected })
    }
}
