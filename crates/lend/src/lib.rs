//! Octets in memory that a transport lends: a payload read where its sender wrote it ([`Lease`]), and written where its
//! receiver will read it ([`Room`]).
//!
//! The sender may be another process, and may change the memory at any time, also while it is read. So
//! a [`Lease`] never shows a slice: its octets are copied out, each time anew, and two copies may
//! differ. What is decided about octets is decided about a copy.
//!
//! ```
//! use std::sync::Arc;
//! use oxorb_lend::{Lease, Memory};
//!
//! struct Page([u8; 8]);
//!
//! impl Memory for Page {
//!     fn copy_to(&self, at: usize, octets: &mut [u8]) {
//!         octets.copy_from_slice(&self.0[at..at + octets.len()]);
//!     }
//!     fn append_to(&self, at: usize, octets: usize, buffer: &mut Vec<u8>) {
//!         buffer.extend_from_slice(&self.0[at..at + octets]);
//!     }
//!     fn give_back(&self, ticket: u64) {
//!         assert_eq!(ticket, 7);
//!     }
//! }
//!
//! let lease = Lease::new(Arc::new(Page(*b"a sample")), 2, 6, 7);
//! assert_eq!(lease.to_vec(), b"sample");
//! ```
//!
//! Builds without the standard library, with an allocator: `default-features = false`. Without it a lease has no `io::Read`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod room;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
#[cfg(feature = "std")]
use std::io;

pub use room::{Place, Room, SealedRoom};

/// Number of octets from which on transports lend memory: smaller payloads cost less as copies.
pub const LARGE: usize = 16 << 10;

/// Memory of which parts are lent.
pub trait Memory: Send + Sync {
    /// Copies octets out of the memory, from the octet `at` on. Each is read once.
    ///
    /// # Panics
    /// Unless they lie within the memory.
    fn copy_to(&self, at: usize, octets: &mut [u8]);

    /// Appends octets of the memory to a buffer, as [`copy_to`](Self::copy_to) copies them, without
    /// filling the room for them before.
    ///
    /// # Panics
    /// As `copy_to`.
    fn append_to(&self, at: usize, octets: usize, buffer: &mut Vec<u8>);

    /// Takes back the part that was lent with a ticket. Never waits or allocates; for any thread.
    fn give_back(&self, ticket: u64);
}

/// A part of a memory, lent until this value is dropped, on whichever thread. The memory lives as long,
/// also when the connection is over.
///
/// # Real-time cost
///
/// Making, sending and dropping one allocates nothing and takes no lock. A lease that is kept is
/// memory which the sender cannot use; a sender without memory to lend sends copies.
pub struct Lease {
    memory: Arc<dyn Memory>,
    first: usize,
    octets: usize,
    ticket: u64,
}

impl Lease {
    /// Lends a part of a memory. The `ticket` goes back to the memory when the lease is dropped.
    pub fn new(memory: Arc<dyn Memory>, first: usize, octets: usize, ticket: u64) -> Self {
        Self { memory, first, octets, ticket }
    }

    /// Returns the number of octets.
    #[inline]
    pub fn len(&self) -> usize {
        self.octets
    }

    /// Whether there are no octets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.octets == 0
    }

    /// Copies octets out, from the octet `at` on.
    ///
    /// # Panics
    /// When the lease has fewer.
    pub fn copy_to(&self, at: usize, octets: &mut [u8]) {
        self.check(at, octets.len());
        self.memory.copy_to(self.first + at, octets);
    }

    /// Appends octets to a buffer, from the octet `at` on.
    ///
    /// # Panics
    /// When the lease has fewer.
    pub fn append_to(&self, at: usize, octets: usize, buffer: &mut Vec<u8>) {
        self.check(at, octets);
        self.memory.append_to(self.first + at, octets, buffer);
    }

    /// Returns a copy of all octets. Allocates.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.octets);
        self.append_to(0, self.octets, &mut all);
        all
    }

    /// Returns a reader of the octets from the first one on.
    #[cfg(feature = "std")]
    pub fn reader(&self) -> Reader<'_> {
        Reader { lease: self, at: 0 }
    }

    fn check(&self, at: usize, octets: usize) {
        let end = at.checked_add(octets);
        assert!(
            end.is_some_and(|end| end <= self.octets),
            "{octets} octets from {at} on, of a lease of {}",
            self.octets
        );
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.memory.give_back(self.ticket);
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("octets", &self.octets).finish_non_exhaustive()
    }
}

/// A place in the octets of a [`Lease`].
#[cfg(feature = "std")]
#[derive(Clone, Debug)]
pub struct Reader<'l> {
    lease: &'l Lease,
    at: usize,
}

#[cfg(feature = "std")]
impl io::Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(self.lease.len() - self.at);
        self.lease.copy_to(self.at, &mut buffer[..count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    struct Page(AtomicU64);

    impl Memory for Page {
        fn copy_to(&self, at: usize, octets: &mut [u8]) {
            for (octet, value) in octets.iter_mut().zip(at..) {
                *octet = value as u8;
            }
        }
        fn append_to(&self, at: usize, octets: usize, buffer: &mut Vec<u8>) {
            buffer.extend((at..at + octets).map(|value| value as u8));
        }
        fn give_back(&self, ticket: u64) {
            self.0.fetch_add(ticket, Ordering::Relaxed);
        }
    }

    #[test]
    fn octets_are_those_of_the_part_and_it_is_given_back_once() {
        let page = Arc::new(Page(AtomicU64::new(0)));
        let lease = Lease::new(page.clone(), 10, 5, 3);
        assert_eq!((lease.len(), lease.is_empty()), (5, false));
        assert_eq!(lease.to_vec(), [10, 11, 12, 13, 14]);
        let mut two = [0; 2];
        lease.copy_to(3, &mut two);
        assert_eq!(two, [13, 14]);
        assert_eq!(page.0.load(Ordering::Relaxed), 0);
        std::thread::spawn(move || drop(lease)).join().unwrap();
        assert_eq!(page.0.load(Ordering::Relaxed), 3);
    }

    #[test]
    #[cfg(feature = "std")]
    fn a_reader_goes_on_where_it_stopped() {
        use std::io::Read as _;

        let lease = Lease::new(Arc::new(Page(AtomicU64::new(0))), 10, 5, 3);
        let (mut two, mut all) = ([0; 2], Vec::new());
        let mut reader = lease.reader();
        assert_eq!(reader.read(&mut two).unwrap(), 2);
        reader.read_to_end(&mut all).unwrap();
        assert_eq!((two, all.as_slice()), ([10, 11], &[12, 13, 14][..]));
    }

    #[test]
    #[should_panic(expected = "4 octets from 2 on, of a lease of 5")]
    fn nothing_behind_the_part_is_read() {
        let page = Arc::new(Page(AtomicU64::new(0)));
        Lease::new(page, 0, 5, 0).append_to(2, 4, &mut Vec::new());
    }
}
