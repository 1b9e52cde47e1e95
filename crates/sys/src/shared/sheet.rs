//! Memory that one process writes and another one reads.
//!
//! After mapping the memory itself, the writer seals it (`F_SEAL_FUTURE_WRITE`, Linux 5.1): from
//! then on the system lets no process map it for writing, whoever has the descriptor. A [`Part`] of
//! it may therefore be borrowed as octets, like private memory; readers access octets that may
//! change at any time, through a [`View`].

use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::SealFlags;

use super::{SEALS, WORD, copy_out, copy_to, memory_file, prefetch, refuse_unsealed};

/// Maximum number of parts of a [`Sheet`] that may exist at a time.
pub const PARTS: usize = 16;

/// Memory writable by this process only.
#[derive(Debug)]
pub struct Sheet {
    mapping: Mapping,
    /// Range of each existing part, by its number: the start in the upper half, the end in the lower
    /// half; 0 if no part has the number.
    out: [AtomicU64; PARTS],
}

/// Octets of a [`Sheet`] to which this value has exclusive access until it is dropped.
#[derive(Debug)]
pub struct Part {
    sheet: Arc<Sheet>,
    number: usize,
    first: usize,
    octets: usize,
}

/// Read-only view of a [`Sheet`].
#[derive(Debug)]
pub struct View(Mapping);

impl Sheet {
    /// Creates memory of `octets` octets, all of them 0, and the descriptor for readers.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] before Linux 5.1; otherwise as [`Shared::create`](super::Shared::create).
    pub fn create(name: &str, octets: u32) -> io::Result<(Arc<Self>, OwnedFd)> {
        let file = memory_file(name, octets as usize)?;
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        let mapping = Mapping::new(&file, octets as usize, writable)?;
        let seals = SEALS | SealFlags::FUTURE_WRITE;
        rustix::fs::fcntl_add_seals(&file, seals).map_err(|_| io::ErrorKind::Unsupported)?;
        let out = Default::default();
        Ok((Arc::new(Self { mapping, out }), file))
    }

    /// Returns exclusive access to `octets` octets from `first` on, as part `number`. Returns `None` if
    /// the octets are not within the memory, if another part contains some of them, or if a part with
    /// this number exists.
    ///
    /// # Panics
    /// Unless the number is below [`PARTS`].
    pub fn part(self: &Arc<Self>, number: usize, first: u32, octets: u32) -> Option<Part> {
        let end = first.checked_add(octets).filter(|_| octets > 0)?;
        if end as usize > self.mapping.octets {
            return None;
        }
        let range = u64::from(first) << 32 | u64::from(end);
        let mine = &self.out[number];
        mine.compare_exchange(0, range, Ordering::SeqCst, Ordering::Relaxed).ok()?;
        let part = Part {
            sheet: Arc::clone(self),
            number,
            first: first as usize,
            octets: octets as usize,
        };
        // If two threads take overlapping ranges at the same time, at least one of them observes the other's range here
        // and gives up: each has stored its own range before, and all of these accesses are `SeqCst`.
        let meets = |(other, out): (usize, &AtomicU64)| {
            let out = out.load(Ordering::SeqCst);
            other != number && (out >> 32) < u64::from(end) && u64::from(first) < out & 0xffff_ffff
        };
        match self.out.iter().enumerate().any(meets) {
            true => None,
            false => Some(part),
        }
    }

    /// Returns the offset of `octets` in the memory, if they are within it.
    pub fn place_of(&self, octets: &[u8]) -> Option<usize> {
        let place = octets.as_ptr().addr().checked_sub(self.mapping.base.addr().get())?;
        (place < self.mapping.octets).then_some(place)
    }

    /// Allocates every page, and keeps it in RAM if `locked`.
    ///
    /// # Errors
    /// Those of [`Shared::populate`](super::Shared::populate) and [`Shared::lock`](super::Shared::lock).
    pub fn make_resident(&self, locked: bool) -> io::Result<()> {
        self.mapping.make_resident(libc::MADV_POPULATE_WRITE, locked)
    }
}

impl Deref for Part {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: octets of a mapping that lives as long as the sheet; `part` has checked that they
        // are within it. The system lets no other process write there, and this process accesses
        // the octets through this value alone: no other part contains any of them.
        unsafe { slice::from_raw_parts(self.start(), self.octets) }
    }
}

