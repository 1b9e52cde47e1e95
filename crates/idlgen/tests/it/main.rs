//! Rust from IDL: a module for each subject.

mod builder;
mod plan;
mod sizes;
