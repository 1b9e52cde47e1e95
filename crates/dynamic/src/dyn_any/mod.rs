//! Values built and walked component by component: `DynamicAny::DynAny` (CORBA 3.3 part 1, 9).
//!
//! | CORBA | here |
//! |---|---|
//! | `DynAnyFactory::create_dyn_any` | [`DynAny::from_any`] |
//! | `create_dyn_any_from_type_code` | [`DynAny::from_type_code`] |
//! | `type` | [`DynAny::type_code`] |
//! | `assign`, `from_any` | [`DynAny::assign`], [`DynAny::assign_any`] |
//! | `to_any`, `equal`, `copy` | [`DynAny::to_any`], [`DynAny::equal`], [`DynAny::copy`] |
//! | `destroy` | dropping it |
//! | `insert_long` and so on | [`DynAny::insert`] of an `i32` and so on |
//! | `get_long` and so on | [`DynAny::get`] |
//! | `insert_long_seq`, `get_long_seq` and so on | [`DynAny::insert_seq`], [`DynAny::get_seq`] |
//! | `insert_dyn_any`, `get_dyn_any` | [`DynAny::insert_dyn_any`], [`DynAny::get_dyn_any`] |
//! | `current_component`, `component_count` | [`DynAny::current_component`], [`DynAny::component_count`] |
//! | `seek`, `rewind`, `next` | [`DynAny::seek`] ([`leave`](DynAny::leave) for -1), [`DynAny::rewind`], [`DynAny::next`] |
//! | narrowing to `DynStruct` and so on | [`DynAny::as_struct`] and so on |
//! | `TypeMismatch`, `InvalidValue`, `InconsistentTypeCode` | [`DynAnyError`] |
//!
//! `docs/dynany.md` also lists the operations of each kind.
//!
//! ```
//! use oxorb_dynamic::{DynAny, TypeCode};
//!
//! let point = TypeCode::structure("IDL:P:1.0", "P", [("x", TypeCode::LONG), ("y", TypeCode::LONG)]);
//! let line = TypeCode::sequence(point);
//! let mut line = DynAny::from_type_code(&line)?;
//! line.as_sequence()?.set_length(2)?;
//! line.seek(1);
//! if let Some(mut point) = line.current_component()? {
//!     point.insert(7)?; // into x, where it stands
//!     point.next();
//!     assert_eq!(point.as_struct()?.current_member_name()?, "y");
//!     point.insert(8)?;
//! }
//! let any = line.to_any()?;
//! assert_eq!(any.dynamic()?.at("[1].y").and_then(|y| i32::try_from(y).ok()), Some(8));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrange;
mod basic;
mod equal;
mod error;
mod place;
mod scalar;
mod sequence;
mod structure;
mod union;
mod value;

use std::borrow::Cow;

use oxorb_cdr::{Any, Dynamic, DynamicErrorKind, Shape, TcKind, TypeCode};

use arrange::arrange;
pub use error::DynAnyError;
use place::Place;
pub use scalar::{DynEnum, DynFixed};
pub use sequence::{DynArray, DynSequence};
pub use structure::DynStruct;
pub use union::DynUnion;
pub use value::{DynValue, DynValueBox};

type Result<T, E = DynAnyError> = std::result::Result<T, E>;

/// Value of any type, with a current component.
///
/// Owns its value, or borrows it from the value that it is a component of: a change of a component changes the complete
/// value without copying. Components are created on request, each positioned at its first component; a sequence of a
/// million numbers therefore costs no more than its numbers. Changing a value checks the new one, which costs as much
/// as encoding it.
#[derive(Debug)]
pub struct DynAny<'v> {
    ty: TypeCode,
    place: Place<'v>,
    /// Index of the current component.
    position: Option<usize>,
}

