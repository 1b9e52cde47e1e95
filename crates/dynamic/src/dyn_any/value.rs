use std::ops::{Deref, DerefMut};

use oxorb_cdr::{Any, Dynamic, DynamicValue, Shape, TcKind, TypeCode};

use super::{DynAny, DynAnyError, Result};

/// Valuetype or event type (`DynValue`, `DynValueCommon`): null, or its state, that of its bases
/// first.
///
/// The value may be of a type that inherits from the declared one; the actual type applies. An
/// indirection to another value ([`Dynamic::Indirection`]) has no components here.
#[derive(Debug)]
pub struct DynValue<'d, 'v>(&'d mut DynAny<'v>);

/// Value box (`DynValueBox`): null, or its content as the only component.
#[derive(Debug)]
pub struct DynValueBox<'d, 'v>(&'d mut DynAny<'v>);

impl<'v> DynAny<'v> {
    /// Returns the value as a valuetype or event type (narrowing to `DynValue`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] for a value of another kind.
    pub fn as_value(&mut self) -> Result<DynValue<'_, 'v>> {
        match self.ty.as_ref().resolved().shape() {
            Shape::Value { .. } => Ok(DynValue(self)),
            _ => Err(DynAnyError::mismatch("a valuetype", self.ty.as_ref())),
        }
    }

    /// Returns the value as a value box (narrowing to `DynValueBox`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] for a value of another kind.
    pub fn as_value_box(&mut self) -> Result<DynValueBox<'_, 'v>> {
        match self.kind() {
            TcKind::ValueBox => Ok(DynValueBox(self)),
            _ => Err(DynAnyError::mismatch("a value box", self.ty.as_ref())),
        }
    }

    fn is_null(&self) -> bool {
        matches!(*self.value(), Dynamic::Null)
    }

    fn set_to_null(&mut self) -> Result<()> {
        self.place.set(Dynamic::Null)?;
        self.leave();
        Ok(())
    }

    fn set_to_value(&mut self) -> Result<()> {
        if self.is_null() {
            let fresh = DynamicValue::default_for(&self.ty)?;
            self.place.set(fresh.into())?;
            self.rewind();
        }
        Ok(())
    }

    fn not_null(&self) -> Result<()> {
        match self.is_null() {
            true => Err(DynAnyError::InvalidValue("the value is null".to_owned())),
            false => Ok(()),
        }
    }
}

macro_rules! value_common {
    ($name:ident) => {
        impl $name<'_, '_> {
            /// Reports whether the value is null (`is_null`).
            pub fn is_null(&self) -> bool {
                self.0.is_null()
            }

            /// Sets the value to null (`set_to_null`).
            ///
            /// # Errors
            /// None, since every valuetype allows null.
            pub fn set_to_null(&mut self) -> Result<()> {
                self.0.set_to_null()
            }

            /// Replaces null by a default value (`set_to_value`); the first component becomes
            /// current.
            ///
            /// # Errors
            /// [`DynAnyError::TypeMismatch`] for abstract valuetypes and `ValueBase`, which have no
            /// direct values.
            pub fn set_to_value(&mut self) -> Result<()> {
                self.0.set_to_value()
            }
        }

        impl<'v> Deref for $name<'_, 'v> {
            type Target = DynAny<'v>;

            fn deref(&self) -> &DynAny<'v> {
                self.0
            }
        }

        impl<'v> DerefMut for $name<'_, 'v> {
            fn deref_mut(&mut self) -> &mut DynAny<'v> {
                self.0
            }
        }
    };
}

value_common!(DynValue);
value_common!(DynValueBox);

impl DynValue<'_, '_> {
    /// Returns the name of the current member (`current_member_name`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if the value is null, [`DynAnyError::InvalidValue`] if no
    /// member is current.
    pub fn current_member_name(&self) -> Result<String> {
        self.0.current_name()
    }

