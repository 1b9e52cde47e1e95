//! Counters of an upcall.

use std::sync::atomic::{AtomicU64, Ordering};

use oxorb::Histogram;

/// Counters of an upcall, as of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UpcallCounts {
    /// Calls that have ended.
    pub runs: u64,
    /// Calls that have ended after their deadline.
    pub misses: u64,
    /// Calls that had not ended when the next one was released.
    pub overruns: u64,
    /// Releases that were dropped.
    pub skipped: u64,
    /// Calls that were made at a lower priority than the upcall's.
    pub demoted: u64,
    /// Calls that have ended with an exception or a panic.
    pub failures: u64,
}

#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) runs: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) overruns: AtomicU64,
    pub(super) skipped: AtomicU64,
    pub(super) demoted: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) latency: Histogram,
    pub(super) response: Histogram,
}

impl Measured {
    pub(super) fn counts(&self) -> UpcallCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        UpcallCounts {
            runs: read(&self.runs),
            misses: read(&self.misses),
            overruns: read(&self.overruns),
            skipped: read(&self.skipped),
            demoted: read(&self.demoted),
            failures: read(&self.failures),
        }
    }
}

pub(super) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}
