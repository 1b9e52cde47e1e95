//! Tests of launched plans, with one module for each subject.

mod locality;
mod wire;
