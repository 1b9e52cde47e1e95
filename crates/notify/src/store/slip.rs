//! Slips: outstanding deliveries of persistent events.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use super::Keeper;
use crate::event::Event;

/// An event in the queue of one consumer.
#[derive(Clone)]
pub(crate) struct Item {
    pub(crate) event: Arc<Event>,
    /// Slip of the event; `None` if the event is not stored.
    pub(crate) slip: Option<Arc<Slip>>,
}

/// A persistent event in the store.
pub(crate) struct Kept {
    pub(super) keeper: Weak<Keeper>,
    pub(super) number: u64,
    /// Size of the event in octets, including its slips.
    pub(super) octets: u64,
    /// Number of slips that are not settled.
    pub(super) left: AtomicUsize,
}

/// Outstanding delivery of a persistent event to one consumer. Dropping the last reference settles the slip, because
/// the consumer has then received the event, or a policy has dropped and counted it. While the service is ending, slips
/// are not settled, so that the events remain for the next start.
pub(crate) struct Slip {
    kept: Arc<Kept>,
    proxy: i32,
    settled: AtomicBool,
}

impl Slip {
    pub(crate) fn new(kept: &Arc<Kept>, proxy: i32) -> Arc<Slip> {
        Arc::new(Slip { kept: Arc::clone(kept), proxy, settled: AtomicBool::new(false) })
    }

    /// Removes the delivery from the store, and with the last delivery also the event.
    pub(crate) fn settle(&self) {
        if self.settled.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(keeper) = self.kept.keeper.upgrade() {
            let last = self.kept.left.fetch_sub(1, Ordering::AcqRel) == 1;
            keeper.settle(self.proxy, &self.kept, last);
        }
    }
}

impl Drop for Slip {
    fn drop(&mut self) {
        let keeper = self.kept.keeper.upgrade();
        if keeper.is_some_and(|keeper| !keeper.is_closing()) {
            self.settle();
        }
    }
}
