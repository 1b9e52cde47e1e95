//! What OMG's Deployment and Configuration describes, struct by struct with its names.

pub mod basic;
pub mod domain;
pub mod package;
pub mod plan;
pub mod rtcad;
pub mod value;
