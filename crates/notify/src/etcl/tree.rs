//! Values represented as trees: those that were inserted as trees, and those that cannot be read in place.

use std::borrow::Cow;

use oxorb_cdr::{Dynamic, Label, Shape, TcKind, TypeRef};

use crate::etcl::Mismatch;
use crate::etcl::path::UnionLabel;
use crate::etcl::value::Value;

/// A part of a tree, with its type.
#[derive(Clone, Copy)]
pub(crate) struct Tree<'e> {
    pub(crate) ty: TypeRef<'e>,
    pub(crate) value: &'e Dynamic,
}

impl<'e> Tree<'e> {
    pub(crate) fn simple(self) -> Result<Value<'e>, Mismatch> {
        Ok(match self.value {
            Dynamic::Short(value) => Value::Integer((*value).into()),
            Dynamic::Long(value) => Value::Integer((*value).into()),
            Dynamic::Longlong(value) => Value::Integer((*value).into()),
            Dynamic::Ushort(value) => Value::Integer((*value).into()),
            Dynamic::Ulong(value) => Value::Integer((*value).into()),
            Dynamic::Ulonglong(value) => Value::Integer((*value).into()),
            Dynamic::Octet(value) => Value::Integer((*value).into()),
            Dynamic::Float(value) => Value::Double((*value).into()),
            Dynamic::Double(value) => Value::Double(*value),
            Dynamic::Longdouble(value) => Value::Double(value.to_f64()),
            Dynamic::Fixed(value) => Value::Double(value.to_f64()),
            Dynamic::Boolean(value) => Value::Boolean(*value),
            Dynamic::Char(value) | Dynamic::Wchar(value) => Value::Char(*value),
            Dynamic::String(value) | Dynamic::Wstring(value) => Value::Text(Cow::Borrowed(value)),
            Dynamic::Enum { name, ordinal } => Value::Enumerator(*ordinal, name),
            _ => return Err(Mismatch::NotSimple),
        })
    }

    pub(crate) fn member(self, name: &str) -> Result<Self, Mismatch> {
        if let Dynamic::Union(selected) = self.value {
            let field = selected.member.as_ref().ok_or(Mismatch::Missing)?;
            return match *field.name == *name {
                true => self.selected(),
                false => Err(Mismatch::Missing),
            };
        }
        let at = self.value.fields().iter().position(|field| *field.name == *name);
        self.position(at.ok_or(Mismatch::Missing)?)
    }

    pub(crate) fn position(self, at: usize) -> Result<Self, Mismatch> {
        let field = match self.value {
            Dynamic::Struct(fields) => fields.get(at),
            Dynamic::Value(value) => value.fields.get(at),
            _ => None,
        };
        let ty = match (self.value, self.ty.shape()) {
            (Dynamic::Value(value), _) => state_member(value.ty.as_ref(), at),
            _ => self.ty.member(at).map(|member| member.ty),
        };
        self.part(field.map(|field| &field.value), ty)
    }

    pub(crate) fn element(self, at: usize) -> Result<Self, Mismatch> {
        match self.value {
            Dynamic::Sequence(elements) | Dynamic::Array(elements) => {
                self.part(elements.get(at), self.ty.content())
            }
            _ => Err(Mismatch::NoSequence),
        }
    }

    /// Returns the number of elements of a sequence or array.
    pub(crate) fn length(self) -> Result<usize, Mismatch> {
        match self.value {
            Dynamic::Sequence(elements) | Dynamic::Array(elements) => Ok(elements.len()),
            Dynamic::Octets(octets) => Ok(octets.len()),
            _ => Err(Mismatch::NoSequence),
        }
    }

    pub(crate) fn discriminator(self) -> Result<Value<'e>, Mismatch> {
        match (self.value, self.ty.shape()) {
            (Dynamic::Union(selected), Shape::Union { discriminator, .. }) => {
                Self { ty: discriminator.resolved(), value: &selected.discriminator }.simple()
            }
            _ => Err(Mismatch::NoUnion),
        }
    }

    /// Returns the member that the discriminant of a union selects.
    pub(crate) fn selected(self) -> Result<Self, Mismatch> {
        let label = self.discriminator()?.label().ok_or(Mismatch::NoUnion)?;
        let Dynamic::Union(selected) = self.value else {
            return Err(Mismatch::NoUnion);
        };
        let ty = self.ty.select(label).map(|member| member.ty);
        self.part(selected.member.as_ref().map(|field| &field.value), ty)
    }

    fn part(self, value: Option<&'e Dynamic>, ty: Option<TypeRef<'e>>) -> Result<Self, Mismatch> {
        let (value, ty) = value.zip(ty).ok_or(Mismatch::Missing)?;
        Ok(Self { ty, value })
    }
}

/// Returns the type of a state member of a valuetype. The members of its bases come first.
fn state_member(ty: TypeRef<'_>, at: usize) -> Option<TypeRef<'_>> {
    match ty.shape() {
        Shape::ValueBox(content) => Some(content),
        _ => ty.state_members().get(at).map(|member| member.ty),
    }
}

/// Reports whether a label of a constraint selects the member that a discriminant selects.
pub(crate) fn is_under(ty: TypeRef<'_>, discriminator: &Value<'_>, label: &UnionLabel) -> bool {
    match label {
        UnionLabel::Default => selects_default(ty, discriminator),
        UnionLabel::Number(number) => discriminator.label() == Some(*number),
        UnionLabel::Text(text) => match discriminator {
            Value::Boolean(value) if ["TRUE", "FALSE"].contains(&&**text) => {
                *value == (**text == *"TRUE")
            }
            _ if is_label(ty, text) => {
                discriminator.with_text(|name| *name == **text).unwrap_or(false)
            }
            // The text is not a label. Other services document that it may also be the name of a member.
            _ => {
                let member = discriminator.label().and_then(|label| ty.select(label));
                member.is_some_and(|member| **member.name == **text)
            }
        },
    }
}

/// Reports whether the text denotes a possible value of a union's discriminant.
fn is_label(ty: TypeRef<'_>, text: &str) -> bool {
    let Shape::Union { discriminator, .. } = ty.shape() else {
        return false;
    };
    let discriminator = discriminator.resolved();
    match discriminator.kind() {
        TcKind::Char | TcKind::Wchar => text.chars().count() == 1,
        _ => discriminator.enumerators().iter().any(|name| **name == *text),
    }
}

/// Reports whether a discriminant selects the default member of its union.
pub(crate) fn selects_default(ty: TypeRef<'_>, discriminator: &Value<'_>) -> bool {
    let member = discriminator.label().and_then(|label| ty.select(label));
    member.is_some_and(|member| member.label == Some(Label::Default))
}
