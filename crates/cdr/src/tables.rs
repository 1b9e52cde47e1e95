//! Maps and sets by key: hashed with random keys with the standard library, ordered without it.
//!
//! Keys come from peers. In an ordered map each step compares long keys with a common prefix from
//! the start, so that many of them cost more than linear time; a microcontroller bounds them by its
//! maximum message size.

#[cfg(not(feature = "std"))]
pub use alloc::collections::{BTreeMap as Table, BTreeSet as TableSet};
#[cfg(feature = "std")]
pub use std::collections::{HashMap as Table, HashSet as TableSet};
