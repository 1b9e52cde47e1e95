use std::ops::{Deref, DerefMut};

use oxorb_cdr::{Dynamic, Label, MemberRef, Shape, TcKind, TypeCode};

use super::{DynAny, DynAnyError, Result};

/// Union (`DynUnion`). Its first component is the discriminant, its second the selected member, if
/// any.
#[derive(Debug)]
pub struct DynUnion<'d, 'v>(&'d mut DynAny<'v>);

impl<'v> DynAny<'v> {
    /// Returns the value as a union (narrowing to `DynUnion`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] for a value of another kind.
    pub fn as_union(&mut self) -> Result<DynUnion<'_, 'v>> {
        match self.kind() {
            TcKind::Union => Ok(DynUnion(self)),
            _ => Err(DynAnyError::mismatch("a union", self.ty.as_ref())),
        }
    }
}

impl DynUnion<'_, '_> {
    /// Returns the discriminant (`get_discriminator`). Changing it selects the member, as
    /// [`set_discriminator`](Self::set_discriminator) does.
    pub fn discriminator(&mut self) -> DynAny<'_> {
        self.0.component(0).expect("a union has a discriminant")
    }

    /// Sets the discriminant (`set_discriminator`). If it selects the same member, the member is
    /// unchanged, otherwise the new member gets its default value. The member becomes current, or
    /// the discriminant if it selects none.
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if the type differs.
    pub fn set_discriminator(&mut self, discriminator: &DynAny<'_>) -> Result<()> {
        self.discriminator().assign(discriminator)?;
        self.0.seek(self.0.component_count() - 1);
        Ok(())
    }

    /// Selects the default member (`set_to_default_member`), with a discriminant that is not a
    /// label. The discriminant becomes current.
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if the union has no default case.
    pub fn set_to_default_member(&mut self) -> Result<()> {
        let ty = self.0.ty.resolved();
        if !has_default(&ty) {
            return Err(DynAnyError::mismatch("a union with a default", ty.as_ref()));
        }
        self.select_unused(&ty)
    }

    /// Deselects all members (`set_to_no_active_member`). The discriminant becomes current.
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if every discriminant selects a member.
    pub fn set_to_no_active_member(&mut self) -> Result<()> {
        let ty = self.0.ty.resolved();
        if has_default(&ty) {
            return Err(DynAnyError::mismatch("a union without a default", ty.as_ref()));
        }
        self.select_unused(&ty)
    }

    /// Reports whether no member is selected (`has_no_active_member`).
    pub fn has_no_active_member(&self) -> bool {
        self.0.component_count() == 1
    }

    /// Reports whether the default member is selected (`is_set_to_default_member`).
    pub fn is_set_to_default_member(&self) -> bool {
        let ty = self.0.ty.resolved();
        let selected = self.label().and_then(|label| ty.as_ref().select(label));
        selected.is_some_and(|member| member.label == Some(Label::Default))
    }

    /// Returns the kind of the discriminant's type (`discriminator_kind`); an alias is `tk_alias`.
    pub fn discriminator_kind(&self) -> TcKind {
        match self.0.ty.as_ref().resolved().shape() {
            Shape::Union { discriminator, .. } => discriminator.kind(),
            _ => TcKind::Null, // never: it was a union when this was made
        }
    }

    /// Returns the selected member (`member`).
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if there is none.
    pub fn member(&mut self) -> Result<DynAny<'_>> {
        self.0.component(1).ok_or_else(no_member)
    }

    /// Returns the name of the selected member (`member_name`).
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if there is none.
    pub fn member_name(&self) -> Result<&str> {
        self.selected().map(|member| &**member.name)
    }

    /// Returns the kind of the selected member's type (`member_kind`); an alias is `tk_alias`.
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if there is none.
    pub fn member_kind(&self) -> Result<TcKind> {
        self.selected().map(|member| member.ty.kind())
    }

    fn selected(&self) -> Result<MemberRef<'_>> {
        let ty = self.0.ty.as_ref().resolved();
        let selected = self.label().and_then(|label| ty.select(label));
        selected.ok_or_else(no_member)
    }

    fn label(&self) -> Option<i128> {
        match &*self.0.value() {
            Dynamic::Union(selected) => selected.discriminator.label(),
            _ => None,
        }
    }

    fn select_unused(&mut self, ty: &TypeCode) -> Result<()> {
        let unused = ty.as_ref().unused_label().ok_or_else(|| {
            DynAnyError::mismatch("a union with a discriminant that is not a label", ty.as_ref())
        })?;
        if let Some(value) = self.0.place.value_mut() {
            value.select(ty, unused)?;
        }
        self.0.rewind();
        Ok(())
    }
}

fn has_default(ty: &TypeCode) -> bool {
    matches!(ty.shape(), Shape::Union { default: Some(_), .. })
}

fn no_member() -> DynAnyError {
    DynAnyError::InvalidValue("the discriminant selects no member".to_owned())
}

impl<'v> Deref for DynUnion<'_, 'v> {
    type Target = DynAny<'v>;

    fn deref(&self) -> &DynAny<'v> {
        self.0
    }
}

impl<'v> DerefMut for DynUnion<'_, 'v> {
    fn deref_mut(&mut self) -> &mut DynAny<'v> {
        self.0
    }
}
