//! The lane whose thread the caller is.

use super::ThreadpoolId;
use crate::Orb;

/// Threadpool and lane of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CurrentLane {
    /// The threadpool.
    pub threadpool: ThreadpoolId,
    /// Index of the lane in the threadpool's plan, from 0.
    pub lane: u32,
}

impl Orb {
    /// Returns the threadpool and lane of this ORB whose thread the caller is: for a servant, those that
    /// serve its request. `None` in threads of the ORB's own pool, of connections and of the
    /// application. One look at a thread-local.
    ///
    /// ```
    /// let orb = oxorb_core::Orb::new(oxorb_core::Options::default());
    /// assert_eq!(orb.current_lane(), None, "this is a thread of the application");
    /// ```
    pub fn current_lane(&self) -> Option<CurrentLane> {
        self.serving_lane().map(|serving| CurrentLane {
            threadpool: ThreadpoolId(serving.pool),
            lane: serving.lane,
        })
    }
}
