//! System exceptions of components.

use oxorb_object::{CompletionStatus, SystemException, minor};

/// The container is lightweight.
pub(crate) const LIGHTWEIGHT: SystemException =
    SystemException::no_implement(minor::no_implement::LIGHTWEIGHT, CompletionStatus::No);

/// No interface repository describes components.
pub(crate) const NO_DEFINITION: SystemException =
    SystemException::no_implement(minor::no_implement::NO_DEFINITION, CompletionStatus::No);
