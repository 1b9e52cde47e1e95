//! Tools of the steady path: reusable buffers, priorities, and probes that tell how long its stages
//! take.
//!
//! After warm-up a request allocates nothing. What it needs comes from pools that a lane owns and
//! no other lane touches, so there is no lock either.
#![forbid(unsafe_code)]

pub mod dispatch;
mod histogram;
mod mapping;
mod pool;
mod priority;
pub mod probe;

pub use histogram::{Distribution, Histogram};
pub use mapping::{Mapping, PriorityMapping, PriorityTransform, dscp};
pub use pool::BufferPool;
pub use priority::{NativePriority, NativeRange, OutOfRange, Priority};
