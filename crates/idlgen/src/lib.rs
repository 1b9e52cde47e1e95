//! Generator of Rust from the IDL model, and the API for build scripts.
//!
//! ```text
//! Model --reach--> what to generate --plan--> how values and calls travel --rust--> text --Files--> disk
//! ```
//!
//! [`plan`] knows CDR but no target language; [`rust`] knows Rust and prints
//! what the plans say. Another back end is a second folder beside `rust`. The
//! output names nothing but one module of the run-time (`oxorb::__gen`) and
//! the standard library.
//!
//! For build scripts: [`compile`], or [`Builder`] for more choice. What becomes
//! of each IDL construct is told in `docs/mapping.md` of the repository.
#![forbid(unsafe_code)]

mod builder;
mod executors;
mod extra;
mod files;
mod lookup;
mod marshalling;
pub mod plan;
mod reach;
mod rt_infos;
pub mod rust;
mod sizes;

pub use builder::{Builder, Error, Generated, compile};
pub use files::{Files, Stale, StaleState};
pub use lookup::OperationLookup;
pub use marshalling::Marshalling;
pub use rust::case as spelling;
pub use sizes::{Bounds, Row, Sizes, sizes};
