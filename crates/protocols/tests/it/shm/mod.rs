//! Shared memory as a transport, a module for each subject.

mod conformance;
mod copies;
mod killed;
mod large;
mod many;
mod pages;
mod refused;
mod watch;
