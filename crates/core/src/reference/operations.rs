//! Lookup of operations by name, by the method that the IDL compiler chose.

use std::sync::OnceLock;

use oxorb_perfect::PerfectHash;

use crate::OperationSearch;

/// Index of an interface's operations by name. The IDL compiler generates one for each skeleton; a
/// lookup allocates nothing and takes no lock.
#[derive(Debug)]
pub struct Operations {
    pub(crate) names: &'static [&'static str],
    by: By,
    /// Tables for other search methods, built when an ORB first needs one.
    hash: OnceLock<Option<PerfectHash>>,
    order: OnceLock<Box<[u16]>>,
}

#[derive(Debug)]
enum By {
    Perfect(PerfectHash),
    /// Indices into the list, in the order of the names.
    Binary(&'static [u16]),
    Linear,
}

impl Operations {
    /// Returns an index that finds a name by one hash and one comparison.
    pub const fn perfect(names: &'static [&'static str], hash: PerfectHash) -> Self {
        Operations::of(names, By::Perfect(hash))
    }

    /// Returns an index that finds a name by binary search; `order` holds the names' positions in
    /// the list, sorted by the octets of the names.
    pub const fn binary(names: &'static [&'static str], order: &'static [u16]) -> Self {
        Operations::of(names, By::Binary(order))
    }

    /// Returns an index that finds a name by comparison with one after the other.
    pub const fn linear(names: &'static [&'static str]) -> Self {
        Operations::of(names, By::Linear)
    }

    const fn of(names: &'static [&'static str], by: By) -> Self {
        Operations { names, by, hash: OnceLock::new(), order: OnceLock::new() }
    }

    /// Returns the position of a name in the list, or the list's length if it is absent.
    ///
    /// `slot` is the position sent by the client. If the list has the name at that position, no
    /// search is needed; otherwise the position is ignored and the name is searched for.
    #[inline]
    pub fn find(&self, name: &str, slot: u16) -> usize {
        match self.believed(name, slot) {
            Some(place) => place,
            None => self.search(name),
        }
    }

    /// Returns `slot` if it is the position of `name`.
    #[inline]
    pub(crate) fn believed(&self, name: &str, slot: u16) -> Option<usize> {
        let here = *self.names.get(usize::from(slot))?;
        (here == name).then_some(usize::from(slot))
    }

    /// Does what [`search`](Self::search) does, by the given method instead of the generated one.
    pub(crate) fn search_by(&self, name: &str, how: OperationSearch) -> usize {
        match how {
            OperationSearch::Generated => self.search(name),
            other => self.search_otherwise(name, other),
        }
    }

    #[cold]
    fn search_otherwise(&self, name: &str, how: OperationSearch) -> usize {
        let names = self.names;
        let found = match how {
            OperationSearch::Generated => return self.search(name),
            OperationSearch::Perfect => {
                let hash = self.hash.get_or_init(|| PerfectHash::build(names).ok());
                match hash {
                    Some(hash) => {
                        hash.find(name.as_bytes()).filter(|place| names.get(*place) == Some(&name))
                    }
                    // No perfect hash exists if a name occurs twice, so the names are compared one after the other.
                    None => names.iter().position(|here| *here == name),
                }
            }
            OperationSearch::Binary => {
                let order = self.order.get_or_init(|| {
                    let mut order: Box<[u16]> = (0..names.len() as u16).collect();
                    order.sort_by_key(|place| names[usize::from(*place)]);
                    order
                });
                order
                    .binary_search_by(|place| names[usize::from(*place)].cmp(name))
                    .ok()
                    .map(|at| usize::from(order[at]))
            }
            OperationSearch::Linear => names.iter().position(|here| *here == name),
        };
        found.unwrap_or(names.len())
    }

    /// Returns the position of a name in the list, or the list's length if it is absent.
    pub fn search(&self, name: &str) -> usize {
        let found = match &self.by {
            By::Perfect(hash) => {
                hash.find(name.as_bytes()).filter(|place| self.names.get(*place) == Some(&name))
            }
            By::Binary(order) => order
                .binary_search_by(|place| self.names[usize::from(*place)].cmp(name))
                .ok()
                .map(|at| usize::from(order[at])),
            By::Linear => self.names.iter().position(|here| *here == name),
        };
        found.unwrap_or(self.names.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["withdraw", "deposit", "_get_balance", "close"];

    fn each() -> [Operations; 3] {
        [
            Operations::perfect(NAMES, PerfectHash::build(NAMES).unwrap()),
            Operations::binary(NAMES, &[2, 3, 1, 0]),
            Operations::linear(NAMES),
        ]
    }

    #[test]
    fn all_find_the_same() {
        for operations in each() {
            for (place, name) in NAMES.iter().enumerate() {
                assert_eq!(operations.search(name), place, "{operations:?}");
            }
            for absent in ["", "clos", "close2", "transfer", "_set_balance"] {
                assert_eq!(operations.search(absent), NAMES.len(), "{operations:?}");
            }
            for how in [
                OperationSearch::Generated,
                OperationSearch::Perfect,
                OperationSearch::Binary,
                OperationSearch::Linear,
            ] {
                for (place, name) in NAMES.iter().enumerate() {
                    assert_eq!(operations.search_by(name, how), place, "{how:?}");
                }
                assert_eq!(operations.search_by("clos", how), NAMES.len(), "{how:?}");
            }
        }
    }

    #[test]
    fn a_belief_is_checked() {
        for operations in each() {
            assert_eq!(operations.find("deposit", 1), 1);
            // A wrong slot, in or out of range, does not change the result.
            for slot in [0, 2, 4, 700, u16::MAX] {
                assert_eq!(operations.find("deposit", slot), 1);
                assert_eq!(operations.find("transfer", slot), NAMES.len());
            }
        }
    }
}
