//! System exceptions of this crate.

use oxorb::{CompletionStatus, SystemException, SystemExceptionKind, minor};

use crate::slots::Cancelled;

/// Returns THREAD_CANCELLED with this completion status.
pub(crate) fn cancelled(_: Cancelled, completed: CompletionStatus) -> SystemException {
    SystemException::new(SystemExceptionKind::ThreadCancelled, 0, completed)
}

/// Returns THREAD_CANCELLED for a thread cancelled before anything was sent.
pub(crate) fn cancelled_here(cancelled: Cancelled) -> SystemException {
    self::cancelled(cancelled, CompletionStatus::No)
}

/// NO_RESOURCES if segments are nested too deeply.
pub(crate) const TOO_DEEP: SystemException =
    SystemException::no_resources(minor::no_resources::SEGMENTS, CompletionStatus::No);

/// NO_RESOURCES if the limit on spawned threads is reached.
pub(crate) const TOO_MANY: SystemException =
    SystemException::no_resources(minor::no_resources::DISTRIBUTABLE_THREADS, CompletionStatus::No);

/// NO_RESOURCES if the system provides no thread.
pub(crate) const NO_THREAD: SystemException =
    SystemException::no_resources(minor::no_resources::THREADS, CompletionStatus::No);

/// BAD_INV_ORDER if the thread is in no segment.
pub(crate) const NO_SEGMENT: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::NO_SEGMENT, CompletionStatus::No);

/// OBJECT_NOT_EXIST for a thread that this process does not know.
pub(crate) const UNKNOWN: SystemException = SystemException::object_not_exist(
    minor::object_not_exist::NO_DISTRIBUTABLE_THREAD,
    CompletionStatus::No,
);

/// MARSHAL if the context of a request cannot be used.
pub(crate) const BAD_CONTEXT: SystemException =
    SystemException::marshal(minor::marshal::SCHEDULING_CONTEXT, CompletionStatus::No);

/// TRANSIENT if the run queue is full, or a wait there times out.
pub(crate) const RUN_QUEUE: SystemException =
    SystemException::transient(minor::transient::RUN_QUEUE, CompletionStatus::No);
