//! Counts of the requests that a bridge passed on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of a [`Bridge`](crate::bridge::Bridge).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of two-way requests that ended with results or a user exception, which were passed on to the client.
    pub answered: u64,
    /// Number of oneway requests that were passed on.
    pub oneways: u64,
    /// Number of requests that ended with a system exception, raised by the target or by the bridge. Includes requests
    /// whose replies could not be encoded for the client. A reply that an interceptor of the bridge's ORB replaces, or
    /// that exceeds the limit of outgoing messages, counts as [`answered`](Self::answered). However, if results were
    /// decoded, and an interceptor replaces them before they are encoded again, the request counts as failed.
    pub failed: u64,
    /// Total size in octets of the arguments of all requests, except rewritten ones.
    pub octets: u64,
    /// Number of requests and replies that were decoded and encoded again, because of their references or because their
    /// octets could not be copied into the other message, and of those of unknown types whose references were replaced.
    pub rewritten: u64,
    /// Number of objects created for references that passed through. A gateway counts each reference that it replaces,
    /// because it stores none.
    pub references: u64,
    /// Number of references that a gateway refused to pass on. A bridge refuses none.
    pub refused: u64,
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
    pub(crate) refused: AtomicU64,
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
            refused: self.refused.load(Relaxed),
        }
    }

    /// Counts a two-way request by its answer: results or a user exception, or else a system exception.
    pub(crate) fn end(&self, is_answered: bool) {
        match is_answered {
            true => add(&self.answered, 1),
            false => add(&self.failed, 1),
        }
    }
}

pub(crate) fn add(count: &AtomicU64, number: u64) {
    count.fetch_add(number, Relaxed);
}
