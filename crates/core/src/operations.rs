//! Which operation a name means: lookups that the IDL compiler makes (A6.1).

use oxorb_perfect::PerfectHash;

/// The operations of an interface by name. The IDL compiler makes one for each
/// skeleton; finding allocates nothing and takes no lock.
#[derive(Debug)]
pub struct Operations {
    pub(crate) names: &'static [&'static str],
    by: By,
}

#[derive(Debug)]
enum By {
    Perfect(PerfectHash),
    /// Places in the list, names in order.
    Binary(&'static [u16]),
    Linear,
}

impl Operations {
    /// One hash and one comparison, however many there are.
    pub const fn perfect(names: &'static [&'static str], hash: PerfectHash) -> Self {
        Operations {
            names,
            by: By::Perfect(hash),
        }
    }

    /// A comparison for each doubling of their number; `order` are the places of
    /// the names in the order of their octets.
    pub const fn binary(names: &'static [&'static str], order: &'static [u16]) -> Self {
        Operations {
            names,
            by: By::Binary(order),
        }
    }

    /// One comparison after the other.
    pub const fn linear(names: &'static [&'static str]) -> Self {
        Operations {
            names,
            by: By::Linear,
        }
    }

    /// The place of a name in the list, or one past its end.
    ///
    /// `slot` is where the client believes it to be (A6.4). If the name is there,
    /// nothing is searched; if not, the client was mistaken, or lied, and the name
    /// decides.
    #[inline]
    pub fn find(&self, name: &str, slot: u16) -> usize {
        let believed = usize::from(slot);
        if self.names.get(believed).is_some_and(|here| *here == name) {
            return believed;
        }
        self.search(name)
    }

    /// The place of a name in the list, or one past its end.
    pub fn search(&self, name: &str) -> usize {
        let found = match &self.by {
            By::Perfect(hash) => hash
                .find(name.as_bytes())
                .filter(|place| self.names.get(*place) == Some(&name)),
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
        }
    }

    #[test]
    fn a_belief_is_checked() {
        for operations in each() {
            assert_eq!(operations.find("deposit", 1), 1);
            // Mistaken, forged, none.
            for slot in [0, 2, 4, 700, u16::MAX] {
                assert_eq!(operations.find("deposit", slot), 1);
                assert_eq!(operations.find("transfer", slot), NAMES.len());
            }
        }
    }
}
