//! System exceptions of components.

use oxorb_object::{CompletionStatus, SystemException, minor};

/// The container is lightweight.
pub(crate) const LIGHTWEIGHT: SystemException =
    SystemException::no_implement(minor::no_implement::LIGHTWEIGHT, CompletionStatus::No);

/// NO_IMPLEMENT: components are described by no interface repository.
pub(crate) const NO_DEFINITION: SystemException =
    SystemException::no_implement(minor::no_implement::NO_DEFINITION, CompletionStatus::No);
