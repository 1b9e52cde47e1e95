//! Messages of GIOP, a module for each subject.

mod common;
mod conformance;
mod first;
mod fragments_1_1;
mod fuzz_entry_points;
mod inbox;
mod lent;
mod malformed;
mod pair;
mod vectors;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
