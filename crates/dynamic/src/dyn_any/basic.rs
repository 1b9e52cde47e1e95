//! Insertion and extraction of values without components.

use std::borrow::Cow;

use oxorb_cdr::{Any, Dynamic, DynamicError, Shape, TcKind, TypeCode};

use super::{DynAny, DynAnyError, Result};

impl DynAny<'_> {
    /// Replaces the current component, or the whole value if the type has no components
    /// (`insert_long` and so on): `true`, `5u8`, `'c'`, `-5i16`, `1.0f64`, `"text"`,
    /// [`Wchar`](oxorb_cdr::Wchar), [`Wstring`](oxorb_cdr::Wstring), an [`Any`], a [`TypeCode`], a
    /// [`RawReference`](oxorb_cdr::RawReference), any other [`Dynamic`].
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if the type differs, [`DynAnyError::InvalidValue`] if there is
    /// no current component, a bounded string is too long, or no code set contains the character.
    pub fn insert(&mut self, value: impl Into<Dynamic>) -> Result<()> {
        self.target()?.set(value.into())
    }

    /// Returns the value of the current component, or the whole value if the type has no components
    /// (`get_long` and so on).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if the type differs, [`DynAnyError::InvalidValue`] if there is
    /// no current component.
    pub fn get<T>(&self) -> Result<T>
    where
        T: for<'d> TryFrom<&'d Dynamic, Error = DynamicError>,
    {
        let (_, value) = self.target_value()?;
        Ok(T::try_from(&value)?)
    }

    /// Replaces the elements of a sequence or array of numbers, booleans or characters
    /// (`insert_long_seq` and so on): of this value if it is such a sequence or array, else of the
    /// current component.
    ///
    /// # Errors
    /// Those of [`insert`](Self::insert); [`DynAnyError::InvalidValue`] for a length that the type
    /// does not allow.
    pub fn insert_seq<T: Into<Dynamic> + Clone>(&mut self, values: &[T]) -> Result<()> {
        let mut target = match self.is_of_basics() {
            true => self.reborrow(),
            false => self.target()?,
        };
        let values = values.iter().cloned().map(Into::into);
        let value = match target.ty.as_ref().resolved().shape() {
            Shape::Array { .. } => Dynamic::Array(values.collect()),
            _ => Dynamic::Sequence(values.collect()),
        };
        target.set(value)?;
        if self.is_of_basics() {
            self.rewind();
        }
        Ok(())
    }

    /// Returns the elements of a sequence or array of numbers, booleans or characters
    /// (`get_long_seq` and so on): of this value if it is such a sequence or array, else of the
    /// current component.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub fn get_seq<T>(&self) -> Result<Vec<T>>
    where
        T: for<'d> TryFrom<&'d Dynamic, Error = DynamicError>,
    {
        let (ty, value) = match self.is_of_basics() {
            true => (self.ty.clone(), self.value()),
            false => self.target_value()?,
        };
        let values = match &*value {
            Dynamic::Octets(octets) => octets
                .iter()
                .map(|octet| T::try_from(&Dynamic::Octet(*octet)))
                .collect::<std::result::Result<_, _>>(),
            Dynamic::Sequence(values) | Dynamic::Array(values) => {
                values.iter().map(T::try_from).collect()
            }
            _ => return Err(DynAnyError::mismatch("a sequence or array", ty.as_ref())),
        };
        Ok(values?)
    }

    /// Inserts the value of another `DynAny` as an any (`insert_dyn_any`).
    ///
    /// # Errors
    /// Those of [`insert`](Self::insert).
    pub fn insert_dyn_any(&mut self, value: &DynAny<'_>) -> Result<()> {
        self.insert(value.to_any()?)
    }

    /// Returns the content of an any (`get_dyn_any`) as a separate value.
    ///
    /// # Errors
    /// Those of [`get`](Self::get) and of [`from_any`](DynAny::from_any).
    pub fn get_dyn_any(&self) -> Result<DynAny<'static>> {
        DynAny::from_any(&self.get::<Any>()?)
    }

    /// Reports whether this is a sequence or array supported by `insert_..._seq`.
    fn is_of_basics(&self) -> bool {
        let content = match self.ty.as_ref().resolved().shape() {
            Shape::Sequence { element, .. } | Shape::Array { element, .. } => element,
            _ => return false,
        };
        !matches!(content.resolved().shape(), Shape::Sequence { .. } | Shape::Array { .. })
    }

    /// Returns the current component, or this value if its type has no components.
    fn target(&mut self) -> Result<DynAny<'_>> {
        if !self.can_have_components() {
            return Ok(self.reborrow());
        }
        let at = self.position();
        let at = at.ok_or_else(DynAnyError::no_current)?;
        self.component(at).ok_or_else(DynAnyError::no_current)
    }

    fn target_value(&self) -> Result<(TypeCode, Cow<'_, Dynamic>)> {
        if !self.can_have_components() {
            return Ok((self.ty.clone(), self.value()));
        }
        let at = self.position();
        let at = at.ok_or_else(DynAnyError::no_current)?;
        let ty = self.component_type(at);
        let ty = ty.ok_or_else(DynAnyError::no_current)?;
        let value = match self.value() {
            Cow::Borrowed(Dynamic::Octets(octets)) => {
                octets.get(at).map(|o| Cow::Owned(Dynamic::Octet(*o)))
            }
            Cow::Borrowed(value) => value.element(at).map(Cow::Borrowed),
            Cow::Owned(value) => value.element(at).cloned().map(Cow::Owned),
        };
        Ok((ty, value.ok_or_else(DynAnyError::no_current)?))
    }

    pub(super) fn kind(&self) -> TcKind {
        self.ty.as_ref().resolved().kind()
    }
}
