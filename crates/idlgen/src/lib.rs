//! From the IDL model to Rust, and the build.rs API.
#![forbid(unsafe_code)]
