//! Payloads in memory that a transport lends: a receiver reads them where the sender wrote them
//! ([`Lease`]), and a sender writes them where the receiver will read them ([`Room`]).
//!
//! The sender may be another process, and may change the memory at any time, even while it is read.
//! A [`Lease`] therefore never exposes a slice: each access copies the octets out, and two copies
//! may differ. Decisions about octets are made on a copy.
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
//! The crate builds without the standard library (`default-features = false`), but needs an
//! allocator. A lease then has no `io::Read`.
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

pub use room::{Room, RoomPlace, SealedRoom};

/// Smallest payload, in octets, for which transports lend memory; smaller ones cost less as copies.
pub const LARGE: usize = 16 << 10;

/// Memory whose parts can be lent.
pub trait Memory: Send + Sync {
    /// Copies octets out of the memory, starting at offset `at`. Reads each octet once.
    ///
    /// # Panics
    /// When the range is not within the memory.
    fn copy_to(&self, at: usize, octets: &mut [u8]);

    /// Appends octets of the memory to a buffer, as [`copy_to`](Self::copy_to) copies them, without
    /// initialising the buffer's spare capacity first.
    ///
    /// # Panics
    /// When the range is not within the memory.
    fn append_to(&self, at: usize, octets: usize, buffer: &mut Vec<u8>);

    /// Takes back the part lent under `ticket`. Never blocks or allocates; callable from any
    /// thread.
    fn give_back(&self, ticket: u64);
}

/// Part of a [`Memory`], lent until this value is dropped, on any thread. The memory outlives the
/// connection as long as a lease exists.
///
/// # Real-time cost
///
/// Creating, sending and dropping a lease allocates nothing and takes no lock. Memory under a lease
/// is unavailable to the sender; a sender without memory to lend sends copies.
pub struct Lease {
    memory: Arc<dyn Memory>,
    first: usize,
    octets: usize,
    ticket: u64,
}

impl Lease {
    /// Lends a part of a memory. Dropping the lease returns `ticket` to the memory.
    pub fn new(memory: Arc<dyn Memory>, first: usize, octets: usize, ticket: u64) -> Self {
        Self { memory, first, octets, ticket }
    }

    /// Returns the number of octets.
    #[inline]
    pub fn len(&self) -> usize {
        self.octets
    }

    /// Reports whether the lease has no octets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.octets == 0
    }

    /// Copies octets out, starting at offset `at`.
    ///
    /// # Panics
    /// When the range ends past the lease.
    pub fn copy_to(&self, at: usize, octets: &mut [u8]) {
        self.check(at, octets.len());
        self.memory.copy_to(self.first + at, octets);
    }

    /// Appends octets to a buffer, starting at offset `at`.
    ///
    /// # Panics
    /// When the range ends past the lease.
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

    /// Returns a reader that starts at the first octet.
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

/// Sequential reader of the octets of a [`Lease`].
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
