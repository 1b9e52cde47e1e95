//! Whether calls through a reference may be direct.

use crate::sync::atomic::{AtomicU8, Ordering};

/// Whether calls through a reference may be direct, as far as that does not change.
#[derive(Debug, Default)]
pub(crate) struct Nearness(AtomicU8);

const UNKNOWN: u8 = 0;
const FAR: u8 = 1;
const NEAR: u8 = 2;

impl Nearness {
    /// Whether the reference certainly leads out of the process, or its ORB wants messages.
    #[inline(always)]
    pub(crate) fn is_far(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FAR
    }

    /// Whether nobody has looked yet.
    pub(crate) fn is_unknown(&self) -> bool {
        self.0.load(Ordering::Relaxed) == UNKNOWN
    }

    /// Notes what was found.
    pub(crate) fn found(&self, is_near: bool) {
        let found = if is_near { NEAR } else { FAR };
        self.0.store(found, Ordering::Relaxed);
    }
}
