//! Tests of event delivery, with one module for each subject.

mod allocations;
mod common;
mod deliver;
mod ordinary;
mod time;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
