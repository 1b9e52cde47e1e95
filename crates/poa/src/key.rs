//! Object keys: octets in a reference that only the server interprets.
//!
//! | kind | octets after `OX1` |
//! |---|---|
//! | active | `a`, incarnation (8), POA (4), object slot (4), generation (4) |
//! | transient by id | `t`, incarnation (8), POA (4), object id |
//! | active, from a client of this implementation | the octets of `active`, and the suggested operation slot (2) |
//! | persistent | `p`, hash of the path (8), length of the path (2), path, object id |
//!
//! Numbers are little-endian; a path consists of each name's length (1) and octets. The incarnation
//! differs for each POA and each start of an ORB, so that a key from an earlier run cannot reach a
//! current object. The hash saves the server from comparing the names one by one: a POA is found in
//! the same time at any depth. The hash is the same in every process; a key with a wrong hash
//! matches no POA.

use oxorb_core::{NO_SLOT, PreparedTarget, SLOTTED_KEY, SLOTTED_KEY_LEN};

use crate::object_map::Place;

/// First octets of every key that this implementation creates.
const MAGIC: &[u8] = b"OX1";

/// Length of the key of an active transient object.
const ACTIVE_LEN: usize = SLOTTED_KEY_LEN;

/// Parsed key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key<'k> {
    /// Key with an index into the POA table and one into its objects, so that no search is needed.
    Active { incarnation: u64, poa: u32, slot: u32, generation: u32 },
    /// Key of a transient object that is found by its id.
    Transient { incarnation: u64, poa: u32, id: &'k [u8] },
    /// Key by POA path and object id, valid in this and later processes.
    Persistent { hash: u64, path: &'k [u8], id: &'k [u8] },
}

/// Parsed key of an active object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ActiveKey {
    pub(crate) incarnation: u64,
    pub(crate) poa: u32,
    pub(crate) place: Place,
}

impl ActiveKey {
    /// Parses the key of an active object, and the operation slot that a client of this
    /// implementation suggests. `None` for all other keys.
    #[inline(always)]
    pub(crate) fn parse(key: &[u8]) -> Option<(ActiveKey, u16)> {
        let (key, slot) = key.split_first_chunk::<ACTIVE_LEN>()?;
        let slot = match slot {
            [] => NO_SLOT,
            [low, high] => u16::from_le_bytes([*low, *high]),
            _ => return None,
        };
        let (kind, rest) = key.split_first_chunk()?;
        let (incarnation, rest) = rest.split_first_chunk()?;
        let (poa, rest) = rest.split_first_chunk()?;
        let (object, rest) = rest.split_first_chunk()?;
        let generation = rest.first_chunk()?;
        if kind != SLOTTED_KEY {
            return None;
        }
        let place = Place {
            slot: u32::from_le_bytes(*object),
            generation: u32::from_le_bytes(*generation),
        };
        let active = ActiveKey {
            incarnation: u64::from_le_bytes(*incarnation),
            poa: u32::from_le_bytes(*poa),
            place,
        };
        Some((active, slot))
    }

    /// Returns the key in the form in which it is cached with an alias.
    pub(crate) fn prepared(self) -> PreparedTarget {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let Place { slot, generation } = self.place;
        [self.incarnation, self.poa.into(), pair(slot, generation)]
    }

    /// Returns the key from the form in which it was cached.
    #[inline(always)]
    pub(crate) fn of(prepared: PreparedTarget) -> ActiveKey {
        let [incarnation, poa, place] = prepared;
        ActiveKey {
            incarnation,
            poa: poa as u32,
            place: Place { slot: (place >> 32) as u32, generation: place as u32 },
        }
    }
}

impl From<ActiveKey> for Key<'_> {
    fn from(key: ActiveKey) -> Self {
        Key::Active {
            incarnation: key.incarnation,
            poa: key.poa,
            slot: key.place.slot,
            generation: key.place.generation,
        }
    }
}

