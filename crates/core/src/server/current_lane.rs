//! Lane of the calling thread.

use crate::ThreadpoolId;

/// Threadpool and lane of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CurrentLane {
    /// Threadpool.
    pub threadpool: ThreadpoolId,
    /// Index of the lane in the threadpool's plan, from 0.
    pub lane: u32,
}
