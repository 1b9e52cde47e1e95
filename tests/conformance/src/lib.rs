//! Conformance suites of OxORB's open traits.
//!
//! Each suite is one test for each obligation that the trait's documentation states, and a macro
//! that instantiates all of them for one implementation:
//!
//! ```
//! oxorb_conformance::link!(memory, || {
//!     let (a, b) = oxorb_transport::mem::pair(4096);
//!     (Box::new(a) as _, Box::new(b) as _)
//! });
//! ```
//!
//! The suite [`transport!`] holds that of links, over connections that the transport makes.
//!
//! A transport or messaging of another crate names this crate among its `dev-dependencies` and writes the same
//! line into a test of its own.
#![forbid(unsafe_code)]

use std::time::Duration;

use oxorb_testkit::{Watchdog, watchdog};

pub mod link;
pub mod messaging;
pub mod transport;

/// Starts the watchdog that ends a test which hangs, after a time no healthy run comes near.
pub fn guard() -> Watchdog {
    watchdog(Duration::from_secs(120))
}
