//! Common interface of the error types of operations.

use oxorb_object::SystemException;

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
