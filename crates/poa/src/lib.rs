//! The portable object adapter.
#![forbid(unsafe_code)]
