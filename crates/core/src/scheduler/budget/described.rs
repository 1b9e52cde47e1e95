//! Descriptions of objects, from a server's object adapter, for its budgets.

use std::fmt;

/// Description of an active object by its adapter.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Described<'a> {
    /// Object key in its references, without a suffix for an operation.
    pub key: &'a [u8],
    /// Path of the object's POA below the root, with names joined by `/`.
    pub poa: &'a str,
    /// Repository id of its interface.
    pub repository_id: &'a str,
    /// Predicate for further repository ids of the object's interfaces.
    pub is_a: &'a dyn Fn(&str) -> bool,
}

impl<'a> Described<'a> {
    /// Describes an object.
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

/// Function that passes the description of an active object, by its key, to a callback.
pub(crate) type Describe<'a> = dyn Fn(&[u8], &mut dyn FnMut(Described<'_>)) + 'a;
