//! Tests of links and their obligations, a module for each subject.

mod conformance;
mod signals;
mod steady_path;
mod stream;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
