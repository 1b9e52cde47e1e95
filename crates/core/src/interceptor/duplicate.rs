//! Two interceptors of one name.

use std::fmt;

/// Two interceptors of one kind have the same name (`DuplicateName`).
#[derive(Clone, PartialEq, Eq)]
pub struct DuplicateInterceptor(pub String);

impl fmt::Display for DuplicateInterceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "two interceptors of one kind are named {:?}; give each its own name, or none",
            self.0
        )
    }
}

impl fmt::Debug for DuplicateInterceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for DuplicateInterceptor {}
