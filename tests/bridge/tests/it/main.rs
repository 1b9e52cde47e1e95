//! Clients, bridges, gateways and servers.

mod bridge;
mod fuzz_entry_points;
mod gateway;
mod gateway_cancels;
mod gateway_clients;
mod gateway_hostile;
mod gateway_limits;
mod gateway_peers;
mod gateway_protocols;
mod gateway_types;
mod steady;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
