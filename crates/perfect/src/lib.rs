//! Perfect hashing over names that are known in advance.
//!
//! Operation names are known when IDL is compiled; object ids of some servers are known when a POA
//! is created. A [`PerfectHash`] over such names finds each with one hash, two array accesses and
//! one comparison, regardless of their number; a miss costs the same. The compiler emits the tables
//! as constants, and the object adapter builds them at run time. This crate therefore has no
//! dependencies, and both sides share the hash function.
//!
//! Hash and displace: one half of a 64-bit hash spreads the names over buckets; each bucket,
//! largest first, gets the smallest displacement that maps all its names to free cells.
//!
//! ```
//! use oxorb_perfect::PerfectHash;
//!
//! let names = ["deposit", "withdraw", "_get_balance"];
//! let hash = PerfectHash::build(&names).unwrap();
//! assert_eq!(hash.find(b"withdraw"), Some(1));
//! // Others lead somewhere or nowhere: compare with the name.
//! assert!(hash.find(b"transfer").is_none_or(|found| names[found] != "transfer"));
//! ```
#![forbid(unsafe_code)]

use std::borrow::Cow;

/// Tables that map each of a fixed list of names to its index in that list.
///
/// Lookup allocates nothing and takes no lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerfectHash {
    seed: u64,
    /// Displacements, one per bucket; a power of two in number.
    displacements: Cow<'static, [u16]>,
    /// Index in the list plus one, or 0 if free; a power of two in number.
    cells: Cow<'static, [u32]>,
}

/// Error for a list with two equal names, which no hash can tell apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Duplicate {
    /// Indices of the two names in the list.
    pub places: (usize, usize),
}

impl std::fmt::Display for Duplicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (one, two) = self.places;
        write!(f, "names {one} and {two} of the list are the same")
    }
}

impl std::fmt::Debug for Duplicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Duplicate {}

impl PerfectHash {
    /// Returns the hash for tables that [`build`](Self::build) computed earlier, in another
    /// process. With other tables lookups yield wrong indices or none, but never panic.
    pub const fn from_tables(
        seed: u64,
        displacements: &'static [u16],
        cells: &'static [u32],
    ) -> Self {
        PerfectHash {
            seed,
            displacements: Cow::Borrowed(displacements),
            cells: Cow::Borrowed(cells),
        }
    }

    /// Computes tables for a list of names, in time proportional to its length.
    ///
    /// # Errors
    /// When a name occurs twice.
    pub fn build<N: AsRef<[u8]>>(names: &[N]) -> Result<Self, Duplicate> {
        if let Some(duplicate) = duplicate(names) {
            return Err(duplicate);
        }
        // At least a quarter of the cells stays free, so that free cells are found quickly.
        let cells = (names.len() + names.len() / 3 + 1).next_power_of_two();
        let buckets = (names.len() / 3 + 1).next_power_of_two();
        let mut seed = 0;
        loop {
            if let Some(found) = PerfectHash::attempt(names, seed, buckets, cells) {
                return Ok(found);
            }
            seed += 1;
        }
    }

    fn attempt<N: AsRef<[u8]>>(
        names: &[N],
        seed: u64,
        buckets: usize,
        cells: usize,
    ) -> Option<Self> {
        let mut in_bucket: Vec<Vec<(u64, u32)>> = vec![Vec::new(); buckets];
        for (place, name) in names.iter().enumerate() {
            let hash = hash(name.as_ref(), seed);
            in_bucket[bucket(hash, buckets)].push((hash, place as u32 + 1));
        }
        let mut order: Vec<usize> = (0..buckets).collect();
        order.sort_by_key(|bucket| std::cmp::Reverse(in_bucket[*bucket].len()));
        let mut displacements = vec![0; buckets];
        let mut taken = vec![0; cells];
        let mut wanted = Vec::new();
        for bucket in order {
            let names = &in_bucket[bucket];
            displacements[bucket] = (0..=u16::MAX).find(|displacement| {
                wanted.clear();
                names.iter().all(|(hash, _)| {
                    let cell = cell(*hash, *displacement, cells);
                    let free = taken[cell] == 0 && !wanted.contains(&cell);
                    wanted.push(cell);
                    free
                })
            })?;
            for (hash, place) in names {
                taken[cell(*hash, displacements[bucket], cells)] = *place;
            }
        }
        Some(PerfectHash { seed, displacements: displacements.into(), cells: taken.into() })
    }

