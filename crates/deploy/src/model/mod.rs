//! Structs of OMG's Deployment and Configuration, with its names.

pub mod basic;
pub mod domain;
pub mod package;
pub mod plan;
pub mod rtcad;
pub mod value;
