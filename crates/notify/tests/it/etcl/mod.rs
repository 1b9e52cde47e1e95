//! Constraints and what they are true of, a module for each subject.

mod allocations;
mod common;
mod components;
mod fuzz_seeds;
mod grammar;
mod language;
mod model;
