//! Tests of event channels, with one module for each part.

mod channel;
mod far_supplier;
mod filter;
mod gateway;
mod no_allocation;
#[cfg(feature = "recording")]
mod recording;
mod steady;
mod system_calls;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
