//! The `oxorb` command.
fn main() {}
