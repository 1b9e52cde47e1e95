//! Hash index that is read without a lock.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use arc_swap::ArcSwap;

/// Index of slots by the hash of their contents.
///
/// It supports any number of readers, and one writer at a time, which holds a lock of the index's
/// owner. An array of heads refers to chains of slots. A reader that finds its object needs no
/// further check, because it compares the object itself. A reader that finds nothing while a writer
/// was active may have followed a changed chain; it retries a few times, and then has to take the
/// writer's lock.
pub(crate) struct HashIndex {
    table: ArcSwap<Table>,
    /// Odd while a writer is active; each write increases it.
    version: AtomicU64,
}

/// Error of a search that found nothing while the index changed. Whether an entry exists is then
/// certain only under the lock.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Contended;

struct Table {
    /// First slot of each chain plus one, or 0 for an empty chain. The number of heads is a power
    /// of two.
    heads: Box<[AtomicU32]>,
    links: Box<[Link]>,
}

#[derive(Default)]
struct Link {
    hash: AtomicU64,
    /// Next slot of the chain plus one, or 0 at its end.
    next: AtomicU32,
}

/// Minimum number of heads.
const SMALLEST: usize = 16;

/// Number of searches without the lock before a reader takes it.
const LOOKS: usize = 16;

impl HashIndex {
    pub(crate) fn new() -> Self {
        HashIndex { table: ArcSwap::from_pointee(Table::new(SMALLEST)), version: AtomicU64::new(0) }
    }

    /// Calls `look` for the slots with this hash until it returns a result, and returns that. Takes
    /// no lock and does not allocate.
    #[inline]
    pub(crate) fn find<T>(
        &self,
        hash: u64,
        mut look: impl FnMut(u32) -> Option<T>,
    ) -> Result<Option<T>, Contended> {
        for _ in 0..LOOKS {
            let before = self.version.load(SeqCst);
            if let Some(found) = self.table.load().find(hash, &mut look) {
                return Ok(Some(found));
            }
            if before.is_multiple_of(2) && self.version.load(SeqCst) == before {
                return Ok(None);
            }
            std::hint::spin_loop();
        }
        Err(Contended)
    }

    /// Adds a slot. Only the writer may call it, after it has filled the slot.
    pub(crate) fn insert(&self, hash: u64, slot: u32) {
        self.edit(|table| {
            if slot as usize >= table.links.len() {
                let larger = Table::new((slot as usize + 1).next_power_of_two().max(SMALLEST));
                larger.take_over(table);
                larger.insert(hash, slot);
                return Some(larger);
            }
            table.insert(hash, slot);
            None
        });
    }

    /// Removes a slot. Only the writer may call it, before it reuses the slot.
    pub(crate) fn remove(&self, hash: u64, slot: u32) {
        self.edit(|table| {
            table.remove(hash, slot);
            None
        });
    }

    fn edit(&self, change: impl FnOnce(&Table) -> Option<Table>) {
        self.version.fetch_add(1, SeqCst);
        if let Some(larger) = change(&self.table.load()) {
            self.table.store(larger.into());
        }
        self.version.fetch_add(1, SeqCst);
    }
}

impl Table {
    /// Returns a table with this number of slots, a power of two.
    fn new(slots: usize) -> Table {
        Table {
            heads: (0..slots).map(|_| AtomicU32::default()).collect(),
            links: (0..slots).map(|_| Link::default()).collect(),
        }
    }

    #[inline]
    fn head(&self, hash: u64) -> &AtomicU32 {
        &self.heads[hash as usize & (self.heads.len() - 1)]
    }

    #[inline]
    fn find<T>(&self, hash: u64, look: &mut impl FnMut(u32) -> Option<T>) -> Option<T> {
        let mut link = self.head(hash).load(SeqCst);
        // Bound the loop, because a concurrent writer that moves slots to other chains could
        // otherwise keep this search running without end.
        for _ in 0..self.links.len() {
            let slot = link.checked_sub(1)?;
            let here = self.links.get(slot as usize)?;
            if here.hash.load(SeqCst) == hash
                && let Some(found) = look(slot)
            {
                return Some(found);
            }
            link = here.next.load(SeqCst);
        }
        None
    }

    fn insert(&self, hash: u64, slot: u32) {
        let link = &self.links[slot as usize];
        let head = self.head(hash);
        link.hash.store(hash, SeqCst);
        link.next.store(head.load(SeqCst), SeqCst);
        head.store(slot + 1, SeqCst);
    }

    fn remove(&self, hash: u64, slot: u32) {
        let mut from = self.head(hash);
        while let Some(here) = from.load(SeqCst).checked_sub(1) {
            let next = &self.links[here as usize].next;
            if here == slot {
                from.store(next.load(SeqCst), SeqCst);
                return;
            }
            from = next;
        }
    }

    /// Inserts all entries of `smaller`.
    fn take_over(&self, smaller: &Table) {
        for head in &smaller.heads {
            let mut link = head.load(SeqCst);
            while let Some(slot) = link.checked_sub(1) {
                let here = &smaller.links[slot as usize];
                self.insert(here.hash.load(SeqCst), slot);
                link = here.next.load(SeqCst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches an index in which each slot contains its own number. There are only seven hashes,
    /// so that they collide.
    fn find(index: &HashIndex, wanted: u32) -> Option<u32> {
        index.find(u64::from(wanted % 7), |slot| (slot == wanted).then_some(slot)).unwrap()
    }

    #[test]
    fn what_was_put_in_is_found_until_it_is_taken_out() {
        let index = HashIndex::new();
        for slot in 0..200 {
            assert_eq!(find(&index, slot), None);
            index.insert(u64::from(slot % 7), slot);
        }
        for slot in (0..200).step_by(3) {
            index.remove(u64::from(slot % 7), slot);
        }
        for slot in 0..200 {
            assert_eq!(find(&index, slot).is_some(), slot % 3 != 0, "{slot}");
        }
        // Removing an entry that is not in the index has no effect.
        index.remove(0, 0);
        index.remove(5, 10_000);
        assert_eq!(find(&index, 1), Some(1));
    }

    #[test]
    fn a_reader_never_misses_what_is_there_while_others_come_and_go() {
        let index = HashIndex::new();
        index.insert(3, 3);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for round in 0..20_000u32 {
                    // Change the chain of the searched hash as well as those of other hashes.
                    let (slot, hash) = (10 + round % 90, u64::from(round % 7));
                    index.insert(hash, slot);
                    index.remove(hash, slot);
                }
            });
            while !writer.is_finished() {
                let found = index.find(3, |slot| (slot == 3).then_some(slot));
                assert!(matches!(found, Ok(Some(3)) | Err(Contended)), "{found:?}");
            }
        });
        assert_eq!(index.find(3, |slot| (slot == 3).then_some(())), Ok(Some(())));
    }
}
