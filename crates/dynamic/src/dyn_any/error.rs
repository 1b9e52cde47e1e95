use std::fmt;

use oxorb_cdr::{DynamicError, Reason, TypeRef};

/// Errors of the operations of a [`DynAny`](super::DynAny).
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum DynAnyError {
    /// `DynAny::TypeMismatch`: a value, an operation or a name is not of the type there is.
    #[error("TypeMismatch: {0}")]
    TypeMismatch(String),
    /// `DynAny::InvalidValue`: there is no current component, or the type does not allow this value of it.
    #[error("InvalidValue: {0}")]
    InvalidValue(String),
    /// `DynAnyFactory::MustTruncate`: a valuetype within is only known as one that its type inherits from.
    #[error("MustTruncate: {0}")]
    MustTruncate(String),
    /// `DynAnyFactory::InconsistentTypeCode`: nothing can be a value of this type.
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
            // Of the right type, but not within its bounds, or not to be sent.
            Reason::Cdr(_) | Reason::WrongLength { .. } | Reason::TooLarge => {
                Self::InvalidValue(what)
            }
            _ => Self::TypeMismatch(what),
        }
    }
}
