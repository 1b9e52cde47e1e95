//! Avionics display of *Configuring Real-time Aspects in Component Middleware* (Wang and others): its components, and
//! the plans that make a system of them.
//!
//! Components are independent of threads, priorities and nodes: plans and real-time resources decide these.
#![forbid(unsafe_code)]

mod cached;
mod clock;
#[cfg(feature = "collision")]
mod collision;
mod navigation;
pub mod plans;
mod rate_generator;
mod screen;

use oxorb::deployment::Implementations;

oxorb::include_idl!("avionics");

/// Returns the implementations linked into an executable of this system, by the entry points in plans.
pub fn implementations() -> Implementations {
    let known = navigation::implementations(Implementations::new());
    #[cfg(feature = "collision")]
    let known = collision::implementations(known);
    known
}
