//! Launched plans, a module for each subject.

mod locality;
mod wire;
