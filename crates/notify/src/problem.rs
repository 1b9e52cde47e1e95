//! System exceptions of the services.

use oxorb::{CompletionStatus, SystemException, minor};

/// The object ends, or has ended.
pub(crate) const GONE: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

/// A limit is reached; the minor code names it.
pub(crate) const fn too_many(minor: u32) -> SystemException {
    SystemException::imp_limit(minor, CompletionStatus::No)
}

/// The service has to call the object that the reference leads to, and it is nil.
pub(crate) const fn nil() -> SystemException {
    SystemException::bad_param(minor::bad_param::NIL_PEER, CompletionStatus::No)
}

/// The operation needs a connected proxy.
pub(crate) const fn not_connected() -> SystemException {
    SystemException::bad_inv_order(minor::bad_inv_order::NOT_CONNECTED, CompletionStatus::No)
}
