//! UNIX sockets as a transport.

mod conformance;
mod fuzz_entry_points;
