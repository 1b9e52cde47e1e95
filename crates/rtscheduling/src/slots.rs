//! Registry of distributable threads: each native thread records its own, under a lock that other
//! threads take only to search for a thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::Id;
use crate::sync::{Condvar, Mutex};

/// Maximum number of cancelled ids that are remembered because their requests may still arrive.
const REMEMBERED: usize = 64;

/// Time for which cancelled ids are remembered.
const EARLY: Duration = Duration::from_secs(60);

/// Native threads of a process that are, or were, distributable ones. `W` is the type of
/// destinations of calls.
pub(crate) struct Registry<W> {
    slots: Mutex<Vec<Arc<Slot<W>>>>,
    /// Ids cancelled before their arrival, the oldest first.
    early: Mutex<VecDeque<(Id, Instant)>>,
    /// Length of `early`, so that requests need not take its lock.
    early_count: AtomicUsize,
}

/// Distributable threads of one native thread, the outermost first.
pub(crate) struct Slot<W> {
    entries: Mutex<Vec<Entry<W>>>,
    changed: Condvar,
}

struct Entry<W> {
    id: Id,
    cancelled: bool,
    /// Destination of the current call.
    away: Option<W>,
}

/// Error for a cancelled thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cancelled;

/// Result of a search for a thread to cancel.
#[derive(Debug)]
pub(crate) struct Found<W> {
    /// Number of native threads that the thread is in.
    pub(crate) here: usize,
    /// Calls that the thread has made, to be followed once each.
    pub(crate) away: Vec<W>,
}

impl<W> Default for Registry<W> {
    fn default() -> Self {
        Registry {
            slots: Mutex::new(Vec::new()),
            early: Mutex::new(VecDeque::new()),
            early_count: AtomicUsize::new(0),
        }
    }
}

impl<W> Registry<W> {
    /// Adds a native thread, once for each thread. Takes the registry's lock.
    pub(crate) fn attach(&self) -> Arc<Slot<W>> {
        let slot = Arc::new(Slot { entries: Mutex::new(Vec::new()), changed: Condvar::new() });
        self.slots.lock().push(Arc::clone(&slot));
        slot
    }

    /// Removes a native thread.
    pub(crate) fn detach(&self, slot: &Arc<Slot<W>>) {
        self.slots.lock().retain(|known| !Arc::ptr_eq(known, slot));
    }

    /// Returns whether a distributable thread was cancelled; `None` if it is not in this process.
    pub(crate) fn find(&self, id: &Id) -> Option<Result<(), Cancelled>> {
        let slots = self.slots.lock();
        slots.iter().find_map(|slot| slot.find(id))
    }

    /// Marks a distributable thread as cancelled in all native threads. Entries already marked are
    /// not counted.
    pub(crate) fn cancel(&self, id: &Id) -> Found<W>
    where
        W: Clone,
    {
        let mut found = Found { here: 0, away: Vec::new() };
        for slot in &*self.slots.lock() {
            slot.cancel(id, &mut found);
        }
        found
    }

    /// Marks a thread as cancelled that is here or about to arrive. If the thread is not found, its
    /// id is remembered and its request is refused on arrival.
    pub(crate) fn cancel_even_early(&self, id: &Id) -> Found<W>
    where
        W: Clone,
    {
        let found = self.cancel(id);
        if found.here > 0 {
            return found;
        }
        self.cancel_early(id);
        // The thread may have arrived before its id was remembered, so search for it again.
        self.cancel(id)
    }

    /// Remembers for a minute that a thread was cancelled before its arrival. At the limit the
    /// oldest id is forgotten.
    fn cancel_early(&self, id: &Id) {
        let mut early = self.early.lock();
        early.retain(|(known, _)| known != id);
        if early.len() == REMEMBERED {
            early.pop_front();
        }
        early.push_back((*id, Instant::now()));
        self.early_count.store(early.len(), Ordering::Release);
    }

    /// Reports whether a thread was cancelled before it arrived. Usually reads only a counter.
    #[inline]
    pub(crate) fn was_cancelled_early(&self, id: &Id) -> bool {
        self.early_count.load(Ordering::Acquire) > 0 && self.is_early(id)
    }

    #[cold]
    fn is_early(&self, id: &Id) -> bool {
        let mut early = self.early.lock();
        early.retain(|(_, since)| since.elapsed() < EARLY);
        self.early_count.store(early.len(), Ordering::Release);
        early.iter().any(|(known, _)| known == id)
    }
}

