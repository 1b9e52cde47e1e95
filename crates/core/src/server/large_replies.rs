//! Record of operations with large replies, which reserve memory for their replies before they run.

use crate::threads::sync::atomic::{AtomicU64, Ordering};

/// Size from which on replies are recorded, in octets.
pub(super) const LARGE: usize = 1 << 20;

/// Number of operations recorded for each client.
const OPERATIONS: usize = 8;

/// Sizes of the last large replies of some operations. An entry holds a hash in its upper half and KiB in its lower
/// half; 0 for no entry.
#[derive(Debug, Default)]
pub(crate) struct LargeReplies([AtomicU64; OPERATIONS]);

/// Returns a hash of an object's operation. Colliding operations share an entry, which costs at most a wait.
pub(super) fn hash(key: &[u8], operation: &[u8]) -> u32 {
    let octets = key.iter().chain(operation);
    octets.fold(0x811c_9dc5, |hash, octet| (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193))
}

impl LargeReplies {
    /// Returns the expected size of the operation's reply; 0 if unknown.
    pub(super) fn expected(&self, operation: u32) -> usize {
        self.find(operation).map_or(0, |(_, entry)| (entry as u32 as usize) << 10)
    }

    /// Records the size of a reply. Each smaller reply halves the recorded size until the entry is removed. Returns the
    /// change in the number of entries.
    pub(super) fn remember(&self, operation: u32, octets: usize) -> EntryChange {
        let (at, before) = match self.find(operation) {
            Some(found) => found,
            None if octets < LARGE => return EntryChange::None,
            None => {
                let sizes = self.0.iter().map(|entry| entry.load(Ordering::Relaxed));
                let smallest = sizes.enumerate().min_by_key(|(_, entry)| *entry as u32);
                let (at, _) = smallest.expect("there are some");
                (at, 0)
            }
        };
        let half = (before as u32 as usize) << 9;
        let size = octets.max(half);
        let entry = match size < LARGE {
            true => 0,
            false => u64::from(operation) << 32 | (size.div_ceil(1024) as u64).min(u32::MAX.into()),
        };
        match (self.0[at].swap(entry, Ordering::Relaxed), entry) {
            (0, 1..) => EntryChange::More,
            (1.., 0) => EntryChange::Less,
            _ => EntryChange::None,
        }
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        let known = |entry: &&AtomicU64| entry.load(Ordering::Relaxed) != 0;
        self.0.iter().filter(known).count()
    }

    fn find(&self, operation: u32) -> Option<(usize, u64)> {
        let mut entries = self.0.iter().map(|entry| entry.load(Ordering::Relaxed));
        let at = entries.position(|entry| entry != 0 && (entry >> 32) as u32 == operation)?;
        Some((at, self.0[at].load(Ordering::Relaxed)))
    }
}

/// Effect of [`LargeReplies::remember`] on the number of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryChange {
    None,
    More,
    Less,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_replies_are_remembered_and_forgotten_once_they_are_small() {
        let known = LargeReplies::default();
        let (big, other) = (hash(b"key", b"big"), hash(b"key", b"ping"));
        assert_eq!(known.remember(big, LARGE - 1), EntryChange::None);
        assert_eq!(known.remember(big, 4 * LARGE), EntryChange::More);
        assert_eq!(known.expected(big), 4 * LARGE);
        assert_eq!(known.expected(other), 0);
        assert_eq!(known.remember(big, 10), EntryChange::None);
        assert_eq!(known.expected(big), 2 * LARGE);
        assert_eq!(known.remember(big, 10), EntryChange::None);
        assert_eq!(known.remember(big, 10), EntryChange::Less);
        assert_eq!((known.expected(big), known.len()), (0, 0));
    }

    #[test]
    fn as_many_operations_as_fit_are_remembered_the_largest_last() {
        let known = LargeReplies::default();
        for operation in 0..2 * OPERATIONS {
            known.remember(operation as u32 + 1, (operation + 1) * LARGE);
        }
        assert_eq!(known.len(), OPERATIONS);
        assert_eq!(known.expected(1), 0);
        assert_eq!(known.expected(2 * OPERATIONS as u32), 2 * OPERATIONS * LARGE);
    }
}
