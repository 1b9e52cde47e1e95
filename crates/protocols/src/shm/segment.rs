//! Memory of a connection: words and octets that the other process may change at any time.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU32, Ordering, fence};
#[cfg(not(all(test, loom)))]
use std::time::Duration;

#[cfg(not(all(test, loom)))]
use oxorb_sys::futex;
#[cfg(not(all(test, loom)))]
use oxorb_sys::shared::View;
use oxorb_sys::shared::{self, Shared, Sheet};

/// Memory of a connection, with a ring for each direction.
#[cfg(not(all(test, loom)))]
#[derive(Debug)]
pub(crate) struct Segment {
    memory: Shared,
    sizes: Sizes,
    /// Rooms that the peer fills: the same size as the blocks of a direction.
    rooms: Option<View>,
}

/// Sizes of the parts of a segment for each direction, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Size of a ring: a power of two.
    pub(crate) ring: u32,
    /// Size of the area of blocks: a multiple of a page.
    pub(crate) blocks: u32,
}

impl Sizes {
    /// Returns the octets of both directions.
    fn data(self) -> usize {
        2 * (self.ring as usize + self.blocks as usize)
    }

    /// Returns the maximum size in octets of the memory that a connection uses.
    pub(crate) fn octets(self) -> usize {
        shared::HEADER + self.data()
    }
}

/// Creates memory of these sizes, and the descriptor for the other process.
pub(crate) fn create(sizes: Sizes) -> io::Result<(Shared, OwnedFd)> {
    Shared::create("oxorb-shm", sizes.data())
}

/// Creates rooms of these sizes, which this process fills, and the descriptor for the other one.
/// Returns `None` if there are no blocks, or the system does not support rooms.
pub(crate) fn create_rooms(sizes: Sizes) -> io::Result<Option<(Arc<Sheet>, OwnedFd)>> {
    if sizes.blocks == 0 {
        return Ok(None);
    }
    match Sheet::create("oxorb-rooms", sizes.blocks) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        made => made.map(Some),
    }
}

/// Maps memory created by another process.
pub(crate) fn open(descriptor: impl AsFd, sizes: Sizes) -> io::Result<Shared> {
    Shared::open(descriptor, sizes.data())
}

#[cfg(not(all(test, loom)))]
impl Segment {
    /// Wraps memory of these sizes.
    pub(crate) fn new(memory: Shared, sizes: Sizes) -> Self {
        assert!(sizes.ring.is_power_of_two() && memory.data().len() * 8 == sizes.data());
        let rooms = None;
        Self { memory, sizes, rooms }
    }

    /// Adds the rooms of the peer after its blocks.
    pub(crate) fn with_rooms(self, rooms: Option<View>) -> Self {
        Self { rooms, ..self }
    }

    /// Returns the size of the rooms that the peer fills, in octets.
    pub(crate) fn rooms(&self) -> u32 {
        self.rooms.as_ref().map_or(0, |_| self.sizes.blocks)
    }

    /// Creates a segment for two threads of this process, without a descriptor.
    pub(crate) fn private(ring: u32, blocks: u32) -> io::Result<Self> {
        let sizes = Sizes { ring, blocks };
        Ok(Self::new(Shared::private(sizes.data())?, sizes))
    }

    /// Returns the size of a ring, in octets.
    #[inline]
    pub(crate) fn ring(&self) -> u32 {
        self.sizes.ring
    }

    /// Returns the total size of the blocks of a direction, in octets.
    #[inline]
    pub(crate) fn blocks(&self) -> u32 {
        self.sizes.blocks
    }

    /// Returns the maximum size in octets of the memory that the segment uses.
    pub(crate) fn octets(&self) -> usize {
        self.sizes.octets()
    }

    /// Returns a word of the header.
    #[inline]
    pub(crate) fn word(&self, index: usize) -> &AtomicU32 {
        &self.memory.header()[index]
    }

    /// Copies octets into the data, which must be large enough.
    #[inline]
    pub(crate) fn copy_in(&self, at: usize, octets: &[u8]) {
        shared::copy_in(self.memory.data(), at, octets);
    }

    /// Appends octets of the data to a buffer.
    #[inline]
    pub(crate) fn copy_out(&self, at: usize, buffer: &mut Vec<u8>, octets: usize) {
        match at.checked_sub(self.sizes.data()) {
            None => shared::copy_out(self.memory.data(), at, buffer, octets),
            Some(at) => self.room().copy_out(at, buffer, octets),
        }
    }

    /// Allocates all pages, as for [`Pages::Resident`](oxorb_transport::Pages).
    pub(crate) fn make_resident(&self, huge: bool, locked: bool) -> io::Result<()> {
        match huge {
            true => self.memory.make_huge()?,
            false => self.memory.populate()?,
        }
        if let Some(rooms) = &self.rooms {
            rooms.make_resident(locked)?;
        }
        match locked {
            true => self.memory.lock(),
            false => Ok(()),
        }
    }

    /// Returns pages of the data to the system: their octets are 0 then.
    pub(crate) fn give_back(&self, at: usize, octets: u32) -> io::Result<()> {
        self.memory.give_back(at, octets as usize)
    }

    /// Copies octets of the data out.
    pub(crate) fn copy_to(&self, at: usize, octets: &mut [u8]) {
        match at.checked_sub(self.sizes.data()) {
            None => shared::copy_to(self.memory.data(), at, octets),
            Some(at) => self.room().copy_to(at, octets),
        }
    }

