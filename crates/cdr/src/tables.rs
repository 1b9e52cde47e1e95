//! Maps and sets by key: hashed with random keys where the standard library is, ordered where it is not.
//!
//! Keys come from peers. In an ordered map each step compares long keys with a common beginning anew, so that many of
//! them cost more than linear time; a microcontroller bounds them by the size of its messages.

#[cfg(not(feature = "std"))]
pub use alloc::collections::{BTreeMap as Table, BTreeSet as TableSet};
#[cfg(feature = "std")]
pub use std::collections::{HashMap as Table, HashSet as TableSet};
