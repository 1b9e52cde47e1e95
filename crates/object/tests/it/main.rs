//! References and exceptions, a module for each subject.

mod equivalence;
mod errors_of_the_codec;
mod explained;
mod fuzz_entry_points;
mod references;
