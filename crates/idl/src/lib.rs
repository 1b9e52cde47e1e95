//! The IDL front end: preprocessor, parser, names, checks, model.
#![forbid(unsafe_code)]

pub mod model;
pub mod source;
