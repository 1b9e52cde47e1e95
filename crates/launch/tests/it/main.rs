//! Tests of launched plans, with one module for each subject.

mod early;
mod locality;
mod wire;
