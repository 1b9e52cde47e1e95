//! Components made from IDL, for the tests beside it.
//!
//! That this crate compiles without a warning is the first test.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, rust_2018_idioms)]
#![deny(unused_qualifications, trivial_casts, unreachable_pub)]
#![deny(unused_lifetimes, single_use_lifetimes, clippy::all, clippy::pedantic)]

oxorb::include_idl!("avionics");

/// The page about components, whose examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/components.md")]
struct Page;
