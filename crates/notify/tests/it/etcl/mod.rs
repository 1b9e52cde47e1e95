//! Tests of constraints and of the events that they match, with one module for each subject.

mod allocations;
mod common;
mod components;
mod fuzz_seeds;
mod grammar;
mod language;
mod model;
