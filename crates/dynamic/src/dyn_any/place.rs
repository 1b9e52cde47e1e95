use std::borrow::Cow;

use oxorb_cdr::{Dynamic, DynamicError, TypeCode};

/// Storage of the value of a `DynAny`.
#[derive(Debug)]
pub(super) enum Place<'v> {
    Own(Dynamic),
    /// Part of another `DynAny`.
    Part(&'v mut Dynamic),
    /// Octet of an octet sequence or array.
    Octet(&'v mut u8),
    /// Discriminant of this union.
    Discriminator {
        ty: TypeCode,
        union: &'v mut Dynamic,
    },
}

impl Place<'_> {
    pub(super) fn value(&self) -> Cow<'_, Dynamic> {
        match self {
            Self::Own(value) => Cow::Borrowed(value),
            Self::Part(value) => Cow::Borrowed(value),
            Self::Octet(octet) => Cow::Owned(Dynamic::Octet(**octet)),
            Self::Discriminator { union, .. } => match union {
                Dynamic::Union(selected) => Cow::Borrowed(&selected.discriminator),
                _ => Cow::Owned(Dynamic::Null), // not a union: never made
            },
        }
    }

    /// Returns the value, if it can have components.
    pub(super) fn value_mut(&mut self) -> Option<&mut Dynamic> {
        match self {
            Self::Own(value) => Some(value),
            Self::Part(value) => Some(value),
            Self::Octet(_) | Self::Discriminator { .. } => None,
        }
    }

    /// Replaces the value by one of the same type.
    pub(super) fn set(&mut self, value: Dynamic) -> Result<(), DynamicError> {
        match self {
            Self::Own(place) => *place = value,
            Self::Part(place) => **place = value,
            Self::Octet(place) => **place = u8::try_from(&value)?,
            Self::Discriminator { ty, union } => {
                union.select(ty, value.label().unwrap_or_default())?;
            }
        }
        Ok(())
    }

    pub(super) fn reborrow(&mut self) -> Place<'_> {
        match self {
            Self::Own(value) => Place::Part(value),
            Self::Part(value) => Place::Part(value),
            Self::Octet(octet) => Place::Octet(octet),
            Self::Discriminator { ty, union } => Place::Discriminator { ty: ty.clone(), union },
        }
    }
}
