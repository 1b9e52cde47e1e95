//! `DynAny` as the specification has it, and over types and values of all kinds.

#[path = "../../../../cdr/tests/it/types/mod.rs"]
mod types;

mod kinds;
mod walk;