impl DynAny<'static> {
    /// Creates a `DynAny` with the value of an any (`create_dyn_any`).
    ///
    /// # Errors
    /// [`DynAnyError::InconsistentTypeCode`] for types without marshallable values;
    /// [`DynAnyError::InvalidValue`] if received octets turn out not to be of the type.
    pub fn from_any(any: &Any) -> Result<Self> {
        check_type(any.type_code())?;
        let mut value = any.dynamic()?;
        arrange(any.type_code().as_ref(), &mut value);
        Ok(Self::own(any.type_code().clone(), value))
    }

    /// Creates a `DynAny` as [`from_any`](Self::from_any), but only from a value that was not
    /// truncated (`create_dyn_any_without_truncation`).
    ///
    /// # Errors
    /// Those of [`from_any`](Self::from_any), and [`DynAnyError::MustTruncate`].
    pub fn from_any_without_truncation(any: &Any) -> Result<Self> {
        let whole = Self::from_any(any)?;
        match value::truncated(&whole.value()) {
            None => Ok(whole),
            Some(id) => Err(DynAnyError::MustTruncate(format!("{id} is unknown"))),
        }
    }

    /// Creates a `DynAny` with the default value of a type (`create_dyn_any_from_type_code`):
    /// zeros, empty strings and sequences, nil and null, the first enumerator, the first member of
    /// a union.
    ///
    /// # Errors
    /// [`DynAnyError::InconsistentTypeCode`] for types without marshallable values, and for structs
    /// and arrays of more than a million parts.
    pub fn from_type_code(ty: &TypeCode) -> Result<Self> {
        check_type(ty)?;
        let value = Dynamic::default_for(ty)
            .map_err(|error| DynAnyError::InconsistentTypeCode(error.to_string()))?;
        Ok(Self::own(ty.clone(), value))
    }

    /// Creates a `DynAny` with a value of a type.
    ///
    /// # Errors
    /// Those of [`from_type_code`](Self::from_type_code), and [`DynAnyError::TypeMismatch`] or
    /// [`DynAnyError::InvalidValue`] if the value is not of the type.
    pub fn new(ty: TypeCode, value: impl Into<Dynamic>) -> Result<Self> {
        check_type(&ty)?;
        let mut value = value.into();
        value.check(&ty)?;
        arrange(ty.as_ref(), &mut value);
        Ok(Self::own(ty, value))
    }

    fn own(ty: TypeCode, value: Dynamic) -> Self {
        DynAny::at(ty, Place::Own(value))
    }
}

/// Rejects types without values, as the factory does.
fn check_type(ty: &TypeCode) -> Result<()> {
    let kind = ty.as_ref().resolved().kind();
    let refused = [TcKind::Native, TcKind::LocalInterface, TcKind::Principal].contains(&kind);
    if refused || !ty.is_complete() {
        return Err(DynAnyError::InconsistentTypeCode(ty.to_string()));
    }
    Ok(())
}

impl<'v> DynAny<'v> {
    fn at(ty: TypeCode, place: Place<'v>) -> Self {
        let mut made = DynAny { ty, place, position: None };
        made.rewind();
        made
    }

    /// Returns the type as given, with aliases.
    pub fn type_code(&self) -> &TypeCode {
        &self.ty
    }