impl<'k> Key<'k> {
    /// Parses a key; `None` if this implementation did not create it.
    pub(crate) fn parse(key: &'k [u8]) -> Option<Key<'k>> {
        let (kind, rest) = key.strip_prefix(MAGIC)?.split_first()?;
        match kind {
            b'a' => {
                let (incarnation, rest) = rest.split_first_chunk()?;
                let (poa, rest) = rest.split_first_chunk()?;
                let (slot, rest) = rest.split_first_chunk()?;
                Some(Key::Active {
                    incarnation: u64::from_le_bytes(*incarnation),
                    poa: u32::from_le_bytes(*poa),
                    slot: u32::from_le_bytes(*slot),
                    generation: u32::from_le_bytes(rest.try_into().ok()?),
                })
            }
            b't' => {
                let (incarnation, rest) = rest.split_first_chunk()?;
                let (poa, id) = rest.split_first_chunk()?;
                Some(Key::Transient {
                    incarnation: u64::from_le_bytes(*incarnation),
                    poa: u32::from_le_bytes(*poa),
                    id,
                })
            }
            b'p' => {
                let (hash, rest) = rest.split_first_chunk()?;
                let (length, rest) = rest.split_first_chunk()?;
                let (path, id) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
                Some(Key::Persistent { hash: u64::from_le_bytes(*hash), path, id })
            }
            _ => None,
        }
    }

    /// Returns the octets that [`parse`](Key::parse) parses.
    pub(crate) fn to_octets(self) -> Vec<u8> {
        let mut key = Vec::with_capacity(ACTIVE_LEN);
        key.extend_from_slice(MAGIC);
        match self {
            Key::Active { incarnation, poa, slot, generation } => {
                key.push(b'a');
                key.extend_from_slice(&incarnation.to_le_bytes());
                key.extend_from_slice(&poa.to_le_bytes());
                key.extend_from_slice(&slot.to_le_bytes());
                key.extend_from_slice(&generation.to_le_bytes());
            }
            Key::Transient { incarnation, poa, id } => {
                key.push(b't');
                key.extend_from_slice(&incarnation.to_le_bytes());
                key.extend_from_slice(&poa.to_le_bytes());
                key.extend_from_slice(id);
            }
            Key::Persistent { hash, path, id } => {
                key.push(b'p');
                key.extend_from_slice(&hash.to_le_bytes());
                let length = u16::try_from(path.len()).expect("path_with sees to it");
                key.extend_from_slice(&length.to_le_bytes());
                key.extend_from_slice(path);
                key.extend_from_slice(id);
            }
        }
        key
    }
}

/// Appends one name to a POA path; `None` if the name or the path is too long.
pub(crate) fn path_with(parent: &[u8], name: &str) -> Option<Box<[u8]>> {
    let mut path = parent.to_vec();
    path.push(u8::try_from(name.len()).ok()?);
    path.extend_from_slice(name.as_bytes());
    u16::try_from(path.len()).ok()?;
    Some(path.into())
}

/// Returns the names of an untrusted path, each with the path up to and including it; `None` for an
/// invalid name.
pub(crate) fn names(path: &[u8]) -> impl Iterator<Item = Option<(&str, &[u8])>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = usize::from(*path.get(at)?);
        let name =
            path.get(at + 1..at + 1 + length).and_then(|name| std::str::from_utf8(name).ok());
        at += 1 + length;
        Some(name.map(|name| (name, &path[..at])))
    })
}

/// Returns the FNV-1a hash of a path. References contain it, so it must never change.
pub(crate) fn path_hash(path: &[u8]) -> u64 {
    path.iter().fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_survives() {
        let path = path_with(&path_with(b"", "bank").unwrap(), "accounts").unwrap();
        for key in [
            Key::Active { incarnation: 1, poa: 2, slot: 3, generation: 4 },
            Key::Transient { incarnation: u64::MAX, poa: 7, id: b"seven" },
            Key::Persistent { hash: path_hash(&path), path: &path, id: b"" },
            Key::Persistent { hash: path_hash(b""), path: b"", id: b"\x02ab" },
        ] {
            assert_eq!(Key::parse(&key.to_octets()), Some(key));
        }
    }

    #[test]
    fn both_ways_of_reading_the_key_of_an_active_object_agree() {
        let key =
            Key::Active { incarnation: u64::MAX - 1, poa: 2, slot: u32::MAX - 3, generation: 4 };
        let octets = key.to_octets();
        let (active, slot) = ActiveKey::parse(&octets).unwrap();
        assert_eq!((Key::from(active), slot), (key, NO_SLOT));
        assert_eq!(ActiveKey::of(active.prepared()), active);
        let slotted = [&octets[..], &[7, 1]].concat();
        assert_eq!(ActiveKey::parse(&slotted), Some((active, 0x107)));
        assert_eq!(ActiveKey::parse(&slotted[..25]), None);
        assert_eq!(ActiveKey::parse(&[&slotted[..], &[0]].concat()), None);
        for end in 0..octets.len() {
            assert_eq!(ActiveKey::parse(&octets[..end]), None);
        }
        let other = Key::Transient { incarnation: 1, poa: 2, id: b"12345678" };
        assert_eq!(ActiveKey::parse(&other.to_octets()), None);
    }

    #[test]
    fn no_prefix_of_a_key_is_a_panic() {
        let whole = Key::Active { incarnation: 1, poa: 2, slot: 3, generation: 4 }.to_octets();
        for end in 0..whole.len() {
            assert_eq!(Key::parse(&whole[..end]), None);
        }
        let path = path_with(b"", "bank").unwrap();
        let whole = Key::Persistent { hash: path_hash(&path), path: &path, id: b"" }.to_octets();
        for end in 0..whole.len() {
            assert_eq!(Key::parse(&whole[..end]), None);
        }
        assert_eq!(Key::parse(b"NameService"), None);
    }

    #[test]
    fn names_have_a_longest() {
        assert!(path_with(b"", &"n".repeat(255)).is_some());
        assert!(path_with(b"", &"n".repeat(256)).is_none());
        assert!(path_with(&[b'n'; 65_300], &"n".repeat(255)).is_none());
    }

    #[test]
    fn names_come_out_of_a_path_and_nonsense_ends_it() {
        let path = path_with(&path_with(b"", "bank").unwrap(), "accounts").unwrap();
        let all: Vec<_> = names(&path).map(Option::unwrap).collect();
        assert_eq!(all, [("bank", &path[..5]), ("accounts", &path[..])]);
        for forged in [&b"\x05ab"[..], b"\x01\xff", b"\x00\x09"] {
            assert!(names(forged).any(|name| name.is_none()));
        }
    }
}
