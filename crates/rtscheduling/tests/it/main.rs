//! Distributable threads, a module for each subject.

mod common;
mod context;
mod processes;
mod segments;
mod steady_path;
mod upcalls;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
