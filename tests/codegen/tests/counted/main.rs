//! What calls of generated code cost: allocations, locks, system calls, copied octets.
//!
//! Not beside the other tests of generated code: copies are counted for all connections of the process, and while a client is
//! owed large replies, each request is looked at before it runs, which counts.

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

/// Release builds do not count the locks that a thread takes.
#[cfg(not(debug_assertions))]
#[test]
fn locks_are_counted() {
    oxorb_testkit::peers::missing("a debug build", "release builds count no locks");
}
