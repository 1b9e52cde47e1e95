//! From the IDL model to Rust, and the API for build scripts.
#![forbid(unsafe_code)]

mod builder;
mod files;
pub mod plan;
mod reach;
pub mod rust;

pub use builder::{Builder, Error, Generated, compile};
pub use files::{Files, Stale, StaleState};
