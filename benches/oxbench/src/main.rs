//! Every experiment in one command.
fn main() {}
