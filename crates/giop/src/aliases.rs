//! Aliases of object keys and operations, as the client of one connection assigns them.

use crate::Alias;
use crate::prelude::*;

/// Aliases that a client has defined on one connection: a number for each pair of object key and
/// operation.
///
/// A pair is looked up in a hash table; the pair of the last request needs no hash. Allocates only
/// for new pairs. A number never changes its meaning: when all are assigned, further pairs get
/// none.
///
/// ```
/// use oxorb_giop::{Alias, Aliases};
///
/// let mut aliases = Aliases::new(2, 256);
/// assert_eq!(aliases.of(b"key", "ping"), Some(Alias { number: 0, known: false }));
/// assert_eq!(aliases.of(b"key", "ping"), Some(Alias { number: 0, known: true }));
/// assert_eq!(aliases.of(b"key", "stop"), Some(Alias { number: 1, known: false }));
/// assert_eq!(aliases.of(b"key", "help"), None, "there are two numbers");
/// ```
#[derive(Debug)]
pub struct Aliases {
    /// Pairs by number.
    pairs: Vec<Pair>,
    /// Names of all pairs, concatenated.
    names: Vec<u8>,
    /// Hash table of numbers, [`FREE`] in empty slots; a power of two in size, at least half of it
    /// free.
    places: Vec<u16>,
    /// Number of the pair looked up last.
    last: u16,
    /// Maximum number of aliases.
    most: u16,
    /// Maximum length of the names of a pair together, in octets.
    longest: usize,
}

/// Position of the names of a pair, and their hash.
#[derive(Clone, Copy, Debug)]
struct Pair {
    hash: u32,
    start: u32,
    key: u16,
    operation: u16,
}

/// Marker of an empty slot.
const FREE: u16 = u16::MAX;

/// Number of slots of the smallest table.
const PLACES: usize = 16;

impl Aliases {
    /// Returns the empty alias set of a new connection, for at most `most` pairs of at most
    /// `longest` octets each. Allocates nothing.
    pub fn new(most: u16, longest: u16) -> Self {
        Self {
            pairs: Vec::new(),
            names: Vec::new(),
            places: Vec::new(),
            last: 0,
            most,
            longest: longest.into(),
        }
    }

    /// Returns the alias of a pair for the next request of the connection, which the caller must
    /// send: from then on the alias counts as known. Returns `None` if no number is left for the
    /// pair.
    #[inline]
    pub fn of(&mut self, key: &[u8], operation: &str) -> Option<Alias> {
        if self.is(self.last, key, operation) {
            let number = self.last;
            return Some(Alias { number, known: true });
        }
        self.look_up(key, operation)
    }

    /// Returns the alias of a pair, if it is known.
    #[inline]
    pub fn known(&self, key: &[u8], operation: &str) -> Option<Alias> {
        let number = match self.is(self.last, key, operation) {
            true => self.last,
            false => self.find(key, operation, hash(key, operation))?,
        };
        Some(Alias { number, known: true })
    }

    /// Withdraws the most recently assigned alias after the request that defines it was not sent.
    #[cold]
    pub fn take_back(&mut self, alias: Alias) {
        if alias.known || usize::from(alias.number) + 1 != self.pairs.len() {
            return;
        }
        let place = self.places.iter().position(|number| *number == alias.number);
        // This pair was inserted last, so no probe sequence passes its slot, and the slot can simply become free.
        if let (Some(place), Some(pair)) = (place, self.pairs.pop()) {
            self.places[place] = FREE;
            self.names.truncate(pair.start as usize);
        }
        self.last = 0;
    }

    #[inline]
    fn is(&self, number: u16, key: &[u8], operation: &str) -> bool {
        let Some(pair) = self.pairs.get(usize::from(number)) else {
            return false;
        };
        if usize::from(pair.key) != key.len() || usize::from(pair.operation) != operation.len() {
            return false;
        }
        let key_at = pair.start as usize;
        let operation_at = key_at + key.len();
        let Some(known_key) = self.names.get(key_at..operation_at) else {
            return false;
        };
        let Some(known) = self.names.get(operation_at..operation_at + operation.len()) else {
            return false;
        };
        same(known_key, key) && same(known, operation.as_bytes())
    }

    #[inline(never)]
    fn look_up(&mut self, key: &[u8], operation: &str) -> Option<Alias> {
        let hash = hash(key, operation);
        if let Some(number) = self.find(key, operation, hash) {
            self.last = number;
            return Some(Alias { number, known: true });
        }
        self.define(key, operation, hash)
    }

    fn find(&self, key: &[u8], operation: &str, hash: u32) -> Option<u16> {
        let mask = self.places.len().checked_sub(1)?;
        let mut place = hash as usize & mask;
        loop {
            let number = self.places[place];
            if number == FREE {
                return None;
            }
            if self.pairs[usize::from(number)].hash == hash && self.is(number, key, operation) {
                return Some(number);
            }
            place = (place + 1) & mask;
        }
    }