    /// Prefetches an octet of the data for reading.
    pub(crate) fn prefetch(&self, at: usize) {
        match at.checked_sub(self.sizes.data()) {
            None => shared::prefetch(self.memory.data(), at),
            Some(at) => self.room().prefetch(at),
        }
    }

    /// Prefetches a word of the header for reading.
    pub(crate) fn prefetch_word(&self, index: usize) {
        shared::prefetch(self.memory.header(), index * size_of::<u32>());
    }

    /// Prefetches an octet of the data for writing.
    pub(crate) fn fetch(&self, at: usize) {
        shared::prefetch_to_write(self.memory.data(), at);
    }

    /// Prefetches a word of the header for writing.
    pub(crate) fn fetch_word(&self, index: usize) {
        shared::prefetch_to_write(self.memory.header(), index * size_of::<u32>());
    }

    fn room(&self) -> &View {
        self.rooms.as_ref().expect("looked at when it was opened")
    }

    /// Sleeps while a word has a value, until woken, at most `limit`.
    pub(crate) fn sleep(&self, index: usize, while_it_is: u32, limit: Duration) {
        futex::sleep(self.word(index), while_it_is, limit);
    }

    /// Wakes the sleeper of a word, and reports whether there was one.
    pub(crate) fn wake(&self, index: usize) -> bool {
        futex::wake(self.word(index))
    }

    /// Sets the word with the owner's way of waiting, and returns its previous value. Everything
    /// that this thread did before is visible to a thread that sees the new value, and everything
    /// that it reads afterwards is current.
    pub(crate) fn post(&self, index: usize, state: u32) -> u32 {
        let before = self.word(index).swap(state, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        before
    }
}

#[cfg(all(test, loom))]
pub(crate) use model::Segment;

/// Segment for loom: one octet for each word of data, and sleeping by a condition variable.
#[cfg(all(test, loom))]
mod model {
    use std::io;
    use std::time::Duration;

    use loom::sync::atomic::{AtomicU8, AtomicU32, Ordering, fence};
    use loom::sync::{Condvar, Mutex};
    use oxorb_sys::shared::{Shared, View};

    use super::Sizes;
    use crate::shm::ring::WORDS;

    #[derive(Debug)]
    pub(crate) struct Segment {
        header: Vec<AtomicU32>,
        data: Vec<AtomicU8>,
        sizes: Sizes,
        kernel: Mutex<()>,
        woken: Condvar,
    }

    impl Segment {
        pub(crate) fn new(_memory: Shared, sizes: Sizes) -> Self {
            Self::private(sizes.ring, sizes.blocks).unwrap()
        }

        pub(crate) fn private(ring: u32, blocks: u32) -> io::Result<Self> {
            let sizes = Sizes { ring, blocks };
            Ok(Self {
                header: (0..WORDS).map(|_| AtomicU32::new(0)).collect(),
                data: (0..sizes.data()).map(|_| AtomicU8::new(0)).collect(),
                sizes,
                kernel: Mutex::new(()),
                woken: Condvar::new(),
            })
        }

        pub(crate) fn with_rooms(self, _rooms: Option<View>) -> Self {
            self
        }

        pub(crate) fn rooms(&self) -> u32 {
            0
        }

        pub(crate) fn prefetch(&self, _at: usize) {}

        pub(crate) fn prefetch_word(&self, _index: usize) {}

        pub(crate) fn fetch(&self, _at: usize) {}

        pub(crate) fn fetch_word(&self, _index: usize) {}

        pub(crate) fn ring(&self) -> u32 {
            self.sizes.ring
        }

        pub(crate) fn blocks(&self) -> u32 {
            self.sizes.blocks
        }

        pub(crate) fn octets(&self) -> usize {
            self.sizes.octets()
        }

        pub(crate) fn word(&self, index: usize) -> &AtomicU32 {
            &self.header[index]
        }

        pub(crate) fn copy_in(&self, at: usize, octets: &[u8]) {
            for (place, octet) in self.data[at..].iter().zip(octets) {
                place.store(*octet, Ordering::Relaxed);
            }
        }

        pub(crate) fn copy_out(&self, at: usize, buffer: &mut Vec<u8>, octets: usize) {
            let octets = self.data[at..at + octets].iter();
            buffer.extend(octets.map(|octet| octet.load(Ordering::Relaxed)));
        }

        pub(crate) fn make_resident(&self, _huge: bool, _locked: bool) -> io::Result<()> {
            Ok(())
        }

        pub(crate) fn give_back(&self, at: usize, octets: u32) -> io::Result<()> {
            self.copy_in(at, &vec![0; octets as usize]);
            Ok(())
        }

        pub(crate) fn copy_to(&self, at: usize, octets: &mut [u8]) {
            let mut buffer = Vec::new();
            self.copy_out(at, &mut buffer, octets.len());
            octets.copy_from_slice(&buffer);
        }

        /// Sleeps without a limit: a lost wake-up is a deadlock, which loom finds.
        pub(crate) fn sleep(&self, index: usize, while_it_is: u32, _limit: Duration) {
            let mut kernel = self.kernel.lock().unwrap();
            if self.word(index).load(Ordering::SeqCst) == while_it_is {
                kernel = self.woken.wait(kernel).unwrap();
            }
            drop(kernel);
        }

        pub(crate) fn wake(&self, _index: usize) -> bool {
            let kernel = self.kernel.lock().unwrap();
            self.woken.notify_all();
            drop(kernel);
            true
        }

        pub(crate) fn post(&self, index: usize, state: u32) -> u32 {
            let before = self.word(index).swap(state, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            before
        }
    }
}
