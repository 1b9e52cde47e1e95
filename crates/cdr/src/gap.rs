//! A message of which a part lies elsewhere: in memory that the transport lends.

use crate::copies;
use crate::prelude::*;
use core::cell::{Cell, OnceCell};
use core::fmt;

use oxorb_lend::Lease;

/// Octets that belong into a message at a place, and lie in memory that is lent.
///
/// Whoever reads the message either takes the lease when reading comes to the place ([`Octets`](crate::Octets)), or
/// asks for the [whole](Self::whole) message, which copies. The memory for that is used again.
pub struct Gap {
    at: usize,
    octets: usize,
    lease: Cell<Option<Lease>>,
    /// Whether the lease was taken.
    taken: Cell<bool>,
    whole: OnceCell<Vec<u8>>,
    spare: Cell<Vec<u8>>,
}

impl Default for Gap {
    fn default() -> Self {
        Self {
            at: 0,
            octets: 0,
            lease: Cell::new(None),
            taken: Cell::new(false),
            whole: OnceCell::new(),
            spare: Cell::default(),
        }
    }
}

impl Gap {
    /// Places the octets of a lease into a message, after `at` octets of it.
    pub fn open(&mut self, at: usize, lease: Lease) {
        self.close(usize::MAX);
        (self.at, self.octets) = (at, lease.len());
        self.lease = Cell::new(Some(lease));
        self.taken = Cell::new(false);
    }

    /// Ends the lease if nobody has taken it, and keeps memory for copies of up to `kept` octets.
    pub fn close(&mut self, kept: usize) {
        self.lease.set(None);
        if let Some(mut whole) = self.whole.take() {
            whole.clear();
            whole.shrink_to(kept);
            self.spare.set(whole);
        }
    }

    /// Returns the octets of the message before the place.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the number of octets that belong there.
    #[inline]
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// Returns all of a message whose other octets are `rest`. Copies once; allocates where the memory of copies before does
    /// not suffice. Nothing is there once the lease was taken.
    pub fn whole(&self, rest: &[u8]) -> &[u8] {
        self.whole.get_or_init(|| {
            let mut whole = self.spare.take();
            whole.clear();
            if let Some(lease) = self.lease.take() {
                let (before, behind) = rest.split_at(self.at);
                whole.reserve_exact(rest.len() + lease.len());
                copies::append(&mut whole, before);
                lease.append_to(0, lease.len(), &mut whole);
                copies::append(&mut whole, behind);
            }
            whole
        })
    }

    /// Returns all of a message as [`whole`](Self::whole) does, in memory of its own.
    pub fn into_whole(&mut self, rest: &[u8]) -> Vec<u8> {
        self.whole(rest);
        // The memory of the copy goes with it: the next one allocates.
        self.whole.take().unwrap_or_default()
    }

    /// Returns a copy of all of a message whose other octets are `rest`, and leaves the lease where it is: for whoever keeps
    /// the message, and may read it in place nevertheless. Allocates. Nothing of the lease is there once it was taken.
    pub fn to_whole(&self, rest: &[u8]) -> Vec<u8> {
        if let Some(whole) = self.whole.get() {
            return whole.clone();
        }
        let Some(lease) = self.lease.take() else {
            return copies::to_vec(rest);
        };
        let (before, behind) = rest.split_at(self.at);
        let mut whole = Vec::with_capacity(rest.len() + lease.len());
        copies::append(&mut whole, before);
        lease.append_to(0, lease.len(), &mut whole);
        copies::append(&mut whole, behind);
        self.lease.set(Some(lease));
        whole
    }

    /// Octets of memory held for copies.
    pub fn memory(&self) -> usize {
        let spare = self.spare.take();
        let octets = self.whole.get().map_or(0, Vec::capacity) + spare.capacity();
        self.spare.set(spare);
        octets
    }

    /// Takes the lease, if it is there.
    pub(crate) fn take(&self) -> Option<Lease> {
        let lease = self.lease.take()?;
        self.taken.set(true);
        Some(lease)
    }

    /// Whether the octets were copied to their place.
    pub fn was_copied(&self) -> bool {
        self.whole.get().is_some()
    }

    /// Whether reading came to the place, and took the lease.
    #[inline]
    pub fn was_taken(&self) -> bool {
        self.taken.get()
    }
}

impl PartialEq for Gap {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for Gap {}

impl fmt::Debug for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} octets at {}", self.octets, self.at)
    }
}
