//! `DynAny` as specified, and with types and values of all kinds.

#[path = "../../../../cdr/tests/it/types/mod.rs"]
mod types;

mod kinds;
mod walk;
