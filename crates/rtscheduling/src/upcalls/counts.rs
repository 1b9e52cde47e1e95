//! Counters of an upcall.

use std::sync::atomic::{AtomicU64, Ordering};

use oxorb::rt::Histogram;

/// Snapshot of an upcall's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UpcallCounts {
    /// Number of completed calls.
    pub runs: u64,
    /// Number of calls that ended after their deadlines.
    pub misses: u64,
    /// Number of calls that had not ended at the next release.
    pub overruns: u64,
    /// Number of skipped releases.
    pub skipped: u64,
    /// Number of calls at a lower priority than the upcall's.
    pub demoted: u64,
    /// Number of calls that ended with an exception or a panic.
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
