//! Clients, bridges, gateways and servers.

mod bridge;
mod gateway;
mod gateway_hostile;
mod gateway_peers;
mod steady;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
