//! Counters that all outlets of a dispatcher share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Counts;
use crate::sync::Lock;

/// Totals and limits of a dispatcher.
pub(crate) struct Totals {
    /// Number of outlets that are not closed.
    pub(crate) connected: AtomicUsize,
    /// Number of events in all queues; counted only if there is a limit.
    events: AtomicUsize,
    /// Maximum of `events`; 0 if there is no limit.
    limit: usize,
    departed: Lock<Counts>,
}

impl Totals {
    pub(crate) fn new(limit: usize) -> Arc<Totals> {
        Arc::new(Totals {
            connected: AtomicUsize::new(0),
            events: AtomicUsize::new(0),
            limit,
            departed: Lock::new(Counts::default()),
        })
    }

    /// Counts one more event and returns `true`; returns `false` if the limit is reached.
    pub(crate) fn reserve(&self) -> bool {
        if self.limit == 0 {
            return true;
        }
        let more = |events| (events < self.limit).then_some(events + 1);
        let added = self.events.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        added.is_ok()
    }

    /// Counts events that are put back into a queue, regardless of the limit.
    pub(crate) fn add(&self, events: usize) {
        if self.limit > 0 {
            self.events.fetch_add(events, Ordering::Relaxed);
        }
    }

    pub(crate) fn free(&self, events: usize) {
        if self.limit > 0 {
            self.events.fetch_sub(events, Ordering::Relaxed);
        }
    }

    /// Reports whether the limit of waiting events is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.limit > 0 && self.events.load(Ordering::Relaxed) >= self.limit
    }

    /// Adds the counters of an outlet that was dropped.
    pub(crate) fn departed(&self, counts: Counts) {
        *self.departed.lock() += counts;
    }

    /// Returns the counters of all outlets that were dropped.
    pub(crate) fn departed_in_all(&self) -> Counts {
        *self.departed.lock()
    }
}
