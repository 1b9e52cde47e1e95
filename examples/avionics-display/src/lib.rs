//! The avionics display of *Configuring Real-time Aspects in Component Middleware* (Wang and others): its components, and
//! the plans that make a system of them.
//!
//! No component knows a thread, a priority or the node it runs on: plans and real-time resources say that.
#![forbid(unsafe_code)]

mod cached;
mod clock;
mod collision;
mod navigation;
pub mod plans;
mod rate_generator;
mod screen;

use oxorb::deployment::Implementations;

oxorb::include_idl!("avionics");

/// Returns what an executable that runs this system links in, by the entry points that plans name.
pub fn implementations() -> Implementations {
    let navigation = navigation::implementations(Implementations::new());
    collision::implementations(navigation)
}
