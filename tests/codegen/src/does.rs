//! What the values of the IDL do. It must be written in the crate that includes the generated code, as any `impl` of a trait
//! for a type stands in the crate of one of them.

pub mod behaviour;
mod mapping;
