//! Descriptions of objects by a server's object adapter, for its budgets.

use std::fmt;

/// An active object, as its adapter knows it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Described<'a> {
    /// The key that its references have, without what they may add to it for an operation.
    pub key: &'a [u8],
    /// Names of its POA and of those above it, without the root's, joined by `/`.
    pub poa: &'a str,
    /// Repository id of its interface.
    pub repository_id: &'a str,
    /// Reports whether it has the interface of another repository id, too.
    pub is_a: &'a dyn Fn(&str) -> bool,
}

impl<'a> Described<'a> {
    /// An object with these properties.
    pub fn new(
        key: &'a [u8],
        poa: &'a str,
        repository_id: &'a str,
        is_a: &'a dyn Fn(&str) -> bool,
    ) -> Described<'a> {
        Described { key, poa, repository_id, is_a }
    }
}

impl fmt::Debug for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Described")
            .field("poa", &self.poa)
            .field("repository_id", &self.repository_id)
            .finish_non_exhaustive()
    }
}

/// Shows the object of a key, if it is active.
pub(crate) type Describe<'a> = dyn Fn(&[u8], &mut dyn FnMut(Described<'_>)) + 'a;
