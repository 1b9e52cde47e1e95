//! Tests of the demonstrations as programs, a module for each.

#[cfg(feature = "avionics")]
mod avionics;
mod common;
mod events;
mod lanes;
mod sched;
