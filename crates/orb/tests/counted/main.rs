//! Tests that count the cost of a call: allocations, locks, system calls, instructions.
//!
//! Separate from the other tests of whole ORBs: while the process owes a client large replies, it checks each request
//! before it runs it, which would add to the counts.

#[path = "../common/mod.rs"]
mod common;

#[cfg(debug_assertions)]
mod access_rules;
#[cfg(debug_assertions)]
mod budgets;
mod connection_cost;
mod demux_cost;
#[cfg(debug_assertions)]
mod metrics_cost;
#[cfg(debug_assertions)]
mod probes;
mod realtime_client;
#[cfg(debug_assertions)]
mod steady_path;
mod watchers;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Release builds do not count the locks that a thread takes.
#[cfg(not(debug_assertions))]
#[test]
fn locks_are_counted() {
    oxorb_testkit::peers::missing("a debug build", "release builds count no locks");
}