    /// Returns the value as a tree; cloned only if it is not one already.
    pub fn value(&self) -> Cow<'_, Dynamic> {
        self.place.value()
    }

    /// Copies the value of another `DynAny` of an equivalent type (`assign`); the first component
    /// becomes current.
    pub fn assign(&mut self, other: &DynAny<'_>) -> Result<()> {
        self.assign_value(&other.ty, other.value().into_owned())
    }

    /// Copies the value of an any of an equivalent type (`from_any`); the first component becomes
    /// current.
    pub fn assign_any(&mut self, any: &Any) -> Result<()> {
        self.assign_value(any.type_code(), any.dynamic()?)
    }

    fn assign_value(&mut self, ty: &TypeCode, value: Dynamic) -> Result<()> {
        if !self.ty.equivalent(ty) {
            let expected = self.ty.as_ref().mention().to_string();
            return Err(DynAnyError::mismatch(&expected, ty.as_ref()));
        }
        let mut value = value;
        rename(self.ty.as_ref(), &mut value);
        self.set(value)?;
        self.rewind();
        Ok(())
    }

    /// Returns a copy of the value with its type (`to_any`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if an indirection to a valuetype is not preceded by its
    /// target. Otherwise none, except for contained anys received with invalid octets.
    pub fn to_any(&self) -> Result<Any> {
        Ok(Any::with_type(self.ty.clone(), self.value().into_owned())?)
    }

    /// Reports whether the types are equivalent and the values equal (`equal`). Current positions
    /// are ignored.
    pub fn equal(&self, other: &DynAny<'_>) -> bool {
        self.ty.equivalent(&other.ty) && equal::same(&self.value(), &other.value())
    }

    /// Returns an independent copy (`copy`), positioned at the first component.
    pub fn copy(&self) -> DynAny<'static> {
        DynAny::own(self.ty.clone(), self.value().into_owned())
    }

    /// Makes the component at this index current, if it exists, else none (`seek`); returns whether
    /// it exists.
    pub fn seek(&mut self, index: usize) -> bool {
        self.position = Some(index).filter(|index| *index < self.component_count());
        self.position.is_some()
    }

    /// Makes no component current (`seek(-1)`).
    pub fn leave(&mut self) {
        self.position = None;
    }

    /// Makes the first component current (`rewind`); returns whether there is one.
    pub fn rewind(&mut self) -> bool {
        self.seek(0)
    }

    /// Makes the component after the current one current (`next`); returns whether there is one.
    /// Without a current component, moves to the first.
    #[expect(
        clippy::should_implement_trait,
        reason = "the standard's name; components borrow, so it cannot be an iterator"
    )]
    pub fn next(&mut self) -> bool {
        self.seek(self.position().map_or(0, |at| at + 1))
    }

    /// Returns the index of the current component.
    pub fn position(&self) -> Option<usize> {
        // A union may have lost the current component, because a new discriminant selects no member.
        self.position.filter(|at| *at < self.component_count())
    }

    /// Returns the number of components (`component_count`): members, elements; discriminant and
    /// member of a union.
    pub fn component_count(&self) -> usize {
        match &*self.value() {
            Dynamic::Octets(octets) => octets.len(),
            value => value.component_count(),
        }
    }

    /// Returns the current component (`current_component`); `None` if there is none.
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if the type has no components.
    pub fn current_component(&mut self) -> Result<Option<DynAny<'_>>> {
        if !self.can_have_components() {
            return Err(DynAnyError::mismatch("a type with components", self.ty.as_ref()));
        }
        Ok(self.position().and_then(|at| self.component(at)))
    }

    /// Returns a component by its index, regardless of the current position; `None` if the index is
    /// too large.
    pub fn component(&mut self, index: usize) -> Option<DynAny<'_>> {
        let ty = self.component_type(index)?;
        let is_discriminator = index == 0 && self.is_union();
        let union = self.ty.resolved();
        let value = self.place.value_mut()?;
        let place = match value {
            union_value @ Dynamic::Union(_) if is_discriminator => {
                Place::Discriminator { ty: union, union: union_value }
            }
            Dynamic::Octets(octets) => Place::Octet(octets.get_mut(index)?),
            value => Place::Part(value.element_mut(index)?),
        };
        Some(DynAny::at(ty, place))
    }

    /// Reports whether there can be components; this is false for an exception without members, for example.
    fn can_have_components(&self) -> bool {
        let ty = self.ty.as_ref().resolved();
        match ty.shape() {
            Shape::Struct | Shape::Except => ty.members().len() > 0,
            Shape::Union { .. } | Shape::Sequence { .. } | Shape::Array { .. } => true,
            // A valuetype has components unless it is null.
            _ => matches!(*self.value(), Dynamic::Value(_)),
        }
    }

    fn is_union(&self) -> bool {
        self.ty.as_ref().resolved().kind() == TcKind::Union
    }

    /// Returns the type of a component, if the index is valid.
    fn component_type(&self, index: usize) -> Option<TypeCode> {
        if index >= self.component_count() {
            return None;
        }
        if let Dynamic::Value(value) = &*self.value() {
            return value::member_type(&value.ty, index);
        }
        let ty = self.ty.as_ref().resolved();
        let of = match ty.shape() {
            Shape::Union { discriminator, .. } if index == 0 => discriminator,
            Shape::Union { .. } => {
                let label = match &*self.value() {
                    Dynamic::Union(selected) => selected.discriminator.label()?,
                    _ => return None,
                };
                ty.select(label)?.ty
            }
            Shape::Sequence { element, .. } | Shape::Array { element, .. } => element,
            _ => ty.member(index)?.ty,
        };
        Some(of.to_type_code())
    }

    /// Replaces the value by one of the type.
    fn set(&mut self, mut value: Dynamic) -> Result<()> {
        match value.check(&self.ty) {
            // Accept an indirection here. Only the complete value shows whether its target precedes this position, and
            // `to_any` checks that.
            Err(error)
                if error.reason == DynamicErrorKind::NoSuchValue
                    && !matches!(self.place, Place::Own(_)) => {}
            checked => checked?,
        }
        arrange(self.ty.as_ref(), &mut value);
        Ok(self.place.set(value)?)
    }

    fn reborrow(&mut self) -> DynAny<'_> {
        DynAny { ty: self.ty.clone(), place: self.place.reborrow(), position: self.position }
    }
}

/// Clears the member names, which may differ between equivalent types, so that they are replaced by
/// those of this type.
fn rename(ty: oxorb_cdr::TypeRef<'_>, value: &mut Dynamic) {
    let nameless = || std::sync::Arc::from("");
    let ty = ty.resolved();
    match value {
        Dynamic::Struct(fields) => {
            for (field, member) in fields.iter_mut().zip(ty.members()) {
                field.name = nameless();
                rename(member.ty, &mut field.value);
            }
        }
        Dynamic::Union(selected) => {
            if let Shape::Union { discriminator, .. } = ty.shape() {
                rename(discriminator, &mut selected.discriminator);
            }
            let member = selected.discriminator.label();
            let member = member.and_then(|label| ty.select(label));
            if let (Some(member), Some(field)) = (member, &mut selected.member) {
                field.name = nameless();
                rename(member.ty, &mut field.value);
            }
        }
        Dynamic::Enum { name, .. } => *name = nameless(),
        Dynamic::Sequence(elements) | Dynamic::Array(elements) => {
            if let Some(element) = ty.content() {
                elements.iter_mut().for_each(|value| rename(element, value));
            }
        }
        _ => {}
    }
}
