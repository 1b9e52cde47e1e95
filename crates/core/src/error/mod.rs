//! Errors: exceptions that this crate raises, explanations of failed calls, and errors of the ORB's own functions.

pub(crate) mod failure;
mod preconnect_error;
pub(crate) mod raise;
mod raises;
mod resolve_error;
mod setup_error;

pub use failure::{Attempt, Failure};
pub(crate) use preconnect_error::Cause;
pub use preconnect_error::PreconnectError;
pub use raises::{Raises, ServantError};
pub(crate) use resolve_error::MAX_INDIRECTIONS;
pub use resolve_error::ResolveError;
pub use setup_error::SetupError;
