//! Values of types known only at run time, a module for each subject.

mod dyn_any;
#[cfg(feature = "json")]
mod fuzz_entry_points;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "json")]
mod json_round_trip;
mod request;
