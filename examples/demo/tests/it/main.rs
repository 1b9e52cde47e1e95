//! The demonstrations, run as people and programs do, a module for each.

#[cfg(feature = "avionics")]
mod avionics;
mod common;
mod events;
mod lanes;
mod sched;
