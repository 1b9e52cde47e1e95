use crate::prelude::*;
use core::mem;

use super::read::discriminant;
use super::value::BOXED;
use super::{Dynamic, DynamicError, DynamicErrorKind, Field, Selected};
use crate::{Label, MemberRef, Shape, TypeCode, TypeRef, ValueKey};

/// Navigation within a value, and changes to it. Only errors and inserted values allocate, with few
/// exceptions.
impl Dynamic {
    /// Returns the part at a path of member names and indices, such as `lines[2].end.x`; the whole
    /// value for an empty path.
    ///
    /// The selected member of a union is found by its name. Octets in an [`Octets`](Self::Octets)
    /// are not parts. The path may pass through [indirections](Self::Indirection), even around a
    /// cycle; each is looked up in the whole of `self`.
    pub fn at(&self, path: &str) -> Option<&Self> {
        steps(path).try_fold(self, |at, step| {
            let at = match at {
                Self::Indirection(key) => self.value_of(key)?,
                other => other,
            };
            match step? {
                Step::Member(name) => at.member(name),
                Step::Element(index) => at.element(index),
            }
        })
    }

    /// Returns the [`Value`](Self::Value) with a key, within this value.
    pub fn value_of(&self, key: &ValueKey) -> Option<&Self> {
        match self {
            Self::Value(value) if value.key == *key => Some(self),
            whole => {
                (0..whole.component_count()).find_map(|index| whole.element(index)?.value_of(key))
            }
        }
    }

    /// Returns the part at a path for modification, as [`at`](Self::at), except that the target of
    /// an indirection is found only at its own position.
    pub fn at_mut(&mut self, path: &str) -> Option<&mut Self> {
        steps(path).try_fold(self, |at, step| match step? {
            Step::Member(name) => at.member_mut(name),
            Step::Element(index) => at.element_mut(index),
        })
    }

    /// Returns a member of a struct, exception or value, or the selected one of a union, by its
    /// name.
    pub fn member(&self, name: &str) -> Option<&Self> {
        let mut fields = self.fields().iter();
        Some(&fields.find(|field| *field.name == *name)?.value)
    }

    /// Returns a member for modification, as [`member`](Self::member).
    pub fn member_mut(&mut self, name: &str) -> Option<&mut Self> {
        let mut fields = self.fields_mut().iter_mut();
        Some(&mut fields.find(|field| *field.name == *name)?.value)
    }

