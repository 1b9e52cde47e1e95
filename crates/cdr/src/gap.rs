//! Messages with a part in memory that the transport lends.

use crate::copies;
use crate::prelude::*;
use core::cell::{Cell, OnceCell};
use core::fmt;

use oxorb_lend::Lease;

/// Octets that belong at a position of a message, and are stored in lent memory.
///
/// The reader of the message either takes the lease when it reaches the position
/// ([`Octets`](crate::Octets)), or requests the [whole](Self::whole) message, which copies into
/// memory that is reused.
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
    /// Inserts the octets of a lease into a message, after its first `at` octets.
    pub fn open(&mut self, at: usize, lease: Lease) {
        self.close(usize::MAX);
        (self.at, self.octets) = (at, lease.len());
        self.lease = Cell::new(Some(lease));
        self.taken = Cell::new(false);
    }

    /// Ends the lease if it was not taken, and retains memory for copies of up to `kept` octets.
    pub fn close(&mut self, kept: usize) {
        self.lease.set(None);
        if let Some(mut whole) = self.whole.take() {
            whole.clear();
            whole.shrink_to(kept);
            self.spare.set(whole);
        }
    }

    /// Returns the number of octets in the message before the gap.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the number of octets in the gap.
    #[inline]
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// Returns the whole message, whose other octets are `rest`. Copies once; allocates if the
    /// memory of earlier copies does not suffice. Octets of a lease already taken are missing.
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

    /// Returns the whole message as [`whole`](Self::whole) does, as an owned vector.
    pub fn into_whole(&mut self, rest: &[u8]) -> Vec<u8> {
        self.whole(rest);
        // Hands out the buffer instead of keeping it for reuse, so the next copy allocates.
        self.whole.take().unwrap_or_default()
    }

    /// Returns a copy of the whole message, whose other octets are `rest`. Does not end the lease,
    /// so the message can still be read in place. Allocates. Octets of a lease already taken are
    /// missing.
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

    /// Returns the memory held for copies, in octets.
    pub fn memory(&self) -> usize {
        let spare = self.spare.take();
        let octets = self.whole.get().map_or(0, Vec::capacity) + spare.capacity();
        self.spare.set(spare);
        octets
    }

    /// Takes the lease, if it was not taken yet.
    pub(crate) fn take(&self) -> Option<Lease> {
        let lease = self.lease.take()?;
        self.taken.set(true);
        Some(lease)
    }

    /// Reports whether the octets were copied into the message.
    pub fn was_copied(&self) -> bool {
        self.whole.get().is_some()
    }

    /// Reports whether a reader reached the gap, and took the lease.
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