impl DerefMut for Part {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`.
        unsafe { slice::from_raw_parts_mut(self.start(), self.octets) }
    }
}

impl Part {
    #[inline]
    fn start(&self) -> *mut u8 {
        self.sheet.mapping.base.as_ptr().wrapping_add(self.first)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.sheet.out[self.number].store(0, Ordering::SeqCst);
    }
}

impl View {
    /// Maps memory of `octets` octets that another process created and cannot shrink.
    ///
    /// # Errors
    /// As [`Shared::open`](super::Shared::open).
    pub fn open(descriptor: impl AsFd, octets: u32) -> io::Result<Self> {
        refuse_unsealed(&descriptor, octets as usize)?;
        Mapping::new(&descriptor, octets as usize, libc::PROT_READ).map(Self)
    }

    /// Appends octets to a buffer, as [`copy_out`] does.
    ///
    /// # Panics
    /// Unless all of them are within the memory.
    pub fn copy_out(&self, at: usize, buffer: &mut Vec<u8>, octets: usize) {
        copy_out(self.words(), at, buffer, octets);
    }

    /// Copies octets out, as [`copy_to`] does.
    ///
    /// # Panics
    /// Unless all of them are within the memory.
    pub fn copy_to(&self, at: usize, octets: &mut [u8]) {
        copy_to(self.words(), at, octets);
    }

    /// Prefetches an octet into the processor's cache, as [`prefetch`] does.
    pub fn prefetch(&self, at: usize) {
        prefetch(self.words(), at);
    }

    /// Allocates every page, and keeps it in RAM if `locked`.
    ///
    /// # Errors
    /// As [`Sheet::make_resident`].
    pub fn make_resident(&self, locked: bool) -> io::Result<()> {
        self.0.make_resident(libc::MADV_POPULATE_READ, locked)
    }

    /// Returns the words of the memory. No code may store to them, because the mapping is read-only.
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: memory that exists until this value is dropped, aligned to a page. Another
        // process may change it at any time, which atomics permit. No method stores there.
        unsafe { slice::from_raw_parts(self.0.base.as_ptr().cast(), self.0.octets / WORD) }
    }
}

/// Mapping of a complete memory file.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    octets: usize,
}

// SAFETY: this value owns the memory until it is dropped; the types that wrap it define who may
// access its octets.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(descriptor: impl AsFd, octets: usize, protection: libc::c_int) -> io::Result<Self> {
        let descriptor = descriptor.as_fd().as_raw_fd();
        // SAFETY: a new mapping, at an address that the system chooses: no other memory is touched.
        let base = unsafe {
            libc::mmap(ptr::null_mut(), octets, protection, libc::MAP_SHARED, descriptor, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, octets })
    }

    fn make_resident(&self, advice: libc::c_int, locked: bool) -> io::Result<()> {
        let base = self.base.as_ptr().cast();
        // SAFETY: a mapping that this value owns; neither call changes an octet of it.
        let done = unsafe {
            match libc::madvise(base, self.octets, advice) {
                0 if locked => libc::mlock(base, self.octets),
                done => done,
            }
        };
        match done {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made, to which no reference outlives this value.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.octets) };
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::super::Shared;
    use super::*;

    #[test]
    fn what_the_writer_writes_the_reader_sees_and_nobody_else_can_write() {
        let (sheet, descriptor) = Sheet::create("sheet", 8192).unwrap();
        let view = View::open(&descriptor, 8192).unwrap();
        let mut part = sheet.part(3, 4000, 200).unwrap();
        part.fill(7);
        part[199] = 9;
        let mut octets = Vec::new();
        view.copy_out(3999, &mut octets, 202);
        assert_eq!(octets[..2], [0, 7]);
        assert_eq!(octets[200..], [9, 0]);
        let mut two = [0; 2];
        view.copy_to(4198, &mut two);
        assert_eq!(two, [7, 9]);
        assert_eq!(sheet.place_of(&part), Some(4000));
        assert_eq!(sheet.place_of(&octets), None);
        // The reader can write neither through the descriptor that it received, nor through one that it opens anew.
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        let refused = |descriptor: &dyn AsFd| {
            let mapped = Mapping::new(descriptor.as_fd(), 8192, writable);
            assert_eq!(mapped.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            assert!(rustix::io::write(descriptor.as_fd(), b"x").is_err());
        };
        refused(&descriptor);
        let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        let anew = std::fs::File::options().read(true).write(true).open(path);
        refused(&anew.unwrap());
        drop((descriptor, sheet));
        assert_eq!(part[0], 7, "a part keeps its memory");
    }

    #[test]
    fn parts_do_not_overlap() {
        let (sheet, _descriptor) = Sheet::create("sheet-parts", 4096).unwrap();
        let first = sheet.part(0, 100, 100).unwrap();
        for (from, octets) in [(0, 101), (199, 1), (100, 100), (120, 10), (0, 4096)] {
            assert!(sheet.part(1, from, octets).is_none(), "{from} {octets}");
        }
        assert!(sheet.part(0, 500, 1).is_none(), "the number is out");
        let (before, behind) = (sheet.part(1, 0, 100), sheet.part(2, 200, 3896));
        assert!(before.is_some() && behind.is_some());
        assert!(sheet.part(3, 4096, 1).is_none() && sheet.part(3, 0, 0).is_none());
        assert!(sheet.part(3, u32::MAX, 2).is_none());
        drop((first, before));
        assert!(sheet.part(1, 0, 200).is_some());
    }

    /// The reader rejects memory that the writer could shrink.
    #[test]
    fn memory_that_is_no_sheet_is_refused() {
        let descriptor = super::super::unsealed(4096).unwrap();
        assert!(View::open(&descriptor, 4096).is_err());
        let (_shared, descriptor) = Shared::create("sheet-size", 4096).unwrap();
        assert!(View::open(&descriptor, 4096).is_err());
    }
}
