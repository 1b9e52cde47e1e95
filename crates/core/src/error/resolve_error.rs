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
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The text is not a stringified reference; the error names position and reason.
    #[error(fmt = malformed)]
    Malformed {
        /// The text.
        text: String,
        /// Mistake in the text.
        #[source]
        error: ReferenceError,
    },
    /// A `file:` URL cannot be read.
    #[error("cannot read the reference in {}: {error}", .path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        error: std::io::Error,
    },
    /// Files and initial references form a longer chain than allowed.
    #[error(
        "following {:?} led to more than {} further references",
        abridged(.0),
        MAX_INDIRECTIONS
    )]
    TooManyIndirections(String),
    /// The ORB has no initial reference of this name.
    #[error(fmt = unknown_name)]
    UnknownName {
        /// Requested name.
        name: String,
        /// Names of the known initial references.
        known: Vec<String>,
    },
    /// The naming service does not know the name.
    #[error("the naming service did not resolve {name:?}: {why}")]
    Name {
        /// Requested name.
        name: String,
        /// Reason from the naming service.
        why: String,
    },
    /// The object has another interface.
    #[error("the object at {:?} does not have the interface {wanted}", abridged(.text))]
    WrongInterface {
        /// The reference.
        text: String,
        /// Repository id of the expected interface.
        wanted: &'static str,
    },
    /// The call for the object's type failed.
    #[error(fmt = not_called)]
    Call {
        /// The reference.
        text: String,
        /// Exception that the call raised.
        #[source]
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

fn malformed(text: &str, error: &ReferenceError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
        ReferenceError::Scheme { .. } => write!(f, "{error}"),
        _ => write!(f, "{:?} is not an object reference: {error}", abridged(text)),
    }
}

fn unknown_name(name: &str, known: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "there is no initial reference {name:?}")?;
    match known {
        [] => write!(f, "; specify one with -ORBInitRef {name}=URL"),
        _ => write!(f, ", only {}; specify it with -ORBInitRef {name}=URL", known.join(", ")),
    }
}

fn not_called(
    text: &str,
    exception: &SystemException,
    failure: &Option<Failure>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(f, "cannot reach {:?}: ", abridged(text))?;
    match failure {
        Some(failure) => write!(f, "{failure}"),
        None => write!(f, "{exception}"),
    }
}

impl fmt::Debug for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn texts_name_the_reference_and_the_remedy() {
        let system = || std::io::Error::other("gone");
        let file = ResolveError::File { path: "/tmp/a.ior".into(), error: system() };
        assert_eq!(file.to_string(), "cannot read the reference in /tmp/a.ior: gone");
        assert_eq!(file.source().expect("a cause").to_string(), "gone");
        assert_eq!(
            ResolveError::TooManyIndirections("file:a".to_owned()).to_string(),
            "following \"file:a\" led to more than 8 further references"
        );
        let unknown = |known: &[&str]| {
            let known = known.iter().map(|&name| name.to_owned()).collect();
            ResolveError::UnknownName { name: "Sonar".to_owned(), known }.to_string()
        };
        assert_eq!(
            unknown(&[]),
            "there is no initial reference \"Sonar\"; specify one with -ORBInitRef Sonar=URL"
        );
        assert_eq!(
            unknown(&["A", "B"]),
            "there is no initial reference \"Sonar\", only A, B; specify it with -ORBInitRef Sonar=URL"
        );
        let text = "x".repeat(61);
        let other = ResolveError::WrongInterface { text, wanted: "IDL:A:1.0" };
        assert_eq!(
            other.to_string(),
            format!(
                "the object at \"{}...\" does not have the interface IDL:A:1.0",
                "x".repeat(60)
            )
        );
        assert!(other.source().is_none());
        let exception = SystemException::bad_param(0, oxorb_object::CompletionStatus::No);
        let call = ResolveError::Call { text: "a".to_owned(), exception, failure: None };
        assert_eq!(call.to_string(), format!("cannot reach \"a\": {exception}"));
        assert_eq!(call.source().expect("a cause").to_string(), exception.to_string());
    }
}
