//! An index that maps each source to the place of its latest event.

use std::hash::{BuildHasher, RandomState};

const NONE: u32 = u32::MAX;

/// A hash table of fixed size that maps sources to places. The hash is keyed, because suppliers choose the sources and
/// could otherwise cause collisions.
#[derive(Debug)]
pub(super) struct Sources {
    hasher: RandomState,
    buckets: Box<[u32]>,
    /// Source, and next place of the same bucket, for each place.
    chained: Vec<(u64, u32)>,
}

impl Sources {
    pub(super) fn with_capacity(places: usize) -> Sources {
        Sources {
            hasher: RandomState::new(),
            buckets: vec![NONE; places.next_power_of_two()].into_boxed_slice(),
            chained: Vec::with_capacity(places),
        }
    }

    pub(super) fn find(&self, source: u64) -> Option<u32> {
        let mut place = self.buckets[self.bucket(source)];
        while place != NONE {
            let (found, next) = self.chained[place as usize];
            if found == source {
                return Some(place);
            }
            place = next;
        }
        None
    }

    pub(super) fn add(&mut self, source: u64, place: u32) {
        let bucket = self.bucket(source);
        let next = std::mem::replace(&mut self.buckets[bucket], place);
        if self.chained.len() <= place as usize {
            self.chained.resize(place as usize + 1, (0, NONE));
        }
        self.chained[place as usize] = (source, next);
    }

    pub(super) fn remove(&mut self, source: u64, place: u32) {
        let bucket = self.bucket(source);
        let (_, after) = self.chained[place as usize];
        if self.buckets[bucket] == place {
            self.buckets[bucket] = after;
            return;
        }
        let mut before = self.buckets[bucket];
        while before != NONE {
            let (_, next) = &mut self.chained[before as usize];
            if *next == place {
                *next = after;
                return;
            }
            before = *next;
        }
    }

    fn bucket(&self, source: u64) -> usize {
        self.hasher.hash_one(source) as usize & (self.buckets.len() - 1)
    }
}
