//! Failure to open a connection ahead of the first call (`-ORBPreconnect`).

use std::error::Error;
use std::fmt;

use super::failure::Failure;
use super::resolve_error::{ResolveError, abridged};

/// Error of an object in `-ORBPreconnect` to whose server no connection could be opened.
///
/// `Debug` prints the same text as `Display`, so that a `main` which returns the error is readable.
pub struct PreconnectError {
    /// Name or URL, as given in the option.
    pub object: String,
    pub(crate) cause: Box<Cause>,
}

/// Cause of a [`PreconnectError`].
pub(crate) enum Cause {
    Unresolved(ResolveError),
    Unconnected(Failure),
}

impl fmt::Display for PreconnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = abridged(&self.object);
        write!(f, "cannot connect to {object:?} ahead of the first call: ")?;
        match &*self.cause {
            Cause::Unresolved(why) => why.fmt(f)?,
            Cause::Unconnected(why) => why.fmt(f)?,
        }
        f.write_str("; start its server first, or remove it from -ORBPreconnect")
    }
}

impl fmt::Debug for PreconnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for PreconnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(match &*self.cause {
            Cause::Unresolved(why) => why,
            Cause::Unconnected(why) => why,
        })
    }
}
