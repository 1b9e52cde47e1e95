//! Common interfaces of the error types of operations.

use oxorb_cdr::{Encoder, Result as CdrResult};
use oxorb_object::SystemException;

use crate::Orb;

/// Error that may hold the exception `E`.
///
/// The error enum of each operation implements it for every exception in its `raises` clause and
/// for [`SystemException`], so that code can handle one exception of many operations.
///
/// ```
/// use oxorb_core::Raises;
/// use oxorb_object::{CompletionStatus, SystemException, SystemExceptionKind, minor};
///
/// fn is_gone(error: &impl Raises<SystemException>) -> bool {
///     error
///         .exception()
///         .is_some_and(|exception| exception.kind == SystemExceptionKind::ObjectNotExist)
/// }
/// let gone = SystemException::object_not_exist(minor::object_not_exist::NO_POA, CompletionStatus::No);
/// assert!(is_gone(&gone));
/// ```
pub trait Raises<E> {
    /// Returns the exception, if the error holds it.
    fn exception(&self) -> Option<&E>;
}

impl Raises<SystemException> for SystemException {
    fn exception(&self) -> Option<&SystemException> {
        Some(self)
    }
}

/// Error type of one operation on the server side.
pub trait ServantError {
    /// Returns the system exception, if the error is one; otherwise [`raise`](Self::raise) is
    /// called.
    fn system(&self) -> Option<SystemException>;

    /// Writes the user exception: its repository id, then its members.
    fn raise<'a>(&'a self, e: &mut Encoder<'a>) -> CdrResult<()>;

    /// Reports whether a message would carry the exception unchanged, as [`Passes`](crate::Passes)
    /// does for values.
    #[doc(hidden)]
    fn passes(&self, orb: &Orb) -> bool {
        let _ = orb;
        true
    }
}

impl ServantError for SystemException {
    fn system(&self) -> Option<SystemException> {
        Some(*self)
    }

    fn raise<'a>(&'a self, _: &mut Encoder<'a>) -> CdrResult<()> {
        Ok(())
    }
}
