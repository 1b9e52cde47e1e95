//! Ids of distributable threads.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher as _, Hash, Hasher};
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Longest id, in octets. Longer ids of peers are rejected.
pub const MAX_ID: usize = 64;

/// Globally unique id of a distributable thread (`RTScheduling::Current::IdType`).
///
/// New ids have 16 octets, of which the first eight are unique within a process, as TAO's
/// schedulers keep only these. Ids of peers may be any octets, up to [`MAX_ID`]. `Copy`; a new id
/// allocates nothing.
///
/// ```
/// use oxorb_rtscheduling::Id;
///
/// let id = Id::new();
/// assert_ne!(id, Id::new());
/// assert_eq!(Id::from_octets(id.octets()), Some(id));
/// assert_eq!(Id::from_octets(&[0; 65]), None);
/// assert_eq!(Id::from_octets(&[0x2a, 0xff]).unwrap().to_string(), "2aff");
/// ```
#[derive(Clone, Copy)]
pub struct Id {
    octets: [u8; MAX_ID],
    length: u8,
}

impl Id {
    /// Empty id, for frames without a distributable thread.
    pub(crate) const NONE: Id = Id { octets: [0; MAX_ID], length: 0 };

    /// Returns a new, globally unique id.
    #[expect(clippy::new_without_default, reason = "two of them differ")]
    pub fn new() -> Id {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        static PROCESS: OnceLock<(u64, u64)> = OnceLock::new();
        // Both numbers are random: `RandomState` obtains its keys from the system.
        let (key, process) = *PROCESS.get_or_init(|| (random(), random()));
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut octets = [0; MAX_ID];
        octets[..8].copy_from_slice(&spread(number ^ key).to_be_bytes());
        octets[8..16].copy_from_slice(&process.to_be_bytes());
        Id { octets, length: 16 }
    }

    /// Returns the id with these octets; `None` if they exceed [`MAX_ID`].
    pub fn from_octets(octets: &[u8]) -> Option<Id> {
        let mut id = Id { octets: [0; MAX_ID], length: octets.len() as u8 };
        id.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(id)
    }

    /// Returns the octets of the id.
    #[inline]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }
}

fn random() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(process::id());
    hasher.finish()
}

/// Maps numbers one-to-one, so that consecutive numbers become very different (splitmix64).
fn spread(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl PartialEq for Id {
    fn eq(&self, other: &Id) -> bool {
        self.octets() == other.octets()
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.octets().hash(state);
    }
}

impl fmt::Display for Id {
    /// Formats the id as hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.octets().iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_first_eight_octets_of_ids_differ() {
        let ids: HashSet<Vec<u8>> = (0..10_000).map(|_| Id::new().octets()[..8].to_vec()).collect();
        assert_eq!(ids.len(), 10_000);
    }
}
