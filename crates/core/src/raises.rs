//! Common interfaces of the error types of operations.

use oxorb_cdr::{Encoder, Result as CdrResult};
use oxorb_object::SystemException;

use crate::Orb;

/// An error that may be the exception `E`.
///
/// The error enum of each operation implements it for every exception in its `raises` clause and for
/// [`SystemException`], so that code can handle one exception of many operations.
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
    /// Returns the exception, if the error is this one.
    fn exception(&self) -> Option<&E>;
}

impl Raises<SystemException> for SystemException {
    fn exception(&self) -> Option<&SystemException> {
        Some(self)
    }
}

/// The error type of one operation as its servant returns it.
pub trait Raise {
    /// The system exception this is, if it is one; otherwise [`raise`](Self::raise) is called.
    fn system(&self) -> Option<SystemException>;

    /// Writes a user exception: its repository id, then its members.
    fn raise<'a>(&'a self, e: &mut Encoder<'a>) -> CdrResult<()>;

    /// Whether a message would bring the same exception, as [`Passes`](crate::Passes) says of values.
    #[doc(hidden)]
    fn passes(&self, orb: &Orb) -> bool {
        let _ = orb;
        true
    }
}

impl Raise for SystemException {
    fn system(&self) -> Option<SystemException> {
        Some(*self)
    }

    fn raise<'a>(&'a self, _: &mut Encoder<'a>) -> CdrResult<()> {
        Ok(())
    }
}
