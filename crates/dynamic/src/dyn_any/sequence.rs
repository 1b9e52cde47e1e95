use std::ops::{Deref, DerefMut};

use oxorb_cdr::{Any, Dynamic, Shape, TcKind, TypeCode};

use super::{DynAny, DynAnyError, Place, Result};

/// Sequence (`DynSequence`).
#[derive(Debug)]
pub struct DynSequence<'d, 'v>(&'d mut DynAny<'v>);

/// Array (`DynArray`), in one dimension.
#[derive(Debug)]
pub struct DynArray<'d, 'v>(&'d mut DynAny<'v>);

impl<'v> DynAny<'v> {
    /// Returns the value as a sequence (narrowing to `DynSequence`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] for a value of another kind.
    pub fn as_sequence(&mut self) -> Result<DynSequence<'_, 'v>> {
        match self.kind() {
            TcKind::Sequence => Ok(DynSequence(self)),
            _ => Err(DynAnyError::mismatch("a sequence", self.ty.as_ref())),
        }
    }

    /// Returns the value as an array (narrowing to `DynArray`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] for a value of another kind.
    pub fn as_array(&mut self) -> Result<DynArray<'_, 'v>> {
        match self.kind() {
            TcKind::Array => Ok(DynArray(self)),
            _ => Err(DynAnyError::mismatch("an array", self.ty.as_ref())),
        }
    }

    fn elements(&mut self) -> Vec<DynAny<'_>> {
        let element = self.ty.resolved();
        let element = element.as_ref().content().map(|element| element.to_type_code());
        let element = element.unwrap_or_default();
        let each = |place| DynAny::at(element.clone(), place);
        match self.place.value_mut() {
            Some(Dynamic::Octets(octets)) => {
                octets.iter_mut().map(Place::Octet).map(each).collect()
            }
            Some(Dynamic::Sequence(values) | Dynamic::Array(values)) => {
                values.iter_mut().map(Place::Part).map(each).collect()
            }
            _ => Vec::new(),
        }
    }

    fn elements_as_any(&mut self) -> Result<Vec<Any>> {
        self.elements().iter().map(DynAny::to_any).collect()
    }

    fn set_all<'e>(
        &mut self,
        elements: impl Iterator<Item = Result<(&'e TypeCode, Dynamic)>>,
    ) -> Result<()> {
        let ty = self.ty.resolved();
        let Some(element) = ty.as_ref().content() else {
            return Err(DynAnyError::mismatch("a sequence or array", ty.as_ref()));
        };
        let element = element.to_type_code();
        let mut values = Vec::new();
        for (at, given) in elements.enumerate() {
            let (ty, mut value) = given?;
            if !element.equivalent(ty) {
                let (expected, found) = (element.as_ref().mention(), ty.as_ref().mention());
                let what = format!("[{at}]: expected {expected}, found {found}");
                return Err(DynAnyError::TypeMismatch(what));
            }
            super::rename(element.as_ref(), &mut value);
            values.push(value);
        }
        self.set(match ty.kind() {
            TcKind::Array => Dynamic::Array(values),
            _ => Dynamic::Sequence(values),
        })?;
        self.rewind();
        Ok(())
    }
}

macro_rules! elements {
    ($name:ident) => {
        impl $name<'_, '_> {
            /// Returns copies of all elements (`get_elements`).
            ///
            /// # Errors
            /// Those of [`DynAny::to_any`].
            pub fn elements(&mut self) -> Result<Vec<Any>> {
                self.0.elements_as_any()
            }

            /// Sets all elements (`set_elements`); the first one becomes current.
            ///
            /// # Errors
            /// [`DynAnyError::TypeMismatch`] if the type of an element differs,
            /// [`DynAnyError::InvalidValue`] if the type does not allow this number. The value is
            /// then unchanged.
            pub fn set_elements(&mut self, elements: &[Any]) -> Result<()> {
                let given = elements.iter();
                self.0.set_all(given.map(|any| Ok((any.type_code(), any.dynamic()?))))
            }

            /// Returns all elements for modification in place (`get_elements_as_dyn_any`).
            pub fn elements_as_dyn_any(&mut self) -> Vec<DynAny<'_>> {
                self.0.elements()
            }

            /// Sets the elements as [`set_elements`](Self::set_elements)
            /// (`set_elements_as_dyn_any`).
            ///
            /// # Errors
            /// Those of [`set_elements`](Self::set_elements).
            pub fn set_elements_as_dyn_any(&mut self, elements: &[DynAny<'_>]) -> Result<()> {
                let given = elements.iter();
                self.0.set_all(given.map(|one| Ok((&one.ty, one.value().into_owned()))))
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

elements!(DynSequence);
elements!(DynArray);

impl DynSequence<'_, '_> {
    /// Returns the number of elements (`get_length`).
    pub fn length(&self) -> usize {
        self.0.component_count()
    }

    /// Sets the length (`set_length`): appends default values, or drops elements at the end.
    ///
    /// The current component stays current, unless it is dropped; if there was none, the first new
    /// one becomes current.
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] beyond the bound.
    pub fn set_length(&mut self, length: usize) -> Result<()> {
        let ty = self.0.ty.resolved();
        let Shape::Sequence { element, bound } = ty.shape() else {
            return Ok(()); // never: it was a sequence when this was made
        };
        let bound = bound.unwrap_or(u32::MAX) as usize;
        if length > bound {
            let what = format!("a length of {length} exceeds the bound of {bound}");
            return Err(DynAnyError::InvalidValue(what));
        }
        let (before, position) = (self.length(), self.0.position());
        match self.0.place.value_mut() {
            Some(Dynamic::Octets(octets)) => octets.resize(length, 0),
            Some(Dynamic::Sequence(values)) => {
                let fresh = Dynamic::default_for(&element.to_type_code())?;
                values.resize(length, fresh);
            }
            _ => {}
        }
        match position {
            None if length > before => {
                self.0.seek(before);
            }
            Some(at) if at >= length => self.0.leave(),
            _ => {}
        }
        Ok(())
    }
}
