//! Generated components, a module for each subject.

mod cockpit;
mod golden;
mod steady;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
