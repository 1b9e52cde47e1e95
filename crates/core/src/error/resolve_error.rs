//! Errors in the resolution of text to an object.

use std::fmt;
use std::path::PathBuf;

use oxorb_object::{ReferenceError, SystemException, minor};

use super::failure::Failure;

/// Maximum number of files and initial references that refer to one another in a chain.
pub(crate) const MAX_INDIRECTIONS: u32 = 8;

/// Error in the resolution of text to an object.
///
/// `Debug` prints the same text as `Display`, so that a `main` which returns the error is readable.
#[non_exhaustive]
pub enum ResolveError {
    /// The text is not a stringified reference; the error names position and reason.
    Malformed {
        /// The text.
        text: String,
        /// Mistake in the text.
        error: ReferenceError,
    },
    /// A `file:` URL cannot be read.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: std::io::Error,
    },
    /// Files and initial references form a longer chain than allowed.
    TooManyIndirections(String),
    /// The ORB has no initial reference of this name.
    UnknownName {
        /// Requested name.
        name: String,
        /// Names of the known initial references.
        known: Vec<String>,
    },
    /// The naming service does not know the name.
    Name {
        /// Requested name.
        name: String,
        /// Reason from the naming service.
        why: String,
    },
    /// The object has another interface.
    WrongInterface {
        /// The reference.
        text: String,
        /// Repository id of the expected interface.
        wanted: &'static str,
    },
    /// The call for the object's type failed.
    Call {
        /// The reference.
        text: String,
        /// Exception that the call raised.
        exception: SystemException,
        /// Each endpoint tried and its failure, if none was reached.
        failure: Option<Failure>,
    },
}

impl ResolveError {
    pub(crate) fn call(text: &str, exception: SystemException) -> Self {
        ResolveError::Call { text: text.to_owned(), exception, failure: Failure::of(&exception) }
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResolveError::Malformed { error: error @ ReferenceError::Scheme { .. }, .. } => {
                error.fmt(f)
            }
            ResolveError::Malformed { text, error } => {
                write!(f, "{:?} is not an object reference: {error}", abridged(text))
            }
            ResolveError::File { path, error } => {
                write!(f, "cannot read the reference in {}: {error}", path.display())
            }
            ResolveError::TooManyIndirections(text) => write!(
                f,
                "following {:?} led to more than {MAX_INDIRECTIONS} further references",
                abridged(text)
            ),
            ResolveError::UnknownName { name, known } if known.is_empty() => {
                write!(
                    f,
                    "there is no initial reference {name:?}; specify one with -ORBInitRef {name}=URL"
                )
            }
            ResolveError::UnknownName { name, known } => write!(
                f,
                "there is no initial reference {name:?}, only {}; specify it with -ORBInitRef {name}=URL",
                known.join(", ")
            ),
            ResolveError::Name { name, why } => {
                write!(f, "the naming service did not resolve {name:?}: {why}")
            }
            ResolveError::WrongInterface { text, wanted } => {
                write!(f, "the object at {:?} does not have the interface {wanted}", abridged(text))
            }
            ResolveError::Call { text, exception, failure } => {
                write!(f, "cannot reach {:?}: ", abridged(text))?;
                match failure {
                    Some(failure) => failure.fmt(f),
                    None => exception.fmt(f),
                }
            }
        }
    }
}

impl fmt::Debug for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ResolveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ResolveError::Malformed { error, .. } => Some(error),
            ResolveError::File { error, .. } => Some(error),
            ResolveError::Call { exception, .. } => Some(exception),
            _ => None,
        }
    }
}

impl From<ResolveError> for SystemException {
    /// Converts the error for code that only handles CORBA exceptions.
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::Malformed { error, .. } => error.to_exception(),
            ResolveError::Call { exception, .. } => exception,
            _ => SystemException::bad_param(
                minor::bad_param::URL_OTHER,
                oxorb_object::CompletionStatus::No,
            ),
        }
    }
}

/// Shortens a reference for error texts, which a long IOR would fill.
pub(crate) fn abridged(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
