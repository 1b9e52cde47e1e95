//! Constraints and the events that they match, a module for each subject.

mod allocations;
mod common;
mod components;
mod fuzz_seeds;
mod grammar;
mod language;
mod model;
