//! Behaviour of the IDL's values. It must be in the crate that includes the generated code, since an `impl` of a trait
//! for a type must be in the crate of one of them.

pub mod behaviour;
mod mapping;
