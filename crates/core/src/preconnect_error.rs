//! Why a connection was not opened ahead of the first call (`-ORBPreconnect`).

use std::error::Error;
use std::fmt;

use crate::failure::Failure;
use crate::resolve_error::{ResolveError, abridged};

/// An object of `-ORBPreconnect` to whose server no connection was opened.
///
/// `Debug` prints what `Display` does, so that a `main` which returns it is readable.
pub struct PreconnectError {
    /// The name or URL, as it was given.
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
        f.write_str("; start its server first, or take it out of -ORBPreconnect")
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
