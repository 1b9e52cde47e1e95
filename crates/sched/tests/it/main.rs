//! Tests of schedules, their analysis and their queues, a module for each subject.

mod aadl;
mod agreement;
mod analyses;
mod controller;
mod extremes;
mod peers;
mod properties;
mod queues;
mod schedules;
mod table_1;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
