//! Look-up of names, in constant time for types with many names: a client may send a large type, and many values of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use oxorb_cdr::{TypeCode, TypeRef};

/// Maximum number of names that are compared one by one.
const FEW: usize = 16;

/// Positions of the names of enumerators and union members, for each type with more than [`FEW`] of them.
#[derive(Default)]
pub(super) struct Positions {
    /// Positions by the address of the first name.
    by_address: HashMap<usize, Index>,
}

struct Index {
    /// Owner of the names, so that no other names can have their address.
    _ty: TypeCode,
    positions: HashMap<Arc<str>, usize>,
}

impl Positions {
    /// Returns the position of the first enumerator, or member of a union, with a name.
    pub(super) fn of(&mut self, ty: TypeRef<'_>, name: &str) -> Option<usize> {
        let (enumerators, members) = (ty.enumerators(), ty.members());
        if enumerators.len() + members.len() <= FEW {
            let found = enumerators.iter().position(|known| **known == *name);
            return found.or_else(|| members.clone().position(|known| **known.name == *name));
        }
        let names = enumerators.iter().chain(members.map(|member| member.name)).enumerate();
        let (_, first) = names.clone().next()?;
        let index = self.by_address.entry(std::ptr::from_ref(first).addr()).or_insert_with(|| {
            let mut positions = HashMap::new();
            for (at, name) in names {
                positions.entry(name.clone()).or_insert(at);
            }
            Index { _ty: ty.to_type_code(), positions }
        });
        index.positions.get(name).copied()
    }
}

/// Returns the first key that is not among the names of members.
pub(super) fn unknown_key<'k, 'n>(
    mut keys: impl Iterator<Item = &'k String>,
    names: impl ExactSizeIterator<Item = &'n str> + Clone,
) -> Option<&'k String> {
    if names.len() <= FEW {
        return keys.find(|key| names.clone().all(|name| name != key.as_str()));
    }
    let names: HashSet<&str> = names.collect();
    keys.find(|key| !names.contains(key.as_str()))
}