    /// Returns the kind of the current member's type (`current_member_kind`); an alias is
    /// `tk_alias`.
    ///
    /// # Errors
    /// Those of [`current_member_name`](Self::current_member_name).
    pub fn current_member_kind(&self) -> Result<TcKind> {
        self.0.current_kind()
    }

    /// Returns names and copies of the values of all members (`get_members`).
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if the value is null; those of [`DynAny::to_any`] if a member
    /// shares another's value.
    pub fn members(&mut self) -> Result<Vec<(String, Any)>> {
        self.0.not_null()?;
        self.0.parts_as_any()
    }

    /// Sets all members, in order (`set_members`), of a new value if it is null; the first one
    /// becomes current.
    ///
    /// # Errors
    /// Those of [`DynStruct::set_members`](super::DynStruct::set_members).
    pub fn set_members<N: AsRef<str>>(&mut self, members: &[(N, Any)]) -> Result<()> {
        self.0.set_to_value()?;
        self.0.set_parts_as_any(members)
    }

    /// Returns names and values of all members for modification in place
    /// (`get_members_as_dyn_any`).
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if the value is null.
    pub fn members_as_dyn_any(&mut self) -> Result<Vec<(String, DynAny<'_>)>> {
        self.0.not_null()?;
        Ok(self.0.parts())
    }

    /// Sets the members as [`set_members`](Self::set_members) (`set_members_as_dyn_any`).
    ///
    /// # Errors
    /// Those of [`set_members`](Self::set_members).
    pub fn set_members_as_dyn_any<N: AsRef<str>>(
        &mut self,
        members: &[(N, DynAny<'_>)],
    ) -> Result<()> {
        self.0.set_to_value()?;
        self.0.set_parts(members)
    }
}

impl DynValueBox<'_, '_> {
    /// Returns a copy of the boxed value (`get_boxed_value`).
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if the value is null.
    pub fn boxed_value(&mut self) -> Result<Any> {
        self.boxed_value_as_dyn_any()?.to_any()
    }

    /// Returns the boxed value for modification in place (`get_boxed_value_as_dyn_any`).
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if the value is null.
    pub fn boxed_value_as_dyn_any(&mut self) -> Result<DynAny<'_>> {
        self.0.not_null()?;
        self.0.component(0).ok_or_else(DynAnyError::no_current)
    }

    /// Replaces the boxed value (`set_boxed_value`), in a new box if the value is null.
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if the type differs.
    pub fn set_boxed_value(&mut self, boxed: &Any) -> Result<()> {
        self.set_boxed_value_as_dyn_any(&DynAny::from_any(boxed)?)
    }

    /// Sets the boxed value as [`set_boxed_value`](Self::set_boxed_value)
    /// (`set_boxed_value_as_dyn_any`).
    ///
    /// # Errors
    /// Those of [`set_boxed_value`](Self::set_boxed_value).
    pub fn set_boxed_value_as_dyn_any(&mut self, boxed: &DynAny<'_>) -> Result<()> {
        let was_null = self.is_null();
        self.set_to_value()?;
        let set = self.boxed_value_as_dyn_any()?.assign(boxed);
        if set.is_err() && was_null {
            self.set_to_null()?;
        }
        set?;
        self.0.rewind();
        Ok(())
    }
}

/// Returns the type of a member of a value of this type, or of the content of a box.
pub(super) fn member_type(ty: &TypeCode, index: usize) -> Option<TypeCode> {
    let ty = ty.as_ref().resolved();
    let of = match ty.shape() {
        Shape::ValueBox(content) => content,
        _ => ty.state_members().get(index)?.ty,
    };
    Some(of.to_type_code())
}

/// Returns the original repository id of a contained value that was truncated.
pub(super) fn truncated(value: &Dynamic) -> Option<String> {
    if let Dynamic::Value(value) = value
        && let Some(id) = &value.truncated_from
    {
        return Some(id.to_string());
    }
    (0..value.component_count()).find_map(|at| truncated(value.element(at)?))
}
