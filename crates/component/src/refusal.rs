//! System exceptions of components.

use oxorb_object::{CompletionStatus, SystemException, minor};

/// Exception for operations that a lightweight container does not support.
pub(crate) const LIGHTWEIGHT: SystemException =
    SystemException::no_implement(minor::no_implement::LIGHTWEIGHT, CompletionStatus::No);

/// Exception for requests for definitions, because no interface repository describes components.
pub(crate) const NO_DEFINITION: SystemException =
    SystemException::no_implement(minor::no_implement::NO_DEFINITION, CompletionStatus::No);
