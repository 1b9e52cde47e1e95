use super::read::{discriminant, enumerator};
use super::{Dynamic, DynamicError, DynamicErrorKind, Field, RawReference, Selected};
use crate::prelude::*;
use crate::{Any, Decimal, Error, ErrorKind, LongDouble, Result, Shape, TcKind, TypeCode, TypeRef};

impl Dynamic {
    /// Returns the initial value of a `DynAny` of a type: zeros, empty strings and sequences, nil
    /// and null, the first enumerator, the first member of a union.
    ///
    /// Fails for types without values, and for arrays and structs of more than a million parts.
    pub fn default_for(ty: &TypeCode) -> Result<Self, DynamicError> {
        if !ty.is_complete() {
            return Err(NOT_A_TYPE.into());
        }
        Defaults { left: 1 << 20, levels: 250 }.of(ty.as_ref())
    }
}

const NOT_A_TYPE: Error = ErrorKind::BadTypeCode.at(0);

struct Defaults {
    /// Number of further parts allowed.
    left: usize,
    levels: u16,
}

impl Defaults {
    fn of(&mut self, ty: TypeRef<'_>) -> Result<Dynamic, DynamicError> {
        let (Some(left), Some(levels)) = (self.left.checked_sub(1), self.levels.checked_sub(1))
        else {
            return Err(DynamicErrorKind::TooLarge.into());
        };
        (self.left, self.levels) = (left, levels);
        let value = match ty.shape() {
            Shape::Simple(kind) => of_kind(kind),
            Shape::String { .. } => Dynamic::String(String::new()),
            Shape::Wstring { .. } => Dynamic::Wstring(String::new()),
            Shape::Fixed { scale, .. } => {
                let zero = u8::try_from(scale).ok().and_then(|scale| Decimal::new(0, scale));
                Dynamic::Fixed(zero.ok_or(NOT_A_TYPE)?)
            }
            Shape::Sequence { element, .. } => match element.resolved().kind() {
                TcKind::Octet => Dynamic::Octets(Vec::new()),
                _ => Dynamic::Sequence(Vec::new()),
            },
            Shape::Array { element, length } => {
                let length = length as usize;
                if length > self.left {
                    return Err(DynamicErrorKind::TooLarge.into());
                }
                if element.resolved().kind() == TcKind::Octet {
                    self.left -= length;
                    Dynamic::Octets(vec![0; length])
                } else {
                    let elements = (0..length).map(|_| self.of(element));
                    Dynamic::Array(elements.collect::<Result<_, _>>()?)
                }
            }
            Shape::Alias(content) => self.of(content)?,
            Shape::Struct | Shape::Except => {
                let fields = ty.members().map(|member| {
                    Ok(Field {
                        name: member.name.clone(),
                        value: self
                            .of(member.ty)
                            .map_err(|error: DynamicError| error.in_member(member.name))?,
                    })
                });
                Dynamic::Struct(fields.collect::<Result<_, DynamicError>>()?)
            }
            Shape::Union { discriminator, .. } => {
                let discriminator = discriminator.resolved();
                let label = ty.label_of_member(0).ok_or(NOT_A_TYPE)?;
                let member = match ty.select(label) {
                    None => None,
                    Some(member) => Some(Field {
                        name: member.name.clone(),
                        value: self.of(member.ty).map_err(|error| error.in_member(member.name))?,
                    }),
                };
                Dynamic::Union(Box::new(Selected {
                    discriminator: discriminant(discriminator, label).ok_or(NOT_A_TYPE)?,
                    member,
                    named: ty.is_named(label),
                }))
            }
            Shape::Enum => enumerator(ty, 0).ok_or(NOT_A_TYPE)?,
            Shape::Named(TcKind::Native | TcKind::LocalInterface) => {
                return Err(ErrorKind::NotMarshallable.at(0).into());
            }
            Shape::Named(_) => Dynamic::Reference(RawReference::default()),
            Shape::ValueBox(_) | Shape::Value { .. } => Dynamic::Null,
            Shape::Open => return Err(NOT_A_TYPE.into()),
        };
        self.levels += 1;
        Ok(value)
    }
}

impl TypeRef<'_> {
    /// Returns the smallest nonnegative discriminant that is not a label of a union; `None` if
    /// there is none, or the type is not a union.
    pub fn unused_label(self) -> Option<i128> {
        let unused = self.union()?.unused;
        let Shape::Union { discriminator, .. } = self.shape() else {
            return None;
        };
        discriminant(discriminator.resolved(), unused).map(|_| unused)
    }

    /// Reports whether the member name determines a discriminant: whether it is the first label of
    /// a named member, or, for the default case, the smallest number that is not a label.
    pub fn is_named(self, label: i128) -> bool {
        let Some(union) = self.union() else {
            return false;
        };
        let found = union.by_label.binary_search_by_key(&label, |&(label, _)| label);
        let at = match (found, union.default) {
            (Ok(found), _) => union.by_label[found].1,
            (Err(_), Some(default)) if label == union.unused => default,
            (Err(_), _) => return false,
        } as usize;
        let name = &union.cases[at].name;
        // A member with several labels has one case for each, and these cases are consecutive, so
        // the first one follows a case with another name.
        !name.is_empty() && (at == 0 || union.cases[at - 1].name != *name)
    }
}

fn of_kind(kind: TcKind) -> Dynamic {
    match kind {
        TcKind::Short => Dynamic::Short(0),
        TcKind::Long => Dynamic::Long(0),
        TcKind::Ushort => Dynamic::Ushort(0),
        TcKind::Ulong => Dynamic::Ulong(0),
        TcKind::Float => Dynamic::Float(0.0),
        TcKind::Double => Dynamic::Double(0.0),
        TcKind::Boolean => Dynamic::Boolean(false),
        TcKind::Char => Dynamic::Char('\0'),
        TcKind::Octet => Dynamic::Octet(0),
        TcKind::Any => Dynamic::Any(Any::default()),
        TcKind::TypeCode => Dynamic::TypeCode(TypeCode::NULL),
        TcKind::Principal => Dynamic::Principal(Vec::new()),
        TcKind::Longlong => Dynamic::Longlong(0),
        TcKind::Ulonglong => Dynamic::Ulonglong(0),
        TcKind::Longdouble => Dynamic::Longdouble(LongDouble::default()),
        TcKind::Wchar => Dynamic::Wchar('\0'),
        _ => Dynamic::Null,
    }
}
