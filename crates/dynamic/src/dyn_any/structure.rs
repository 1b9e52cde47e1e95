use std::ops::{Deref, DerefMut};

use oxorb_cdr::{Any, Dynamic, Field, TcKind};

use super::{DynAny, DynAnyError, Result};

/// A struct or exception (`DynStruct`).
#[derive(Debug)]
pub struct DynStruct<'d, 'v>(&'d mut DynAny<'v>);

impl<'v> DynAny<'v> {
    /// As a struct or exception (narrowing to `DynStruct`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if it is none.
    pub fn as_struct(&mut self) -> Result<DynStruct<'_, 'v>> {
        match self.kind() {
            TcKind::Struct | TcKind::Except => Ok(DynStruct(self)),
            _ => Err(DynAnyError::mismatch(
                "a struct or exception",
                self.ty.as_ref(),
            )),
        }
    }
}

impl DynStruct<'_, '_> {
    /// The name of the current member (`current_member_name`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if there are no members, [`DynAnyError::InvalidValue`] if none is the current one.
    pub fn current_member_name(&self) -> Result<&str> {
        let at = self.current()?;
        let member = self.0.ty.as_ref().resolved().member(at);
        Ok(member.map_or("", |member| &**member.name))
    }

    /// The kind of the current member's type (`current_member_kind`); an alias is `tk_alias`.
    ///
    /// # Errors
    /// As [`current_member_name`](Self::current_member_name).
    pub fn current_member_kind(&self) -> Result<TcKind> {
        let at = self.current()?;
        let ty = self.0.component_type(at);
        ty.map(|ty| ty.kind()).ok_or_else(DynAnyError::no_current)
    }

    /// Names and values of all members (`get_members`). Copies them.
    ///
    /// # Errors
    /// As [`DynAny::to_any`].
    pub fn members(&mut self) -> Result<Vec<(String, Any)>> {
        let members = self.members_as_dyn_any();
        let members = members.into_iter();
        members
            .map(|(name, member)| Ok((name, member.to_any()?)))
            .collect()
    }

    /// Sets all members, in order (`set_members`); then the first is the current one. An empty name fits every member.
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if there are more or less of them, [`DynAnyError::TypeMismatch`] if one of them has
    /// another name or type. Then nothing is changed.
    pub fn set_members<N: AsRef<str>>(&mut self, members: &[(N, Any)]) -> Result<()> {
        let values = members
            .iter()
            .map(|(name, any)| Ok((name.as_ref(), DynAny::from_any(any)?)))
            .collect::<Result<Vec<_>>>()?;
        self.set_members_as_dyn_any(&values)
    }

    /// Names and values of all members, to be changed in place (`get_members_as_dyn_any`).
    pub fn members_as_dyn_any(&mut self) -> Vec<(String, DynAny<'_>)> {
        let ty = self.0.ty.resolved();
        let Some(Dynamic::Struct(fields)) = self.0.place.value_mut() else {
            return Vec::new(); // never: it was a struct when this was made
        };
        let members = ty.as_ref().members().zip(fields);
        let members = members.map(|(member, Field { name, value })| {
            let part = DynAny::at(member.ty.to_type_code(), super::Place::Part(value));
            (name.to_string(), part)
        });
        members.collect()
    }

    /// As [`set_members`](Self::set_members) (`set_members_as_dyn_any`).
    ///
    /// # Errors
    /// As [`set_members`](Self::set_members).
    pub fn set_members_as_dyn_any<N: AsRef<str>>(
        &mut self,
        members: &[(N, DynAny<'_>)],
    ) -> Result<()> {
        let mut filled = self.0.copy();
        let mut places = DynStruct(&mut filled);
        let mut places = places.members_as_dyn_any();
        if places.len() != members.len() {
            let (there, given) = (places.len(), members.len());
            let what = format!("there are {there} members, not {given}");
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
        self.0.set(filled.value().into_owned())?;
        self.0.rewind();
        Ok(())
    }

    fn current(&self) -> Result<usize> {
        if !self.0.can_have_components() {
            return Err(DynAnyError::mismatch(
                "a type with members",
                self.0.ty.as_ref(),
            ));
        }
        self.0.position().ok_or_else(DynAnyError::no_current)
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
