//! Generator of Rust from the IDL model, and the API for build scripts.
//!
//! ```text
//! Model --reach--> what to generate --plan--> how values and calls travel --rust--> text --Files--> disk
//! ```
//!
//! [`plan`] depends on CDR but on no target language; [`rust`] generates Rust from the plans. A back end for another
//! language would be a second folder next to `rust`. The output refers only to one module of the run time
//! (`oxorb::__gen`) and to the standard library.
//!
//! For build scripts: [`compile`], or [`Builder`] with more options. `docs/mapping.md` of the repository describes the
//! mapping of each IDL construct.
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
