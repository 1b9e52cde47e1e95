//! Tests of the notification service, alone and with other implementations.

mod etcl;
mod jacorb;
mod notify;
mod omnievents;
mod steady;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