    /// Returns an element of a sequence or array, or a member of a struct, exception or value, by
    /// its index. In a union, the discriminant has index 0, and the selected member index 1.
    pub fn element(&self, index: usize) -> Option<&Self> {
        match self {
            Self::Sequence(elements) | Self::Array(elements) => elements.get(index),
            Self::Struct(_) | Self::Value(_) => self.fields().get(index).map(|field| &field.value),
            Self::Union(selected) => match index {
                0 => Some(&selected.discriminator),
                1 => selected.member.as_ref().map(|field| &field.value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns an element for modification, as [`element`](Self::element). To change a
    /// discriminant, use [`select`](Self::select).
    pub fn element_mut(&mut self, index: usize) -> Option<&mut Self> {
        match self {
            Self::Sequence(elements) | Self::Array(elements) => elements.get_mut(index),
            Self::Struct(_) | Self::Value(_) => {
                let field = self.fields_mut().get_mut(index);
                field.map(|field| &mut field.value)
            }
            Self::Union(selected) => match index {
                0 => Some(&mut selected.discriminator),
                1 => selected.member.as_mut().map(|field| &mut field.value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the number of elements that [`element`](Self::element) can return: the
    /// `component_count` of a `DynAny`, except for octets.
    pub fn component_count(&self) -> usize {
        match self {
            Self::Sequence(elements) | Self::Array(elements) => elements.len(),
            Self::Struct(fields) => fields.len(),
            Self::Value(value) => value.fields.len(),
            Self::Union(selected) => 1 + usize::from(selected.member.is_some()),
            _ => 0,
        }
    }

    /// Returns the members of a struct, exception or value, or the selected one of a union.
    pub fn fields(&self) -> &[Field] {
        match self {
            Self::Struct(fields) => fields,
            Self::Value(value) => &value.fields,
            Self::Union(selected) => selected.member.as_slice(),
            _ => &[],
        }
    }

    /// Returns the fields for modification, as [`fields`](Self::fields).
    pub fn fields_mut(&mut self) -> &mut [Field] {
        match self {
            Self::Struct(fields) => fields,
            Self::Value(value) => &mut value.fields,
            Self::Union(selected) => selected.member.as_mut_slice(),
            _ => &mut [],
        }
    }

    /// Replaces a part by a value, if the value is of the part's type; returns the previous value.
    ///
    /// `ty` is the type of `self`, not of the part.
    ///
    /// ```
    /// use oxorb_cdr::{Dynamic, TypeCode};
    ///
    /// let ty = TypeCode::structure("IDL:P:1.0", "P", [("x", TypeCode::LONG)]);
    /// let mut value = Dynamic::default_for(&ty)?;
    /// assert_eq!(value.insert(&ty, "x", Dynamic::Long(5))?, Dynamic::Long(0));
    /// assert!(value.insert(&ty, "x", Dynamic::Short(5)).is_err());
    /// assert!(value.insert(&ty, "y", Dynamic::Long(5)).is_err());
    /// assert_eq!(value.at("x").and_then(|x| i32::try_from(x).ok()), Some(5));
    /// # Ok::<(), oxorb_cdr::DynamicError>(())
    /// ```
    pub fn insert(&mut self, ty: &TypeCode, path: &str, value: Self) -> Result<Self, DynamicError> {
        let unknown = || DynamicError {
            path: path.to_owned(),
            reason: DynamicErrorKind::UnknownMember(path.to_owned()),
        };
        let part = self.type_at(ty, path).ok_or_else(unknown)?;
        self.at_mut(path).ok_or_else(unknown)?;
        let within = |mut error: DynamicError| {
            error.path = match error.path.as_str() {
                "" => path.to_owned(),
                inner => format!("{path}.{inner}"),
            };
            error
        };
        let needs_the_rest = match value.check(&part) {
            Ok(()) => false,
            // The indirection may refer to a value outside this part, so the complete value is
            // checked below.
            Err(error) if error.reason == DynamicErrorKind::NoSuchValue => true,
            Err(error) => return Err(within(error)),
        };
        let place = self.at_mut(path).ok_or_else(unknown)?;
        let before = mem::replace(place, value);
        if needs_the_rest && let Err(error) = self.check(ty) {
            if let Some(place) = self.at_mut(path) {
                *place = before;
            }
            return Err(error);
        }
        Ok(before)
    }

    /// Returns the type of a part of a value of type `ty`. Within a valuetype, its actual type
    /// applies, which may inherit from the declared one.
    fn type_at(&self, ty: &TypeCode, path: &str) -> Option<TypeCode> {
        let mut at = self;
        let mut of = ty.resolved();
        for step in steps(path) {
            let step = step?;
            if let Self::Value(value) = at {
                of = value.ty.resolved();
            }
            of = of.as_ref().part_at(&step)?.resolved().to_type_code();
            at = match step {
                Step::Member(name) => at.member(name)?,
                Step::Element(index) => at.element(index)?,
            };
        }
        Some(of)
    }

    /// Sets the discriminant of a union. If that selects another member, the member gets its
    /// default value.
    pub fn select(&mut self, ty: &TypeCode, label: i128) -> Result<(), DynamicError> {
        let ty = ty.as_ref().resolved();
        let not_of_type = |what| DynamicError::expected(ty, what);
        let Self::Union(selected) = self else {
            return Err(not_of_type(self.what()));
        };
        let discriminator = match ty.shape() {
            Shape::Union { discriminator, .. } => discriminator.resolved(),
            _ => return Err(not_of_type("union")),
        };
        let chosen = discriminant(discriminator, label)
            .ok_or_else(|| DynamicError::expected(discriminator, "another number"))?;
        let before = selected.discriminator.label().and_then(|label| ty.select(label));
        let member = ty.select(label);
        let same = match (&before, &member) {
            (Some(before), Some(member)) => {
                before.name == member.name && before.ty == member.ty && selected.member.is_some()
            }
            _ => false,
        };
        let kept = selected.member.take().filter(|_| same);
        let member = match (kept, member) {
            (Some(kept), _) => Some(kept),
            (None, Some(member)) => Some(default_field(member)?),
            (None, None) => None,
        };
        **selected = Selected { discriminator: chosen, member, named: ty.is_named(label) };
        Ok(())
    }

    /// Selects a member of a union by its name: sets its first label, or for the default case the
    /// smallest number that is not a label.
    pub fn select_member(&mut self, ty: &TypeCode, name: &str) -> Result<(), DynamicError> {
        let union = ty.as_ref().resolved();
        let at = union.members().position(|member| **member.name == *name);
        let label = at.and_then(|at| union.label_of_member(at));
        let label = label.ok_or_else(|| DynamicErrorKind::UnknownMember(name.to_owned()))?;
        self.select(ty, label)
    }
}

impl<'a> TypeRef<'a> {
    /// Returns the type of the part at a path, as in [`Dynamic::at`].
    pub fn at(self, path: &str) -> Option<Self> {
        steps(path).try_fold(self.resolved(), |at, step| Some(at.part_at(&step?)?.resolved()))
    }

    /// Returns the number of the discriminant that the name of a union member stands for: the label of the member at
    /// this index, or for the default case the smallest number that is not a label. `None` if there is no such member,
    /// or no such number.
    pub fn label_of_member(self, at: usize) -> Option<i128> {
        match self.member(at)?.label? {
            Label::Value(label) => Some(label),
            Label::Default => self.unused_label(),
        }
    }

    /// Returns the discriminant of a union with this number; `None` if the type of the discriminant has no such value.
    pub fn discriminant(self, label: i128) -> Option<Dynamic> {
        match self.shape() {
            Shape::Union { discriminator, .. } => discriminant(discriminator.resolved(), label),
            _ => None,
        }
    }

    fn part_at(self, step: &Step<'_>) -> Option<Self> {
        let is_value = matches!(self.shape(), Shape::Value { .. });
        Some(match *step {
            Step::Member(name) if is_value => {
                let mut members = self.state_members().into_iter();
                members.find(|member| **member.name == *name)?.ty
            }
            Step::Member(BOXED) if matches!(self.shape(), Shape::ValueBox(_)) => self.content()?,
            Step::Member(name) => {
                let mut members = self.members();
                members.find(|member| **member.name == *name)?.ty
            }
            Step::Element(index) if is_value => self.state_members().get(index)?.ty,
            Step::Element(index) => match self.content() {
                Some(element) => element,
                None => self.member(index)?.ty,
            },
        })
    }
}

enum Step<'p> {
    Member(&'p str),
    Element(usize),
}

/// Returns the steps of a path; `None` for an invalid step.
fn steps(path: &str) -> impl Iterator<Item = Option<Step<'_>>> {
    let pieces = path.split(['.', '[']);
    pieces.filter(|piece| !piece.is_empty()).map(|piece| match piece.strip_suffix(']') {
        Some(index) => index.parse().ok().map(Step::Element),
        None => Some(Step::Member(piece)),
    })
}

fn default_field(member: MemberRef<'_>) -> Result<Field, DynamicError> {
    let value = Dynamic::default_for(&member.ty.to_type_code());
    Ok(Field {
        value: value.map_err(|error| error.in_member(member.name))?,
        name: member.name.clone(),
    })
}
