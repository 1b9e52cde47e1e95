//! Dispatching modules, a module for each subject.

mod allocations;
mod module;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
