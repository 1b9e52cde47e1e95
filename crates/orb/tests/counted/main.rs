//! Tests that count what a call costs: allocations, locks, system calls, instructions.
//!
//! Not beside the other tests of whole ORBs: while a client of the process is owed large replies, each request is looked at
//! before it runs, which counts.

#[path = "../common/mod.rs"]
mod common;

mod access_rules;
mod budgets;
mod connection_cost;
mod demux_cost;
mod probes;
mod realtime_client;
mod steady_path;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
