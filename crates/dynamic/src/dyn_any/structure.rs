use std::ops::{Deref, DerefMut};

use oxorb_cdr::{Any, Field, TcKind};

use super::place::Place;
use super::{DynAny, DynAnyError, Result};

/// Struct or exception (`DynStruct`).
#[derive(Debug)]
pub struct DynStruct<'d, 'v>(&'d mut DynAny<'v>);

impl<'v> DynAny<'v> {
    /// Returns the value as a struct or exception (narrowing to `DynStruct`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] for a value of another kind.
    pub fn as_struct(&mut self) -> Result<DynStruct<'_, 'v>> {
        match self.kind() {
            TcKind::Struct | TcKind::Except => Ok(DynStruct(self)),
            _ => Err(DynAnyError::mismatch("a struct or exception", self.ty.as_ref())),
        }
    }
}

impl DynStruct<'_, '_> {
    /// Returns the name of the current member (`current_member_name`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if there are no members, [`DynAnyError::InvalidValue`] if none
    /// is current.
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
    /// Those of [`DynAny::to_any`].
    pub fn members(&mut self) -> Result<Vec<(String, Any)>> {
        self.0.parts_as_any()
    }

    /// Sets all members, in order (`set_members`); the first one becomes current. An empty name
    /// matches every member.
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if the number of members differs,
    /// [`DynAnyError::TypeMismatch`] if a name or type differs. The value is then unchanged.
    pub fn set_members<N: AsRef<str>>(&mut self, members: &[(N, Any)]) -> Result<()> {
        self.0.set_parts_as_any(members)
    }

    /// Returns names and values of all members for modification in place
    /// (`get_members_as_dyn_any`).
    pub fn members_as_dyn_any(&mut self) -> Vec<(String, DynAny<'_>)> {
        self.0.parts()
    }

    /// Sets the members as [`set_members`](Self::set_members) (`set_members_as_dyn_any`).
    ///
    /// # Errors
    /// Those of [`set_members`](Self::set_members).
    pub fn set_members_as_dyn_any<N: AsRef<str>>(
        &mut self,
        members: &[(N, DynAny<'_>)],
    ) -> Result<()> {
        self.0.set_parts(members)
    }
}

/// Common operations of structs and valuetypes.
impl DynAny<'_> {
    pub(super) fn current_name(&self) -> Result<String> {
        let at = self.current_index()?;
        let value = self.value();
        let name = value.fields().get(at).map(|field| field.name.to_string());
        name.ok_or_else(DynAnyError::no_current)
    }

    pub(super) fn current_kind(&self) -> Result<TcKind> {
        let at = self.current_index()?;
        let ty = self.component_type(at);
        ty.map(|ty| ty.kind()).ok_or_else(DynAnyError::no_current)
    }

    pub(super) fn parts(&mut self) -> Vec<(String, DynAny<'_>)> {
        let types: Vec<_> =
            (0..self.component_count()).filter_map(|at| self.component_type(at)).collect();
        let Some(value) = self.place.value_mut() else {
            return Vec::new(); // never: what has members has a place for them
        };
        let parts = types.into_iter().zip(value.fields_mut());
        let parts = parts.map(|(ty, Field { name, value })| {
            (name.to_string(), DynAny::at(ty, Place::Part(value)))
        });
        parts.collect()
    }

    pub(super) fn parts_as_any(&mut self) -> Result<Vec<(String, Any)>> {
        let parts = self.parts().into_iter();
        parts.map(|(name, part)| Ok((name, part.to_any()?))).collect()
    }

    pub(super) fn set_parts_as_any<N: AsRef<str>>(&mut self, members: &[(N, Any)]) -> Result<()> {
        let values = members
            .iter()
            .map(|(name, any)| Ok((name.as_ref(), DynAny::from_any(any)?)))
            .collect::<Result<Vec<_>>>()?;
        self.set_parts(&values)
    }

    pub(super) fn set_parts<N: AsRef<str>>(&mut self, members: &[(N, DynAny<'_>)]) -> Result<()> {
        let mut filled = self.copy();
        let mut places = filled.parts();
        if places.len() != members.len() {
            let (there, given) = (places.len(), members.len());
            let what = format!("the type has {there} members, not {given}");
            return Err(DynAnyError::InvalidValue(what));
        }
        for ((known, place), (name, value)) in places.iter_mut().zip(members) {
            let name = name.as_ref();
            if !name.is_empty() && !known.is_empty() && *name != **known {
                let what = format!("expected member {known}, found {name}");
                return Err(DynAnyError::TypeMismatch(what));
            }
            place.assign(value)?;
        }
        drop(places);
        self.set(filled.value().into_owned())?;
        self.rewind();
        Ok(())
    }

    fn current_index(&self) -> Result<usize> {
        if !self.can_have_components() {
            return Err(DynAnyError::mismatch("a type with members", self.ty.as_ref()));
        }
        self.position().ok_or_else(DynAnyError::no_current)
    }
}

impl<'v> Deref for DynStruct<'_, 'v> {
    type Target = DynAny<'v>;

    fn deref(&self) -> &DynAny<'v> {
        self.0
    }
}

impl<'v> DerefMut for DynStruct<'_, 'v> {
    fn deref_mut(&mut self) -> &mut DynAny<'v> {
        self.0
    }
}
