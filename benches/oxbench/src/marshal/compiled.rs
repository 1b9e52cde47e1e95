//! Code that the generator writes for each type.

pub(super) mod idl {
    #![allow(missing_docs)]
    oxorb::include_idl!("marshal");
}

// The same source for both kinds, with different types.
#[allow(clippy::duplicate_mod)]
#[path = "rows.rs"]
pub(super) mod rows;
