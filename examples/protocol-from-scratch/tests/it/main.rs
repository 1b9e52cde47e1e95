//! Conformance suites of the protocol, and calls over it.

mod conformance;
mod gauge;
