//! System exceptions that the services raise.

use oxorb::{CompletionStatus, SystemException, minor};

/// Exception for an object that is ending or has ended.
pub(crate) const GONE: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

/// Returns IMP_LIMIT with a minor code that identifies the limit.
pub(crate) const fn too_many(minor: u32) -> SystemException {
    SystemException::imp_limit(minor, CompletionStatus::No)
}

/// Returns the exception for a nil reference to an object that the service must call.
pub(crate) const fn nil() -> SystemException {
    SystemException::bad_param(minor::bad_param::NIL_PEER, CompletionStatus::No)
}

/// Returns the exception for an operation that requires a connected proxy.
pub(crate) const fn not_connected() -> SystemException {
    SystemException::bad_inv_order(minor::bad_inv_order::NOT_CONNECTED, CompletionStatus::No)
}
