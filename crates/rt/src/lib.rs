//! What the steady path shares: reusable buffers.
//!
//! After warm-up a request allocates nothing. What it needs comes from pools that a lane owns and
//! no other lane touches, so there is no lock either.
#![forbid(unsafe_code)]

mod pool;

pub use pool::BufferPool;
