//! Error of two interceptors with the same name.

use std::fmt;

/// Error of two interceptors of one kind with the same name (`DuplicateName`).
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("two interceptors of one kind are named {0:?}; give each its own name, or none")]
pub struct DuplicateInterceptor(pub String);

impl fmt::Debug for DuplicateInterceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
