//! Checks of IDL, one module per diagnostic or small family.
//!
//! A module holds the messages of a diagnostic and, if the check needs nothing but its subject, the check itself. The
//! table `tests/idl-ui/facts` lists what each rule rejects, and the codes; `tests/idl-ui/fail/<name>.idl` combines many
//! cases in one source.

pub(crate) mod ambiguous;
pub(crate) mod annotation;
pub(crate) mod anonymous;
pub(crate) mod bases;
pub(crate) mod bits;
pub(crate) mod bound;
pub(crate) mod component;
pub(crate) mod constant;
pub(crate) mod context;
pub(crate) mod exception_as_type;
pub(crate) mod fixed;
pub(crate) mod forward;
pub(crate) mod incomplete;
pub(crate) mod like_scope;
pub(crate) mod local_type;
pub(crate) mod long_name;
pub(crate) mod operation;
pub(crate) mod pragma;
pub(crate) mod redefined;
pub(crate) mod similar;
pub(crate) mod struct_base;
pub(crate) mod syntax;
pub(crate) mod template;
pub(crate) mod too_deep;
pub(crate) mod undeclared;
pub(crate) mod union;
pub(crate) mod used_before;
pub(crate) mod value;
pub(crate) mod wrong_case;
pub(crate) mod wrong_kind;
