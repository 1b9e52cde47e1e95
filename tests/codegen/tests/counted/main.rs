//! Costs of generated code's calls: allocations, locks, system calls, copied octets.
//!
//! Separate from the other tests of generated code: copies are counted for all connections of the process, and while
//! large replies to a client are pending, each request is examined before it runs, which affects the counts.

mod borrowed;
mod collocated;
mod confined;
mod direct;
mod in_place_attributes;
mod in_place_dynamic;
mod in_place_ends;
mod in_place_oneways;
mod in_place_policies;
#[cfg(debug_assertions)]
mod in_place_steady;
mod sized;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Release builds do not count the locks of a thread.
#[cfg(not(debug_assertions))]
#[test]
fn locks_are_counted() {
    oxorb_testkit::peers::missing("a debug build", "release builds count no locks");
}
