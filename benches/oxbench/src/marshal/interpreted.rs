//! Tables, and one interpreter for all types.

pub(super) mod idl {
    #![allow(missing_docs)]
    include!(concat!(env!("OUT_DIR"), "/interpreted/marshal.rs"));
}

// The same source for both kinds, with different types.
#[allow(clippy::duplicate_mod)]
#[path = "rows.rs"]
pub(super) mod rows;
