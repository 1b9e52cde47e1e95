//! The IDL front end: preprocessor, parser, names, checks, model.
//!
//! ```text
//! paths --load--> text --preprocess--> tokens --parse--> syntax --check--> Model
//!          \------------- every stage adds to one Diagnostics ------------/
//! ```
//! What can be made of a model: [IDL](mod@print), the [equivalent IDL](equivalent)
//! of CORBA 2, [JSON](show), the [differences](diff) from another one.
//! [`format`](mod@format) works on text alone.
//!
//! No stage stops at the first problem and none panics, whatever the input.
//! Nothing here knows of a target language.
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
pub use driver::{Compiled, Failed, Report, compile, compile_from};
pub use options::{Lenient, Limits, Options};
pub use preprocess::preprocess;
