//! Tests of distributable threads, a module for each subject.

mod common;
mod context;
mod processes;
mod segments;
#[cfg(debug_assertions)]
mod steady_path;
mod upcalls;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Release builds do not count the locks that a thread takes.
#[cfg(not(debug_assertions))]
#[test]
fn locks_are_counted() {
    oxorb_testkit::peers::missing("a debug build", "release builds count no locks");
}
