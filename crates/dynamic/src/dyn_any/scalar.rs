//! Types without components but with specific operations.

use std::ops::{Deref, DerefMut};

use oxorb_cdr::{Decimal, Dynamic, Shape, TcKind};

use super::{DynAny, DynAnyError, Result};

/// Enumeration (`DynEnum`).
#[derive(Debug)]
pub struct DynEnum<'d, 'v>(&'d mut DynAny<'v>);

/// Fixed-point number (`DynFixed`).
#[derive(Debug)]
pub struct DynFixed<'d, 'v>(&'d mut DynAny<'v>);

impl<'v> DynAny<'v> {
    /// Returns the value as an enumeration (narrowing to `DynEnum`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] for a value of another kind.
    pub fn as_enum(&mut self) -> Result<DynEnum<'_, 'v>> {
        match self.kind() {
            TcKind::Enum => Ok(DynEnum(self)),
            _ => Err(DynAnyError::mismatch("an enum", self.ty.as_ref())),
        }
    }

    /// Returns the value as a fixed-point number (narrowing to `DynFixed`).
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] for a value of another kind.
    pub fn as_fixed(&mut self) -> Result<DynFixed<'_, 'v>> {
        match self.kind() {
            TcKind::Fixed => Ok(DynFixed(self)),
            _ => Err(DynAnyError::mismatch("a fixed", self.ty.as_ref())),
        }
    }
}

impl DynEnum<'_, '_> {
    /// Returns the enumerator's name (`get_as_string`); empty if the type code has no names.
    pub fn as_string(&self) -> String {
        match &*self.0.value() {
            Dynamic::Enum { name, .. } => name.to_string(),
            _ => String::new(), // never: it was an enum when this was made
        }
    }

    /// Sets the enumerator by its name (`set_as_string`).
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if there is no enumerator with this name.
    pub fn set_as_string(&mut self, name: &str) -> Result<()> {
        let ty = self.0.ty.resolved();
        let mut names = ty.as_ref().enumerators().iter();
        let at = names.position(|known| **known == *name);
        let at = at.ok_or_else(|| {
            DynAnyError::InvalidValue(format!("{} has no {name}", ty.as_ref().mention()))
        })?;
        self.set_as_ulong(at as u32)
    }

    /// Returns the enumerator's zero-based index (`get_as_ulong`).
    pub fn as_ulong(&self) -> u32 {
        match &*self.0.value() {
            Dynamic::Enum { ordinal, .. } => *ordinal,
            _ => 0, // never: it was an enum when this was made
        }
    }

    /// Sets the enumerator by its index (`set_as_ulong`).
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if the index is too large.
    pub fn set_as_ulong(&mut self, ordinal: u32) -> Result<()> {
        let ty = self.0.ty.resolved();
        let names = ty.as_ref().enumerators();
        let name = names.get(ordinal as usize).ok_or_else(|| {
            let (ty, count) = (ty.as_ref().mention(), names.len());
            DynAnyError::InvalidValue(format!("{ty} has {count} enumerators, none is {ordinal}"))
        })?;
        let name = name.clone();
        Ok(self.0.place.set(Dynamic::Enum { name, ordinal })?)
    }
}

impl DynFixed<'_, '_> {
    /// Returns the number (`get_value`), whose text is that of IDL, without the final `d`.
    pub fn value(&self) -> Decimal {
        match &*self.0.value() {
            Dynamic::Fixed(number) => *number,
            _ => Decimal::ZERO, // never: it was a fixed when this was made
        }
    }

    /// Sets the number from text (`set_value`). Drops digits beyond the type's scale, and returns
    /// `false` if it dropped any, otherwise `true`.
    ///
    /// # Errors
    /// [`DynAnyError::TypeMismatch`] if the text is not a number, [`DynAnyError::InvalidValue`] if
    /// its integer part has too many digits.
    pub fn set_value(&mut self, text: &str) -> Result<bool> {
        let no_number =
            |_| DynAnyError::TypeMismatch(format!("expected a fixed-point number, found {text:?}"));
        let trimmed = text.trim();
        let trimmed = trimmed.strip_suffix(['d', 'D']).unwrap_or(trimmed);
        let number: Decimal = trimmed.parse().map_err(no_number)?;
        self.set_decimal(number)
    }

    /// Sets the number as [`set_value`](Self::set_value), from a decimal.
    ///
    /// # Errors
    /// [`DynAnyError::InvalidValue`] if its integer part has too many digits.
    pub fn set_decimal(&mut self, number: Decimal) -> Result<bool> {
        let ty = self.0.ty.resolved();
        let (digits, scale) = match ty.shape() {
            Shape::Fixed { digits, scale } => (digits, u8::try_from(scale).unwrap_or_default()),
            _ => (0, 0), // never: it was a fixed when this was made
        };
        let too_long = |_| {
            let ty = ty.as_ref().mention();
            DynAnyError::InvalidValue(format!("{number} has too many digits for {ty}"))
        };
        let short = number.truncated(scale).map_err(too_long)?;
        let fit = short.fit(digits, scale).map_err(too_long)?;
        self.0.place.set(Dynamic::Fixed(fit))?;
        Ok(fit == number)
    }
}

macro_rules! is_dyn_any {
    ($name:ident) => {
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

is_dyn_any!(DynEnum);
is_dyn_any!(DynFixed);
