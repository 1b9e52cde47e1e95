//! Errors in octets that describe an object or accompany a message.

use core::fmt;

use oxorb_cdr as cdr;

use crate::{CompletionStatus, SystemException, minor};

/// Malformed reference, profile, component, policy value or service context.
///
/// Values can be compared and cloned, so tests state exactly what they expect. `Display` prints a
/// full sentence that names the offending value.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub enum Malformed {
    /// A list exceeds a fixed limit of the program.
    Limit {
        /// Name of the list's elements.
        what: &'static str,
        /// Number of elements.
        size: u64,
        /// Maximum number of elements.
        limit: u64,
    },
    /// A field that could not be decoded.
    Cdr(cdr::Error),
    /// A profile without a readable object key.
    NoObjectKey {
        /// Tag of the profile.
        tag: u32,
    },
    /// A profile with an impossible version.
    Profile {
        /// Tag of the profile.
        tag: u32,
    },
}

impl Malformed {
    /// Returns the exception that a caller receives when this error ends its call; `completed` is
    /// what this side knows about the execution.
    pub fn to_exception(&self, completed: CompletionStatus) -> SystemException {
        match self {
            Self::Limit { .. } => {
                SystemException::imp_limit(minor::imp_limit::RECEIVED_TOO_LARGE, completed)
            }
            Self::Cdr(error) => SystemException::from_cdr(*error, completed),
            Self::NoObjectKey { .. } | Self::Profile { .. } => {
                SystemException::comm_failure(minor::comm_failure::PROTOCOL_VIOLATION, completed)
            }
        }
    }
}

impl From<cdr::Error> for Malformed {
    #[inline]
    fn from(error: cdr::Error) -> Self {
        Self::Cdr(error)
    }
}

impl fmt::Debug for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Malformed {}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit { what, size, limit } => write!(
                f,
                "{what} received from the peer: {size}, but the limit on this side is {limit} (setting: fixed)"
            ),
            Self::Cdr(error) => write!(f, "a field is malformed: {error}"),
            Self::NoObjectKey { tag } => {
                write!(f, "the profile with tag {tag:#x} contains no object key")
            }
            Self::Profile { tag } => write!(f, "the profile with tag {tag:#x} is malformed"),
        }
    }
}
