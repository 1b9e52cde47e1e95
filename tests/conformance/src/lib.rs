//! Conformance suites of OxORB's open traits.
//!
//! Each suite has one test for each obligation in the trait's documentation, and a macro that instantiates all of them
//! for one implementation:
//!
//! ```
//! oxorb_conformance::link!(memory, || {
//!     let (a, b) = oxorb_transport::mem::pair(4096);
//!     (Box::new(a) as _, Box::new(b) as _)
//! });
//! ```
//!
//! The suite [`transport!`] includes that of links, over connections of the transport.
//!
//! A crate with another transport or messaging adds this crate to its `dev-dependencies` and the corresponding line to
//! one of its tests.
#![forbid(unsafe_code)]

use std::time::Duration;

use oxorb_testkit::{Watchdog, watchdog};

pub mod link;
pub mod messaging;
pub mod transport;

/// Starts the watchdog that ends a hanging test, after a time that no correct run takes.
pub fn guard() -> Watchdog {
    watchdog(Duration::from_secs(120))
}
