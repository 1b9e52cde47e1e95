//! Values that are read in place, from the octets of an any that was received.

use std::borrow::Cow;

use oxorb_cdr::{Decode as _, Decoder, Dynamic, MemberRef, Shape, TcKind, TypeCode, TypeRef};

use crate::etcl::Mismatch;
use crate::etcl::scratch::Scratch;
use crate::etcl::tree::Tree;
use crate::etcl::value::Value;

/// A type, and a decoder positioned at a value of this type.
#[derive(Clone)]
pub(crate) struct Octets<'e> {
    pub(crate) ty: TypeRef<'e>,
    pub(crate) d: Decoder<'e>,
}

/// A value whose anys and typedefs have been resolved.
pub(crate) enum Opened<'e> {
    Octets(Octets<'e>),
    /// A valuetype or exception, which was decoded completely.
    Tree(Tree<'e>),
}

impl<'e> Octets<'e> {
    /// Resolves anys and typedefs.
    pub(crate) fn open(mut self, scratch: &'e Scratch) -> Result<Opened<'e>, Mismatch> {
        loop {
            self.ty = self.ty.resolved();
            match self.ty.kind() {
                TcKind::Any => {
                    let start = self.d.position();
                    let ty = TypeCode::decode(&mut self.d)?;
                    scratch.spend(1 + self.d.position() - start)?;
                    self.ty = match simple_type(&ty) {
                        Some(ty) => ty.as_ref(),
                        None => scratch.keep_type(ty)?.as_ref(),
                    };
                }
                TcKind::Value | TcKind::ValueBox | TcKind::Event | TcKind::Except => {
                    let tree = Dynamic::decode(&self.ty.to_type_code(), &mut self.d);
                    let tree =
                        tree.map_err(|error| Mismatch::Malformed(error.to_cdr(self.d.position())))?;
                    let value = scratch.keep(tree)?;
                    return Ok(Opened::Tree(Tree { ty: self.ty, value }));
                }
                _ => return Ok(Opened::Octets(self)),
            }
        }
    }

    pub(crate) fn simple(mut self) -> Result<Value<'e>, Mismatch> {
        let d = &mut self.d;
        Ok(match self.ty.shape() {
            Shape::Simple(kind) => match kind {
                TcKind::Short => Value::Integer(d.short()?.into()),
                TcKind::Long => Value::Integer(d.long()?.into()),
                TcKind::Longlong => Value::Integer(d.longlong()?.into()),
                TcKind::Ushort => Value::Integer(d.ushort()?.into()),
                TcKind::Ulong => Value::Integer(d.ulong()?.into()),
                TcKind::Ulonglong => Value::Integer(d.ulonglong()?.into()),
                TcKind::Octet => Value::Integer(d.octet()?.into()),
                TcKind::Float => Value::Double(d.float()?.into()),
                TcKind::Double => Value::Double(d.double()?),
                TcKind::Longdouble => Value::Double(d.long_double()?.to_f64()),
                TcKind::Boolean => Value::Boolean(d.boolean()?),
                TcKind::Char => Value::Char(d.char()?),
                TcKind::Wchar => Value::Char(d.wchar()?),
                _ => return Err(Mismatch::NotSimple),
            },
            Shape::String { .. } => Value::Text(d.string()?),
            Shape::Wstring { .. } => Value::Text(Cow::Owned(d.wstring()?)),
            Shape::Fixed { digits, scale } => {
                let scale = u8::try_from(scale).map_err(|_| Mismatch::NotSimple)?;
                Value::Double(d.decimal(digits, scale)?.to_f64())
            }
            Shape::Enum => {
                let ordinal = d.ulong()?;
                let name = self.ty.enumerators().get(ordinal as usize);
                Value::Enumerator(ordinal, name.ok_or(Mismatch::Missing)?)
            }
            _ => return Err(Mismatch::NotSimple),
        })
    }

    pub(crate) fn member(self, name: &str, scratch: &Scratch) -> Result<Self, Mismatch> {
        if let Shape::Union { .. } = self.ty.shape() {
            let (_, member) = self.selected(scratch)?;
            let (found, value) = member.ok_or(Mismatch::Missing)?;
            return match **found.name == *name {
                true => Ok(value),
                false => Err(Mismatch::Missing),
            };
        }
        let at = self.ty.members().position(|member| **member.name == *name);
        scratch.spend(self.ty.members().len())?;
        self.position(at.ok_or(Mismatch::Missing)?, scratch)
    }

    /// Returns a member of a struct by its position.
    pub(crate) fn position(mut self, at: usize, scratch: &Scratch) -> Result<Self, Mismatch> {
        if !matches!(self.ty.shape(), Shape::Struct) {
            return Err(Mismatch::Missing);
        }
        let wanted = self.ty.member(at).ok_or(Mismatch::Missing)?;
        for member in self.ty.members().take(at) {
            self.skip(member.ty, scratch)?;
        }
        self.ty = wanted.ty;
        Ok(self)
    }

    /// Returns the number of elements of a sequence or array, and the position and type of its first element.
    pub(crate) fn elements(mut self) -> Result<(usize, Self), Mismatch> {
        let (n, element) = match self.ty.shape() {
            Shape::Sequence { element, bound } => {
                (self.d.length(bound, element.min_size())?, element)
            }
            Shape::Array { element, length } => (length as usize, element),
            _ => return Err(Mismatch::NoSequence),
        };
        self.ty = element;
        Ok((n, self))
    }

    pub(crate) fn element(self, at: usize, scratch: &Scratch) -> Result<Self, Mismatch> {
        let (n, mut elements) = self.elements()?;
        if at >= n {
            return Err(Mismatch::Missing);
        }
        for _ in 0..at {
            elements.skip(elements.ty, scratch)?;
        }
        Ok(elements)
    }

    /// Skips a value of a type at the current position.
    pub(crate) fn skip(&mut self, ty: TypeRef<'_>, scratch: &Scratch) -> Result<(), Mismatch> {
        let start = self.d.position();
        ty.skip(&mut self.d)?;
        scratch.spend(1 + self.d.position() - start)
    }

    /// Returns the discriminant of a union, and the member that the discriminant selects.
    #[allow(clippy::type_complexity, reason = "a pair of what belongs together, used twice")]
    pub(crate) fn selected(
        mut self,
        scratch: &Scratch,
    ) -> Result<(Value<'e>, Option<(MemberRef<'e>, Self)>), Mismatch> {
        let Shape::Union { discriminator, .. } = self.ty.shape() else {
            return Err(Mismatch::NoUnion);
        };
        let discriminator = discriminator.resolved();
        let found = Self { ty: discriminator, d: self.d.clone() }.simple()?;
        self.skip(discriminator, scratch)?;
        let label = found.label().ok_or(Mismatch::NoUnion)?;
        let member = self.ty.select(label).map(|member| {
            self.ty = member.ty;
            (member, self)
        });
        Ok((found, member))
    }
}

/// Returns the static type code for a kind without parameters, so that no type code must be stored.
fn simple_type(ty: &TypeCode) -> Option<&'static TypeCode> {
    static SIMPLE: [TypeCode; 20] = [
        TypeCode::SHORT,
        TypeCode::LONG,
        TypeCode::USHORT,
        TypeCode::ULONG,
        TypeCode::FLOAT,
        TypeCode::DOUBLE,
        TypeCode::BOOLEAN,
        TypeCode::CHAR,
        TypeCode::OCTET,
        TypeCode::ANY,
        TypeCode::LONGLONG,
        TypeCode::ULONGLONG,
        TypeCode::LONGDOUBLE,
        TypeCode::WCHAR,
        TypeCode::NULL,
        TypeCode::VOID,
        TypeCode::TYPE_CODE,
        TypeCode::PRINCIPAL,
        TypeCode::STRING,
        TypeCode::WSTRING,
    ];
    let has_no_parameters = ty.as_ref().number().is_none();
    SIMPLE.iter().find(|known| has_no_parameters && known.kind() == ty.kind())
}
