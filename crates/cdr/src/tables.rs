//! Maps and sets by key: hashed with random keys with the standard library, ordered without it.
//!
//! Keys come from peers, which may choose many long keys with a common prefix. An ordered map
//! compares them from the start at each step, so that the total cost is more than linear. On a
//! microcontroller, the maximum message size limits this cost.

#[cfg(not(feature = "std"))]
pub use alloc::collections::{BTreeMap as Table, BTreeSet as TableSet};
#[cfg(feature = "std")]
pub use std::collections::{HashMap as Table, HashSet as TableSet};
