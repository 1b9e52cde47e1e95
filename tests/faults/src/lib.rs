//! Faults between processes: peers that stall, vanish, are killed or never were up to any good.
//!
//! Everything is in `tests`; each starts a server in a process of its own and looks at it from
//! outside: are others served, do threads and memory stay, does it recover without a restart.
//! `cargo test -p oxorb-faults` runs what takes seconds; `.ci/run faults` the rest, too
//! (`-- --include-ignored`).
#![forbid(unsafe_code)]
