//! Code that the generator writes out for each type.

pub(super) mod idl {
    #![allow(missing_docs)]
    oxorb::include_idl!("marshal");
}

// Twice the same source, of different types.
#[allow(clippy::duplicate_mod)]
#[path = "rows.rs"]
pub(super) mod rows;
