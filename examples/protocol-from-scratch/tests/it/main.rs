//! The protocol against the conformance suites, and at work.

mod conformance;
mod gauge;