    #[cold]
    fn define(&mut self, key: &[u8], operation: &str, hash: u32) -> Option<Alias> {
        let number = u16::try_from(self.pairs.len()).ok()?;
        if number >= self.most || key.len() + operation.len() > self.longest {
            return None;
        }
        let pair = Pair {
            hash,
            start: u32::try_from(self.names.len()).ok()?,
            key: key.len() as u16,
            operation: operation.len() as u16,
        };
        self.names.extend_from_slice(key);
        self.names.extend_from_slice(operation.as_bytes());
        self.pairs.push(pair);
        if self.pairs.len() * 2 > self.places.len() {
            self.places = vec![FREE; (self.places.len() * 2).max(PLACES)];
            for other in 0..=number {
                self.enter(other);
            }
        } else {
            self.enter(number);
        }
        self.last = number;
        Some(Alias { number, known: false })
    }

    /// Inserts a number into the first free slot for its pair.
    fn enter(&mut self, number: u16) {
        let mask = self.places.len() - 1;
        let mut place = self.pairs[usize::from(number)].hash as usize & mask;
        while self.places[place] != FREE {
            place = (place + 1) & mask;
        }
        self.places[place] = number;
    }
}

/// Reports whether slices of equal length have the same octets. Typical keys and names take two
/// comparisons of words that may overlap.
#[inline]
fn same(one: &[u8], other: &[u8]) -> bool {
    #[inline(always)]
    fn ends<const N: usize>(one: &[u8], other: &[u8]) -> Option<bool> {
        let first = one.first_chunk::<N>()? == other.first_chunk()?;
        Some(first && one.last_chunk::<N>()? == other.last_chunk()?)
    }
    let same = match one.len() {
        4..8 => ends::<4>(one, other),
        8..16 => ends::<8>(one, other),
        16..=32 => ends::<16>(one, other),
        _ => Some(one == other),
    };
    same == Some(true)
}

/// Returns a hash of the octets of a pair, eight at a time. The client itself chooses the pairs, so
/// no attacker can cause collisions.
fn hash(key: &[u8], operation: &str) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = key.len() as u64;
    for octets in [key, operation.as_bytes()] {
        let mut chunks = octets.chunks_exact(8);
        for chunk in &mut chunks {
            let word = chunk.try_into().map_or(0, u64::from_le_bytes);
            mixed = (mixed.rotate_left(5) ^ word).wrapping_mul(FACTOR);
        }
        let mut last = [0; 8];
        let rest = chunks.remainder();
        last[..rest.len()].copy_from_slice(rest);
        mixed = (mixed.rotate_left(5) ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR);
    }
    (mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn every_pair_keeps_its_number_while_the_table_grows() {
        let mut aliases = Aliases::new(1024, 256);
        for round in 0..3 {
            for number in 0..1024u16 {
                let key = u32::from(number / 4).to_be_bytes();
                let operation = ["a", "b", "c", "d"][usize::from(number % 4)];
                let known = round > 0;
                assert_eq!(
                    aliases.of(&key, operation),
                    Some(Alias { number, known }),
                    "round {round}"
                );
            }
        }
        assert_eq!(aliases.of(b"one more", "a"), None);
        assert_eq!(aliases.known(b"one more", "a"), None);
        assert!(aliases.known(&[0, 0, 0, 9], "b").is_some_and(|alias| alias.number == 37));
    }

    #[test]
    fn long_names_have_no_number() {
        let mut aliases = Aliases::new(8, 8);
        assert_eq!(aliases.of(b"12345", "6789"), None);
        assert!(aliases.of(b"12345", "678").is_some());
        // The concatenated names equal those of the last pair, but the boundary between key and operation differs.
        assert!(aliases.of(b"1234", "5678").is_some_and(|alias| !alias.known));
    }

    proptest! {
        #[test]
        fn what_is_taken_back_was_never_given(
            calls in prop::collection::vec((0..40u8, 0..3u8, any::<bool>()), 0..200),
        ) {
            let mut aliases = Aliases::new(32, 256);
            let mut model: HashMap<(u8, u8), u16> = HashMap::new();
            for (key, operation, sent) in calls {
                let name = ["ping", "stop", "go_on"][usize::from(operation)];
                let alias = aliases.of(&[key; 26], name);
                let before = model.get(&(key, operation)).copied();
                match (before, alias) {
                    (Some(number), Some(alias)) => {
                        prop_assert_eq!(alias, Alias { number, known: true });
                        aliases.take_back(alias);
                    }
                    (None, Some(alias)) => {
                        prop_assert_eq!(usize::from(alias.number), model.len());
                        prop_assert!(!alias.known);
                        match sent {
                            true => drop(model.insert((key, operation), alias.number)),
                            false => aliases.take_back(alias),
                        }
                    }
                    (None, None) => prop_assert_eq!(model.len(), 32),
                    (Some(_), None) => prop_assert!(false, "a number was lost"),
                }
            }
        }
    }
}
