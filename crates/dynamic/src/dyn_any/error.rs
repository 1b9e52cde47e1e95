use std::fmt;

use oxorb_cdr::{DynamicError, DynamicErrorKind, TypeRef};

/// Error of an operation of a [`DynAny`](super::DynAny).
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum DynAnyError {
    /// `DynAny::TypeMismatch`: a value, an operation or a name does not match the type.
    #[error("TypeMismatch: {0}")]
    TypeMismatch(String),
    /// `DynAny::InvalidValue`: there is no current component, or its type does not allow the value.
    #[error("InvalidValue: {0}")]
    InvalidValue(String),
    /// `DynAnyFactory::MustTruncate`: a contained valuetype is known only as one of its base types.
    #[error("MustTruncate: {0}")]
    MustTruncate(String),
    /// `DynAnyFactory::InconsistentTypeCode`: the type has no values.
    #[error("InconsistentTypeCode: {0}")]
    InconsistentTypeCode(String),
}

impl DynAnyError {
    pub(super) fn mismatch(expected: &str, found: TypeRef<'_>) -> Self {
        let found = found.mention();
        Self::TypeMismatch(format!("expected {expected}, but the type is {found}"))
    }

    pub(super) fn no_current() -> Self {
        Self::InvalidValue("there is no current component".to_owned())
    }
}

impl fmt::Debug for DynAnyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<DynamicError> for DynAnyError {
    fn from(error: DynamicError) -> Self {
        let what = error.to_string();
        match error.reason {
            // The value is of the right type, but it exceeds the bounds of the type or cannot be
            // marshalled.
            DynamicErrorKind::Cdr(_)
            | DynamicErrorKind::WrongLength { .. }
            | DynamicErrorKind::TooLarge => Self::InvalidValue(what),
            _ => Self::TypeMismatch(what),
        }
    }
}
