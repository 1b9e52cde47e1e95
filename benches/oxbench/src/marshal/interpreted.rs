//! Tables, and one interpreter for all types.

pub(super) mod idl {
    #![allow(missing_docs)]
    include!(concat!(env!("OUT_DIR"), "/interpreted/marshal.rs"));
}

// `rows.rs` is included once for each kind of generated code, and uses the types of that kind.
#[allow(clippy::duplicate_mod)]
#[path = "rows.rs"]
pub(super) mod rows;
