//! Whether calls through a reference may be direct.

use crate::threads::sync::atomic::{AtomicU8, Ordering};

/// Cached answer to whether calls through a reference may be direct; only lasting answers are
/// cached.
#[derive(Debug, Default)]
pub(crate) struct Nearness(AtomicU8);

const UNKNOWN: u8 = 0;
const FAR: u8 = 1;
const NEAR: u8 = 2;

impl Nearness {
    /// Reports whether the reference certainly leads out of the process, or its ORB is configured
    /// for messages.
    #[inline(always)]
    pub(crate) fn is_far(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FAR
    }

    /// Reports whether nothing is cached yet.
    pub(crate) fn is_unknown(&self) -> bool {
        self.0.load(Ordering::Relaxed) == UNKNOWN
    }

    /// Caches the answer.
    pub(crate) fn found(&self, is_near: bool) {
        let found = if is_near { NEAR } else { FAR };
        self.0.store(found, Ordering::Relaxed);
    }
}
