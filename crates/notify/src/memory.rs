//! Accounting of the memory that clients' objects occupy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxorb::{SystemException, minor};

use crate::cos_notification::EventType;
use crate::problem::too_many;

/// Amount of memory in use, in octets, and its limit. The amount of a part also counts in the whole.
pub(crate) struct Memory {
    held: AtomicUsize,
    limit: usize,
    whole: Option<Arc<Memory>>,
}

/// Octets that are counted as in use until this value is dropped.
pub(crate) struct Charge {
    memory: Arc<Memory>,
    octets: usize,
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Arc<Memory> {
        Arc::new(Memory { held: AtomicUsize::new(0), limit, whole: None })
    }

    /// Creates a part of this account, with its own limit.
    pub(crate) fn part(self: &Arc<Memory>, limit: usize) -> Arc<Memory> {
        Arc::new(Memory { held: AtomicUsize::new(0), limit, whole: Some(Arc::clone(self)) })
    }

    /// Counts octets. Raises IMP_LIMIT, minor `EVENT_HELD`, if they would exceed the limit.
    pub(crate) fn charge(self: &Arc<Memory>, octets: usize) -> Result<Charge, SystemException> {
        match self.add(octets, false) {
            true => Ok(Charge { memory: Arc::clone(self), octets }),
            false => Err(too_many(minor::imp_limit::EVENT_HELD)),
        }
    }

    /// Counts octets that were accepted before a restart, regardless of the current limits.
    pub(crate) fn charge_admitted(self: &Arc<Memory>, octets: usize) -> Charge {
        self.add(octets, true);
        Charge { memory: Arc::clone(self), octets }
    }

    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn add(&self, octets: usize, admitted: bool) -> bool {
        let more = |held: usize| {
            let after = held.saturating_add(octets);
            (admitted || after <= self.limit).then_some(after)
        };
        // Relaxed ordering suffices, because the counter does not guard any other data.
        if self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            return false;
        }
        let fits = self.whole.as_ref().is_none_or(|whole| whole.add(octets, admitted));
        if !fits {
            self.held.fetch_sub(octets, Ordering::Relaxed);
        }
        fits
    }

    fn give_back(&self, octets: usize) {
        self.held.fetch_sub(octets, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.give_back(octets);
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.memory.give_back(self.octets);
    }
}

/// Returns the size in octets of a heap block, including the allocator's overhead.
pub(crate) const fn block(octets: usize) -> usize {
    match octets {
        0 => 0,
        octets => octets + 2 * size_of::<usize>(),
    }
}

/// Returns the size in octets of a list of event types.
pub(crate) fn of_types(list: &[EventType]) -> usize {
    let names = list.iter().map(|one| block(one.domain_name.len()) + block(one.type_name.len()));
    block(size_of_val(list)) + names.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_counts_in_the_whole_and_gives_back() {
        let whole = Memory::new(100);
        let (first, second) = (whole.part(60), whole.part(60));
        let charge = first.charge(60).ok().unwrap();
        assert!(first.charge(1).is_err(), "the part is full");
        assert!(second.charge(41).is_err(), "the whole is full");
        assert_eq!((first.held(), second.held(), whole.held()), (60, 0, 60));
        let admitted = second.charge_admitted(70);
        assert_eq!((second.held(), whole.held()), (70, 130));
        drop((charge, admitted));
        assert_eq!((first.held(), second.held(), whole.held()), (0, 0, 0));
    }
}
