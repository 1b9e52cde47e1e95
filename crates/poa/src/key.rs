//! Object keys: what a reference carries and only this server understands.
//!
//! | kind | octets after `OX1` |
//! |---|---|
//! | active | `a`, incarnation (8), POA (4), object slot (4), generation (4) |
//! | transient by id | `t`, incarnation (8), POA (4), object id |
//! | persistent | `p`, number of names (1), each name's length (1) and octets, object id |
//!
//! Numbers are little-endian. The incarnation differs for each POA and each
//! start of an ORB, so that a key of yesterday cannot reach an object of today.

/// First octets of every key made here.
const MAGIC: &[u8] = b"OX1";

/// Length of the key of an active transient object.
const ACTIVE_LEN: usize = 24;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key<'k> {
    /// An index into the POA table, one into its objects: nothing to search.
    Active {
        incarnation: u64,
        poa: u32,
        slot: u32,
        generation: u32,
    },
    /// A transient object with an id of the application.
    Transient {
        incarnation: u64,
        poa: u32,
        id: &'k [u8],
    },
    /// Found by POA path and object id, in this and later processes.
    Persistent { path: &'k [u8], id: &'k [u8] },
}

impl<'k> Key<'k> {
    /// `None`: not one of ours.
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
                let (names, mut rest) = rest.split_first()?;
                let start = rest;
                for _ in 0..*names {
                    let (length, name) = rest.split_first()?;
                    rest = name.get(usize::from(*length)..)?;
                }
                Some(Key::Persistent {
                    path: &start[..start.len() - rest.len()],
                    id: rest,
                })
            }
            _ => None,
        }
    }

    /// The octets that [`parse`](Key::parse) takes apart.
    pub(crate) fn to_octets(self) -> Vec<u8> {
        let mut key = Vec::with_capacity(ACTIVE_LEN);
        key.extend_from_slice(MAGIC);
        match self {
            Key::Active {
                incarnation,
                poa,
                slot,
                generation,
            } => {
                key.push(b'a');
                key.extend_from_slice(&incarnation.to_le_bytes());
                key.extend_from_slice(&poa.to_le_bytes());
                key.extend_from_slice(&slot.to_le_bytes());
                key.extend_from_slice(&generation.to_le_bytes());
            }
            Key::Transient {
                incarnation,
                poa,
                id,
            } => {
                key.push(b't');
                key.extend_from_slice(&incarnation.to_le_bytes());
                key.extend_from_slice(&poa.to_le_bytes());
                key.extend_from_slice(id);
            }
            Key::Persistent { path, id } => {
                key.push(b'p');
                key.push(names_in(path));
                key.extend_from_slice(path);
                key.extend_from_slice(id);
            }
        }
        key
    }
}

/// Appends one name to a POA path; `None` when it does not fit.
pub(crate) fn path_with(parent: &[u8], name: &str) -> Option<Box<[u8]>> {
    if names_in(parent) == u8::MAX {
        return None;
    }
    let mut path = parent.to_vec();
    path.push(u8::try_from(name.len()).ok()?);
    path.extend_from_slice(name.as_bytes());
    Some(path.into())
}

fn names_in(mut path: &[u8]) -> u8 {
    let mut names = 0;
    while let Some((length, rest)) = path.split_first() {
        path = &rest[usize::from(*length)..];
        names += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_survives() {
        let path = path_with(&path_with(b"", "bank").unwrap(), "accounts").unwrap();
        for key in [
            Key::Active {
                incarnation: 1,
                poa: 2,
                slot: 3,
                generation: 4,
            },
            Key::Transient {
                incarnation: u64::MAX,
                poa: 7,
                id: b"seven",
            },
            Key::Persistent {
                path: &path,
                id: b"",
            },
            Key::Persistent {
                path: b"",
                id: b"\x02ab",
            },
        ] {
            assert_eq!(Key::parse(&key.to_octets()), Some(key));
        }
    }

    #[test]
    fn no_prefix_of_a_key_is_a_panic() {
        let whole = Key::Active {
            incarnation: 1,
            poa: 2,
            slot: 3,
            generation: 4,
        }
        .to_octets();
        for end in 0..whole.len() {
            assert_eq!(Key::parse(&whole[..end]), None);
        }
        assert_eq!(Key::parse(b"OX1p\x02\x05ab"), None);
        assert_eq!(Key::parse(b"NameService"), None);
    }

    #[test]
    fn names_have_a_longest() {
        assert!(path_with(b"", &"n".repeat(255)).is_some());
        assert!(path_with(b"", &"n".repeat(256)).is_none());
    }
}
