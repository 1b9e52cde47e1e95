//! The IDL front end: preprocessor, parser, names, checks, model.
//!
//! ```text
//! paths --load--> text --preprocess--> tokens --parse--> syntax --check--> Model
//!          \------------- every stage adds to one Diagnostics ------------/
//! ```
//! A model can be converted to [IDL](mod@print), the [equivalent IDL](equivalent) of CORBA 2 and [JSON](show), and
//! [compared](diff) with another one. [`format`](mod@format) works on text alone. An [index] of names serves editors.
//!
//! No stage stops at the first problem or panics on any input. The crate is independent of target languages.
#![forbid(unsafe_code)]

mod ast;
mod check;
mod constant;
pub mod diagnostic;
pub mod diff;
mod driver;
pub mod equivalent;
pub mod format;
#[doc(hidden)]
pub mod fuzz;
pub mod implied;
pub mod index;
pub mod lex;
pub mod model;
mod options;
mod parse;
mod preprocess;
pub mod print;
mod resolve;
pub mod show;
pub mod source;

pub use check::similar::closest;
pub use driver::{Compiled, Failed, Report, compile, compile_from, compile_indexed};
pub use options::{Lenient, Limits, Options};
pub use preprocess::preprocess;
