//! What `build.rs` made of `idl/parts.idl`, for the tests.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "the IDL says it")]

oxorb::include_idl!("parts");
