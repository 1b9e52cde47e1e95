//! The IDL front end: preprocessor, parser, names, checks, model.
#![forbid(unsafe_code)]
