//! Exceptions that an operation can return instead of results.

use std::fmt;

use oxorb_cdr::{
    Dynamic, DynamicError, Encoder, ErrorKind, Printable, Result as CdrResult, TypeCode,
};
use oxorb_core::ServantError;
use oxorb_object::{CompletionStatus, SystemException, minor};

/// Exception that an operation declares.
#[derive(Clone, PartialEq, Debug)]
pub struct UserException {
    /// Type of the exception.
    pub ty: TypeCode,
    /// Members, as a [`Dynamic::Struct`].
    pub members: Dynamic,
}

impl UserException {
    /// Returns the repository id.
    pub fn id(&self) -> &str {
        self.ty.id().unwrap_or_default()
    }
}

/// Reason why a call without stubs has no results.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Exception {
    /// Exception that the operation declares.
    User(UserException),
    /// User exception that the operation does not declare, of which only the repository id is
    /// known. A stub would raise `UNKNOWN`.
    Unlisted(String),
    /// System exception.
    System(SystemException),
    /// A value does not match its type, or received octets are invalid.
    Value {
        /// Name of the parameter, or `return value`, or the exception.
        of: String,
        /// Error, and its path within the value.
        error: DynamicError,
        /// Exception that a stub would raise: `BAD_PARAM`, `MARSHAL`, `DATA_CONVERSION`.
        exception: SystemException,
    },
}

impl Exception {
    /// Creates a declared exception, if the members match its type.
    pub fn user(ty: TypeCode, members: Dynamic) -> Result<Self, DynamicError> {
        members.check(&ty)?;
        Ok(Exception::User(UserException { ty, members }))
    }

    /// Returns the system exception that a caller with stubs, which does not declare the exception,
    /// would receive.
    pub fn to_system(&self) -> SystemException {
        match self {
            Exception::System(exception) | Exception::Value { exception, .. } => *exception,
            Exception::User(_) | Exception::Unlisted(_) => UNLISTED,
        }
    }

    /// Returns the exception for an argument; the operation did not run.
    pub(crate) fn argument(of: &str, error: DynamicError) -> Self {
        Self::value(of, error, CompletionStatus::No)
    }

    /// Returns the exception for a result or the members of an exception; the operation ran.
    pub(crate) fn result(of: &str, error: DynamicError) -> Self {
        Self::value(of, error, CompletionStatus::Yes)
    }

    fn value(of: &str, error: DynamicError, completed: CompletionStatus) -> Self {
        Exception::Value {
            exception: SystemException::from_cdr(error.to_cdr(0), completed),
            of: of.to_owned(),
            error,
        }
    }
}

/// UNKNOWN for a user exception that the operation does not declare.
pub(crate) const UNLISTED: SystemException =
    SystemException::unknown(minor::unknown::UNLISTED_USER_EXCEPTION, CompletionStatus::Yes);

impl From<SystemException> for Exception {
    fn from(exception: SystemException) -> Self {
        Exception::System(exception)
    }
}

impl From<UserException> for Exception {
    fn from(exception: UserException) -> Self {
        Exception::User(exception)
    }
}

/// Maximum number of characters of a peer's repository id in a message.
const SHOWN: usize = 200;

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exception::User(exception) => {
                let id = Printable(exception.id());
                write!(f, "the operation raised {id:.SHOWN$}")
            }
            Exception::Unlisted(id) => {
                let id = Printable(id);
                write!(f, "the operation raised {id:.SHOWN$}, which it does not declare")
            }
            Exception::System(exception) => exception.fmt(f),
            Exception::Value { of, error, .. } => {
                let dot = match error.path.as_bytes().first() {
                    None => ": ",
                    Some(b'[') => "",
                    Some(_) => ".",
                };
                write!(f, "{of}{dot}{error}")
            }
        }
    }
}

impl fmt::Debug for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Exception {}

impl ServantError for Exception {
    fn system(&self) -> Option<SystemException> {
        match self {
            Exception::User(_) => None,
            other => Some(other.to_system()),
        }
    }

    fn raise<'a>(&'a self, e: &mut Encoder<'a>) -> CdrResult<()> {
        let at = e.position();
        match self {
            Exception::User(UserException { ty, members }) => {
                // The encoding of an exception begins with its repository id, so nothing precedes
                // it here.
                let written = members.encode(ty, e);
                written.map_err(|error| error.to_cdr(at))
            }
            _ => Err(ErrorKind::BadValue.at(at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_peers_exception_cannot_control_a_terminal() {
        let id = "IDL:E:1.0\nerror: all is lost\u{1b}[2J";
        let ty = TypeCode::exception(id, "E", [] as [(&str, TypeCode); 0]);
        let members = Dynamic::Struct(Vec::new());
        for exception in [
            Exception::Unlisted(id.to_owned()),
            Exception::User(UserException { ty, members }),
            Exception::Unlisted("x".repeat(1 << 20)),
        ] {
            let text = exception.to_string();
            assert!(!text.contains(|c: char| c.is_control()), "{text}");
            assert!(text.len() < 300, "{}", text.len());
        }
    }
}
