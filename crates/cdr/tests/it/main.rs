//! Tests of the codec, a module for each subject. One program, so that most of what they cost is not linking.

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
// Shows messages as the standard library's slices.
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
