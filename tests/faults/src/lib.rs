//! Faults between processes: peers that stall, disappear, are killed or attack.
//!
//! All tests are in `tests`; each starts a server in a separate process and observes it from outside: whether other
//! clients are served, whether threads and memory stay bounded, whether it recovers without a restart. Faults of
//! networks are tested in network namespaces that a test creates (`tests/it/common/world.rs`), if the system permits
//! them.
//!
//! `cargo test -p oxorb-faults` runs tests that take seconds; `.ci/full faults` runs all (`-- --include-ignored`).
#![forbid(unsafe_code)]
