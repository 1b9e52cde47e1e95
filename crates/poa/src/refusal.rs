//! The system exceptions of this crate, each once.

use oxorb_object::{CompletionStatus, SystemException, minor};

const NO: CompletionStatus = CompletionStatus::No;

/// The request came over a protocol that protects nothing, and the POA takes no such requests.
pub(crate) const NOT_PROTECTED: SystemException =
    SystemException::no_permission(minor::no_permission::NOT_PROTECTED, NO);

/// OBJECT_NOT_EXIST for a key that belongs to no POA.
pub(crate) const NO_POA: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_POA, NO);

/// The POA has no such object.
pub(crate) const NO_OBJECT: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, NO);

/// The manager discards, or as many requests wait as may, or one waited too long.
pub(crate) const DISCARDED: SystemException =
    SystemException::transient(minor::transient::DISCARDING, NO);

/// The adapter is on its way out, and nobody may make it anew yet.
pub(crate) const POA_DESTROYED: SystemException =
    SystemException::transient(minor::transient::POA_DESTROYED, NO);

/// The manager was deactivated.
pub(crate) const INACTIVE: SystemException =
    SystemException::obj_adapter(minor::obj_adapter::INACTIVE, NO);

/// An adapter activator raised an exception.
pub(crate) const UNKNOWN_ADAPTER: SystemException =
    SystemException::obj_adapter(minor::obj_adapter::UNKNOWN_ADAPTER, NO);

/// The policy wants a default servant, and there is none.
pub(crate) const NO_DEFAULT_SERVANT: SystemException =
    SystemException::obj_adapter(minor::obj_adapter::NO_DEFAULT_SERVANT, NO);

/// The policy wants a servant manager, and there is none.
pub(crate) const NO_SERVANT_MANAGER: SystemException =
    SystemException::obj_adapter(minor::obj_adapter::NO_SERVANT_MANAGER, NO);

/// `incarnate` gave a servant that incarnates another object.
pub(crate) const INCARNATE_POLICY: SystemException =
    SystemException::obj_adapter(minor::obj_adapter::INCARNATE_POLICY, NO);

/// A servant manager is set once.
pub(crate) const SERVANT_MANAGER_SET: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::SERVANT_MANAGER_SET, NO);

/// Waiting for requests to end from within one, or for oneself.
pub(crate) const WOULD_DEADLOCK: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::WOULD_DEADLOCK, NO);

/// A child, or a successor, of a POA that is being destroyed.
pub(crate) const BEING_DESTROYED: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::POA_BEING_DESTROYED, NO);

/// An id that the POA did not make.
pub(crate) const OBJECT_ID: SystemException =
    SystemException::bad_param(minor::bad_param::OBJECT_ID, NO);

/// TIMEOUT of a wait within the adapter.
pub(crate) const TIMED_OUT: SystemException =
    SystemException::timeout(minor::timeout::NOT_COMPLETED, NO);
