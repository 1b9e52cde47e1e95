//! Exceptions of this crate.

use oxorb::{CompletionStatus, SystemException, SystemExceptionKind, minor};

use crate::slots::Cancelled;

/// The distributable thread was cancelled.
pub(crate) fn cancelled(_: Cancelled, completed: CompletionStatus) -> SystemException {
    SystemException::new(SystemExceptionKind::ThreadCancelled, 0, completed)
}

/// The distributable thread was cancelled before anything was sent.
pub(crate) fn cancelled_here(cancelled: Cancelled) -> SystemException {
    self::cancelled(cancelled, CompletionStatus::No)
}

/// Segments are nested too deeply.
pub(crate) const TOO_DEEP: SystemException =
    SystemException::no_resources(minor::no_resources::SEGMENTS, CompletionStatus::No);

/// NO_RESOURCES when as many threads were spawned as may run.
pub(crate) const TOO_MANY: SystemException =
    SystemException::no_resources(minor::no_resources::DISTRIBUTABLE_THREADS, CompletionStatus::No);

/// The system gives no thread.
pub(crate) const NO_THREAD: SystemException =
    SystemException::no_resources(minor::no_resources::THREADS, CompletionStatus::No);

/// The thread is in no segment.
pub(crate) const NO_SEGMENT: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::NO_SEGMENT, CompletionStatus::No);

/// OBJECT_NOT_EXIST for a thread that this process does not know.
pub(crate) const UNKNOWN: SystemException = SystemException::object_not_exist(
    minor::object_not_exist::NO_DISTRIBUTABLE_THREAD,
    CompletionStatus::No,
);

/// The context of a request cannot be used.
pub(crate) const BAD_CONTEXT: SystemException =
    SystemException::marshal(minor::marshal::SCHEDULING_CONTEXT, CompletionStatus::No);

/// The run queue is full, or a thread has waited too long there.
pub(crate) const RUN_QUEUE: SystemException =
    SystemException::transient(minor::transient::RUN_QUEUE, CompletionStatus::No);
