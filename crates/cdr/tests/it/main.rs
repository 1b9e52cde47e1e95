//! Tests of the codec, a module for each subject. A single program, to limit the time for linking.

mod any;
mod codec;
mod decimal;
mod dynamic;
mod dynamic_values;
mod golden;
mod jacorb_types;
mod long_double;
mod malformed;
mod memory;
mod model;
mod omniorb;
mod padding;
mod reading;
// These tests use `IoSlice`, which needs the standard library.
#[cfg(feature = "std")]
mod round_trip;
mod support;
mod text;
mod text_of_peers;
mod typecode;
mod types;
mod values;
mod values_on_the_wire;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
