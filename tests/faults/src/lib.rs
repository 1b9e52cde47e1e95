//! Faults between processes: peers that stall, vanish, are killed or never were up to any good.
//!
//! Everything is in `tests`; each starts a server in a process of its own and looks at it from
//! outside: are others served, do threads and memory stay, does it recover without a restart.
//! What only a network can do to a connection, it does in network namespaces that a test makes for
//! itself (`tests/it/common/world.rs`), where the system permits them.
//!
//! `cargo test -p oxorb-faults` runs what takes seconds; `.ci/full faults` the rest, too
//! (`-- --include-ignored`).
#![forbid(unsafe_code)]