    /// Returns the only index at which `name` can be. Compare `name` with the name at that index,
    /// because other names may map to it, too.
    #[inline]
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        let hash = hash(name, self.seed);
        let displacement = *self.displacements.get(bucket(hash, self.displacements.len()))?;
        let place = *self.cells.get(cell(hash, displacement, self.cells.len()))?;
        (place as usize).checked_sub(1)
    }

    /// Returns the arguments of [`from_tables`](Self::from_tables): seed, displacements, cells.
    pub fn tables(&self) -> (u64, &[u16], &[u32]) {
        (self.seed, &self.displacements, &self.cells)
    }
}

fn duplicate<N: AsRef<[u8]>>(names: &[N]) -> Option<Duplicate> {
    let mut sorted: Vec<usize> = (0..names.len()).collect();
    sorted.sort_by(|one, two| names[*one].as_ref().cmp(names[*two].as_ref()));
    let twice =
        sorted.windows(2).find(|pair| names[pair[0]].as_ref() == names[pair[1]].as_ref())?;
    Some(Duplicate { places: (twice[0], twice[1]) })
}

#[inline]
fn bucket(hash: u64, buckets: usize) -> usize {
    (hash >> 32) as usize & buckets.wrapping_sub(1)
}

#[inline]
fn cell(hash: u64, displacement: u16, cells: usize) -> usize {
    let moved = hash ^ u64::from(displacement).wrapping_mul(SPREAD);
    (moved.wrapping_mul(SPREAD) >> 40) as usize & cells.wrapping_sub(1)
}

/// Hashes eight octets at a time. The hash distinguishes names well, but it is not
/// cryptographically secure.
#[inline]
fn hash(octets: &[u8], seed: u64) -> u64 {
    let mut hash = seed.wrapping_mul(MIX) ^ octets.len() as u64;
    let (words, rest) = octets.as_chunks::<8>();
    for word in words {
        hash = mix(hash ^ u64::from_le_bytes(*word));
    }
    let mut last = 0;
    for octet in rest {
        last = last << 8 | u64::from(*octet);
    }
    mix(mix(hash ^ last))
}

#[inline]
fn mix(hash: u64) -> u64 {
    let hash = hash.wrapping_mul(MIX);
    hash ^ hash >> 29
}

/// Odd multipliers with well-spread bits (from the golden ratio, and from common Weyl sequences).
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[String]) {
        let hash = PerfectHash::build(names).unwrap();
        for (place, name) in names.iter().enumerate() {
            assert_eq!(hash.find(name.as_bytes()), Some(place), "{name}");
        }
        let found = hash.find(b"nobody is called so");
        assert!(found.is_none_or(|found| found < names.len()));
    }

    #[test]
    fn every_name_is_found_however_many_there_are() {
        for many in [0, 1, 2, 3, 7, 8, 9, 100, 500, 10_000] {
            check(&(0..many).map(|n| format!("operation{n}")).collect::<Vec<_>>());
        }
    }

    #[test]
    fn names_may_be_short_long_and_alike() {
        let names: Vec<String> = (0..300).map(|n| "x".repeat(n)).collect();
        check(&names);
    }

    #[test]
    fn a_name_that_occurs_twice_is_reported() {
        assert_eq!(PerfectHash::build(&["one", "two", "one"]), Err(Duplicate { places: (0, 2) }));
    }

    #[test]
    fn tables_travel() {
        let names = ["deposit", "withdraw"];
        let built = PerfectHash::build(&names).unwrap();
        let (seed, displacements, cells) = built.tables();
        let travelled = PerfectHash::from_tables(
            seed,
            Vec::leak(displacements.to_vec()),
            Vec::leak(cells.to_vec()),
        );
        assert_eq!(travelled, built);
        assert_eq!(travelled.find(b"withdraw"), Some(1));
    }

    #[test]
    fn tables_that_nobody_built_do_not_panic() {
        assert_eq!(PerfectHash::from_tables(0, &[], &[]).find(b"x"), None);
        let odd = PerfectHash::from_tables(7, &[1, 2, 3], &[9, 9, 9]);
        for name in ["", "a", "somewhat longer than eight octets"] {
            assert!(odd.find(name.as_bytes()).is_none_or(|place| place == 8));
        }
    }
}