impl<W> Slot<W> {
    /// Records that a distributable thread begins or arrives here.
    pub(crate) fn enter(&self, id: Id) {
        self.entries.lock().push(Entry { id, cancelled: false, away: None });
    }

    /// Records that the innermost thread ends or leaves.
    pub(crate) fn leave(&self) -> Result<(), Cancelled> {
        let left = self.entries.lock().pop();
        self.changed.notify_all();
        match left {
            Some(entry) if entry.cancelled => Err(Cancelled),
            _ => Ok(()),
        }
    }

    /// Records that the innermost thread leaves with a call, unless it was cancelled; a later
    /// cancellation follows the call.
    pub(crate) fn go(&self, to: W) -> Result<(), Cancelled> {
        self.innermost(|entry| match entry.cancelled {
            true => Err(Cancelled),
            false => {
                entry.away = Some(to);
                Ok(())
            }
        })
    }

    /// Records that the innermost thread has returned.
    pub(crate) fn come_back(&self) -> Result<(), Cancelled> {
        let (gone, cancelled) = {
            let mut entries = self.entries.lock();
            match entries.last_mut() {
                Some(entry) => (entry.away.take(), entry.cancelled),
                None => (None, false),
            }
        };
        drop(gone);
        match cancelled {
            true => Err(Cancelled),
            false => Ok(()),
        }
    }

    /// Checks that the innermost thread was not cancelled.
    pub(crate) fn check(&self) -> Result<(), Cancelled> {
        self.innermost(|entry| match entry.cancelled {
            true => Err(Cancelled),
            false => Ok(()),
        })
    }

    /// Marks the innermost thread as cancelled by the process that it returns from.
    pub(crate) fn mark(&self) {
        let _ = self.innermost(|entry| {
            entry.cancelled = true;
            Ok(())
        });
    }

    /// Waits until the innermost thread is cancelled, for at most `duration`.
    pub(crate) fn sleep(&self, duration: Duration) -> Result<(), Cancelled> {
        let until = Instant::now().checked_add(duration);
        self.wait_while(until, |entries| entries.last().is_some_and(|entry| !entry.cancelled));
        self.check()
    }

    /// Waits until no thread with this id is here, at most until `until`. Reports whether none is.
    pub(crate) fn wait_gone(&self, id: &Id, until: Instant) -> bool {
        self.wait_while(Some(until), |entries| entries.iter().any(|entry| entry.id == *id))
    }

    fn wait_while(&self, until: Option<Instant>, waits: impl Fn(&[Entry<W>]) -> bool) -> bool {
        let mut entries = self.entries.lock();
        while waits(&entries) {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            // Without a time to wait for, wait a day at a time, because clocks cannot represent
            // every duration.
            let left = left.unwrap_or(Duration::from_secs(86_400));
            entries = self.changed.wait_timeout(entries, left).0;
        }
        true
    }

    fn innermost(
        &self,
        look: impl FnOnce(&mut Entry<W>) -> Result<(), Cancelled>,
    ) -> Result<(), Cancelled> {
        self.entries.lock().last_mut().map_or(Ok(()), look)
    }

    fn find(&self, id: &Id) -> Option<Result<(), Cancelled>> {
        let entries = self.entries.lock();
        let entry = entries.iter().find(|entry| entry.id == *id)?;
        Some(match entry.cancelled {
            true => Err(Cancelled),
            false => Ok(()),
        })
    }

    fn cancel(&self, id: &Id, found: &mut Found<W>)
    where
        W: Clone,
    {
        let mut entries = self.entries.lock();
        for entry in entries.iter_mut().filter(|entry| entry.id == *id) {
            found.here += 1;
            if !entry.cancelled {
                entry.cancelled = true;
                found.away.extend(entry.away.clone());
            }
        }
        drop(entries);
        self.changed.notify_all();
    }
}

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use super::*;

    #[test]
    fn of_early_cancels_the_last_are_remembered() {
        let registry = Registry::<()>::default();
        let ids: Vec<Id> = (0..REMEMBERED + 1).map(|_| Id::new()).collect();
        assert!(!registry.was_cancelled_early(&ids[0]));
        for id in &ids {
            registry.cancel_early(id);
            registry.cancel_early(id);
        }
        assert!(!registry.was_cancelled_early(&ids[0]));
        assert!(ids[1..].iter().all(|id| registry.was_cancelled_early(id)));
    }
}
