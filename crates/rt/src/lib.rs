//! Tools on the path of each request: reusable buffers, priorities, dispatching modules,
//! histograms, and probes of the stages of requests.
//!
//! After warm-up a request allocates nothing. Its buffers come from pools that belong to one lane,
//! so they need no lock.
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
