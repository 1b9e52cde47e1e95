//! System exceptions raised by this crate.

use oxorb_object::{CompletionStatus, SystemException, minor};

const NO: CompletionStatus = CompletionStatus::No;

/// NO_PERMISSION for a request over a protocol without transport security, which the POA does not
/// accept.
pub(crate) const NOT_PROTECTED: SystemException =
    SystemException::no_permission(minor::no_permission::NOT_PROTECTED, NO);

/// OBJECT_NOT_EXIST for a key that belongs to no POA.
pub(crate) const NO_POA: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_POA, NO);

/// OBJECT_NOT_EXIST for an object that the POA does not have.
pub(crate) const NO_OBJECT: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, NO);

/// TRANSIENT: the manager discards requests, the limit of waiting requests is reached, or a request
/// waited too long.
pub(crate) const DISCARDED: SystemException =
    SystemException::transient(minor::transient::DISCARDING, NO);

/// TRANSIENT: the adapter is being destroyed, and cannot be recreated yet.
pub(crate) const POA_DESTROYED: SystemException =
    SystemException::transient(minor::transient::POA_DESTROYED, NO);

/// OBJ_ADAPTER: the manager was deactivated.
pub(crate) const INACTIVE: SystemException =
    SystemException::obj_adapter(minor::obj_adapter::INACTIVE, NO);

/// OBJ_ADAPTER: an adapter activator raised an exception.
pub(crate) const UNKNOWN_ADAPTER: SystemException =
    SystemException::obj_adapter(minor::obj_adapter::UNKNOWN_ADAPTER, NO);

/// OBJ_ADAPTER: the policy requires a default servant, and none is set.
pub(crate) const NO_DEFAULT_SERVANT: SystemException =
    SystemException::obj_adapter(minor::obj_adapter::NO_DEFAULT_SERVANT, NO);

/// OBJ_ADAPTER: the policy requires a servant manager, and none is set.
pub(crate) const NO_SERVANT_MANAGER: SystemException =
    SystemException::obj_adapter(minor::obj_adapter::NO_SERVANT_MANAGER, NO);

/// OBJ_ADAPTER: `incarnate` returned a servant that incarnates another object.
pub(crate) const INCARNATE_POLICY: SystemException =
    SystemException::obj_adapter(minor::obj_adapter::INCARNATE_POLICY, NO);

/// BAD_INV_ORDER: a servant manager is already set.
pub(crate) const SERVANT_MANAGER_SET: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::SERVANT_MANAGER_SET, NO);

/// BAD_INV_ORDER: a request would wait for requests to end, including itself.
pub(crate) const WOULD_DEADLOCK: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::WOULD_DEADLOCK, NO);

/// BAD_INV_ORDER: the creation of a POA while its predecessor of the same name is being destroyed.
pub(crate) const BEING_DESTROYED: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::POA_BEING_DESTROYED, NO);

/// BAD_PARAM: an id that the POA did not create.
pub(crate) const OBJECT_ID: SystemException =
    SystemException::bad_param(minor::bad_param::OBJECT_ID, NO);

/// TIMEOUT of a wait within the adapter.
pub(crate) const TIMED_OUT: SystemException =
    SystemException::timeout(minor::timeout::NOT_COMPLETED, NO);
