//! Whole ORBs over TLS, a module for each subject.

mod access;
mod both_ways;
mod fuzz_entry_points;
mod hostile;
mod openssl;
mod orb;
mod reload;
mod secure_only;
