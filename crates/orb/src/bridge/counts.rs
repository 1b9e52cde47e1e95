//! Counts of the requests that a bridge passed on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of a [`Bridge`](crate::bridge::Bridge).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of two-way requests that ended with results or a user exception.
    pub answered: u64,
    /// Number of oneway requests that were passed on.
    pub oneways: u64,
    /// Number of requests that ended with a system exception, raised by the target or by the bridge.
    pub failed: u64,
    /// Total size in octets of the arguments of all requests, except rewritten ones.
    pub octets: u64,
    /// Number of requests and replies that were decoded and encoded again, because of their references or because their
    /// octets could not be copied into the other message.
    pub rewritten: u64,
    /// Number of objects created for references that passed through.
    pub references: u64,
}

/// Counters behind [`Statistics`].
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) answered: AtomicU64,
    pub(crate) oneways: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) octets: AtomicU64,
    pub(crate) rewritten: AtomicU64,
    pub(crate) references: AtomicU64,
}

impl Counts {
    pub(crate) fn read(&self) -> Statistics {
        Statistics {
            answered: self.answered.load(Relaxed),
            oneways: self.oneways.load(Relaxed),
            failed: self.failed.load(Relaxed),
            octets: self.octets.load(Relaxed),
            rewritten: self.rewritten.load(Relaxed),
            references: self.references.load(Relaxed),
        }
    }
}

pub(crate) fn add(count: &AtomicU64, number: u64) {
    count.fetch_add(number, Relaxed);
}
