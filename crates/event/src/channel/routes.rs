//! Routes of a supplier's events to the consumers whose filters they may match, and their index by type and source.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::thread;

use oxorb_delivery::{Clock as _, Meter, Monotonic, Verdict};

use super::consumer::Connected;
use crate::filter::{Interest, Key};
use crate::rtec_event_comm::EventHeader;

/// The consumers of one supplier, as of the last change of consumers. To find the consumers of an event, one look-up is
/// needed, and up to two more if filters have a wildcard as type or source. In addition, there is one step for each
/// consumer whose filter may match. Other consumers cost nothing.
#[derive(Default)]
pub(super) struct Routes {
    consumers: Vec<Arc<Connected>>,
    /// Indices into `consumers`. In a key, type and source may be 0.
    by_key: Index,
    /// Whether there is a key with a wildcard as source, and whether there is one with a wildcard as type.
    wild: [bool; 2],
    /// Consumers whose filters must be applied to every event.
    always: Vec<usize>,
    /// Meter of the supplier, if its rate is checked.
    meter: Option<Arc<Meter>>,
}

impl Routes {
    pub(super) fn new(consumers: Vec<Arc<Connected>>, meter: Option<Arc<Meter>>) -> Routes {
        let mut routes = Routes { meter, ..Routes::default() };
        let mut pairs = Vec::new();
        for (place, consumer) in consumers.iter().enumerate() {
            match consumer.program().interest() {
                Interest::All => routes.always.push(place),
                Interest::Keys(keys) => {
                    for key in keys {
                        routes.wild[0] |= key.1 == 0;
                        routes.wild[1] |= key.0 == 0;
                        pairs.push((*key, place));
                    }
                }
            }
        }
        routes.by_key = Index::new(pairs);
        routes.consumers = consumers;
        routes
    }

    /// Reports whether one more event is within the supplier's rate. Waits first if the rate requires a delay.
    pub(super) fn admits(&self) -> bool {
        let Some(meter) = &self.meter else {
            return true;
        };
        match meter.admit(Monotonic.now()) {
            Verdict::Pass => true,
            Verdict::Refuse => false,
            Verdict::Wait(time) => {
                thread::sleep(time);
                true
            }
        }
    }

    /// Reports whether there are several consumers.
    pub(super) fn several(&self) -> bool {
        self.consumers.len() > 1
    }

    /// Returns the consumer with a number. This is a linear search.
    pub(super) fn consumer(&self, number: u64) -> Option<&Arc<Connected>> {
        self.consumers.iter().find(|consumer| consumer.number == number)
    }

    /// Calls `ask` for each consumer whose filter an event may match, in the order of creation of the consumers'
    /// proxies.
    pub(super) fn each(&self, header: &EventHeader, mut ask: impl FnMut(&Arc<Connected>)) {
        let (event_type, source) = (header.r#type, header.source);
        if event_type == 0 || source == 0 {
            return self.consumers.iter().for_each(ask);
        }
        let listed = |key| self.by_key.get(key);
        let wild = |at: usize, key| if self.wild[at] { listed(key) } else { &[] };
        let mut lists = [
            listed((event_type, source)),
            wild(0, (event_type, 0)),
            wild(1, (0, source)),
            &self.always[..],
        ];
        if let [only, [], [], []] = lists {
            return only.iter().for_each(|place| ask(&self.consumers[*place]));
        }
        // Merge the sorted lists, so that a consumer that is in several lists is called only once.
        while let Some(next) = lists.iter().filter_map(|list| list.first()).min().copied() {
            for list in &mut lists {
                if list.first() == Some(&next) {
                    *list = &list[1..];
                }
            }
            ask(&self.consumers[next]);
        }
    }
}

/// Immutable table that maps a key to the indices of its consumers.
///
/// Peers choose the keys, because their filters contain them. If the hash function were known, one peer could fill a
/// single run of slots, and every event would have to search this run. A key is therefore multiplied by a random odd
/// number. Someone who does not know this number can make two keys collide only by chance, with a probability of at
/// most two divided by the number of slots (Dietzfelbinger et al., "A reliable randomized algorithm for the
/// closest-pair problem", 1997). If a long run occurs nevertheless, by chance or because a peer has measured response
/// times, the table is rebuilt with another number and, if this does not suffice, with more slots.
struct Index {
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
    fn new(mut pairs: Vec<(Key, usize)>) -> Index {
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
    fn get(&self, key: Key) -> &[usize] {
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
