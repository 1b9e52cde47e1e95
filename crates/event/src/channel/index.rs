//! Index of consumers by event type and source.
//!
//! Peers choose the keys, because their filters contain them. If the hash function were known, one peer could fill a
//! single run of slots, and every event would have to search this run. A key is therefore multiplied by a random odd
//! number. Someone who does not know this number can make two keys collide only by chance, with a probability of at
//! most two divided by the number of slots (Dietzfelbinger et al., "A reliable randomized algorithm for the
//! closest-pair problem", 1997). If a long run occurs nevertheless, by chance or because a peer has measured response
//! times, the table is rebuilt with another number and, if this does not suffice, with more slots.

use std::hash::{BuildHasher as _, RandomState};

use crate::filter::Key;

/// Immutable table that maps a key to the indices of its consumers.
pub(super) struct Index {
    /// Slots. Their number is a power of two, and at most half of them are occupied.
    slots: Box<[Slot]>,
    /// Indices of consumers for all keys, grouped by key.
    places: Vec<usize>,
    /// Odd number by which keys are multiplied.
    factor: u64,
    /// Number of low bits of the product that do not select the slot.
    shift: u32,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    key: u64,
    /// Range of the key's indices in `places`. It is empty in a free slot.
    start: usize,
    end: usize,
}

/// Maximum distance between a key and the slot that its hash selects.
const LONGEST: usize = 8;

/// Number of factors that are tried with each number of slots.
const FACTORS: u32 = 4;

/// Maximum number of slots per key. With this number of slots, a longer run is accepted.
const MOST_SLOTS: usize = 32;

impl Index {
    /// Builds the index from pairs of a key and a consumer index.
    pub(super) fn new(mut pairs: Vec<(Key, usize)>) -> Index {
        pairs.sort_unstable();
        pairs.dedup();
        let places: Vec<usize> = pairs.iter().map(|(_, place)| *place).collect();
        let mut keys: Vec<Slot> = Vec::new();
        for (at, (key, _)) in pairs.iter().enumerate() {
            let key = word(*key);
            match keys.last_mut() {
                Some(last) if last.key == key => last.end = at + 1,
                _ => keys.push(Slot { key, start: at, end: at + 1 }),
            }
        }
        let mut count = (2 * keys.len()).next_power_of_two().max(2);
        loop {
            let most = count >= MOST_SLOTS * keys.len();
            for _ in 0..FACTORS {
                let factor = RandomState::new().hash_one(count) | 1;
                let (slots, longest) = fill(&keys, count, factor);
                if longest <= LONGEST || most {
                    return Index { slots, places, factor, shift: shift(count) };
                }
            }
            count *= 2;
        }
    }

    /// Returns the consumer indices of a key, in ascending order.
    #[inline]
    pub(super) fn get(&self, key: Key) -> &[usize] {
        let key = word(key);
        let mut at = (key.wrapping_mul(self.factor) >> self.shift) as usize;
        loop {
            let slot = &self.slots[at & (self.slots.len() - 1)];
            if slot.key == key || slot.end == 0 {
                return &self.places[slot.start..slot.end];
            }
            at += 1;
        }
    }
}

impl Default for Index {
    fn default() -> Index {
        Index::new(Vec::new())
    }
}

/// Inserts keys into slots. Returns the maximum distance between a key and the slot that its hash selects.
fn fill(keys: &[Slot], count: usize, factor: u64) -> (Box<[Slot]>, usize) {
    let mut slots = vec![Slot::default(); count].into_boxed_slice();
    let mut longest = 0;
    for one in keys {
        let own = (one.key.wrapping_mul(factor) >> shift(count)) as usize;
        let free = (0..count).find(|away| slots[(own + away) & (count - 1)].end == 0);
        let away = free.expect("half of the slots are free");
        slots[(own + away) & (count - 1)] = *one;
        longest = longest.max(away);
    }
    (slots, longest)
}

fn shift(count: usize) -> u32 {
    u64::BITS - count.trailing_zeros()
}

fn word((event_type, source): Key) -> u64 {
    u64::from(event_type.cast_unsigned()) << 32 | u64::from(source.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_key_has_its_places_and_no_other_key_has_any() {
        for keys in [0_i32, 1, 2, 3, 100, 5_000] {
            let pairs = (0..keys).flat_map(|key| [((key % 7, key), 2), ((key % 7, key), 1)]);
            let index = Index::new(pairs.collect());
            for key in 0..keys {
                assert_eq!(index.get((key % 7, key)), [1, 2], "{key} of {keys}");
                assert_eq!(index.get((7, key)), [0; 0], "{key} of {keys}");
            }
            assert_eq!(index.get((i32::MIN, -1)), [0; 0]);
        }
    }

    #[test]
    fn places_are_told_once_and_in_order() {
        let pairs = vec![((1, 1), 5), ((1, 2), 4), ((1, 1), 3), ((1, 1), 5)];
        let index = Index::new(pairs);
        assert_eq!(index.get((1, 1)), [3, 5]);
        assert_eq!(index.get((1, 2)), [4]);
    }

    /// Keys that collide under one factor do not collide under another one.
    #[test]
    fn keys_that_were_chosen_to_meet_are_spread_by_another_factor() {
        let known = 0x9e37_79b9_7f4a_7c15;
        let shift = shift(1 << 12);
        let meet = (0..).filter(|key: &u64| key.wrapping_mul(known) >> shift == 77);
        let slots: Vec<Slot> = meet.take(500).map(|key| Slot { key, start: 0, end: 1 }).collect();
        assert_eq!(fill(&slots, 1 << 12, known).1, 499);
        let pairs = slots.iter().map(|slot| {
            let (high, low) = ((slot.key >> 32) as u32, slot.key as u32);
            ((high.cast_signed(), low.cast_signed()), 1)
        });
        let index = Index::new(pairs.collect());
        let mut away = BTreeMap::new();
        for (at, slot) in index.slots.iter().enumerate().filter(|(_, it)| it.end > 0) {
            let own = (slot.key.wrapping_mul(index.factor) >> index.shift) as usize;
            let far = at.wrapping_sub(own) & (index.slots.len() - 1);
            *away.entry(far).or_insert(0) += 1;
        }
        assert!(*away.keys().max().unwrap() <= LONGEST, "{away:?}");
    }

    /// The memory of the table is proportional to the number of keys that a peer chooses.
    #[test]
    fn the_table_is_bounded() {
        let index = Index::new((0..1_000).map(|key| ((key, key), 0)).collect());
        assert!(index.slots.len() <= 2 * MOST_SLOTS * 1_000);
    }
}
