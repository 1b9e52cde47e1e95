//! Datagrams as a transport.

mod fuzz_entry_points;
