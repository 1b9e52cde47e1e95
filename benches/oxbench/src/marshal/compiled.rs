//! Code that the generator writes for each type.

pub(super) mod idl {
    #![allow(missing_docs)]
    oxorb::include_idl!("marshal");
}

// `rows.rs` is included once for each kind of generated code, and uses the types of that kind.
#[allow(clippy::duplicate_mod)]
#[path = "rows.rs"]
pub(super) mod rows;
