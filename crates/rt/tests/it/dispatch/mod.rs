//! Dispatching modules, a module for each subject.

mod allocations;
mod module;
