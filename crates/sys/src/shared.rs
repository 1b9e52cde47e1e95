//! Memory shared by several processes, any of which may change it at any time.
//!
//! Only the processes that received its descriptor can access the memory. It has no name in the file system, and is
//! freed when the last of these processes has unmapped it and closed the descriptor.
//!
//! # Soundness
//!
//! Shared memory is never borrowed as octets: a reference to a plain `u8` promises the compiler
//! that no other code changes it. The memory is exposed as atomic words, which promise nothing of
//! the kind. [`copy_in`] and [`copy_out`] move octets by loads and stores of whole words
//! (`Ordering::Relaxed`), or, for large copies, by one processor instruction that is opaque to the
//! compiler. Each octet is read once, and the copy belongs to the caller. Whatever another process
//! writes, this process reads some value of each octet; it cannot fault, because the size of the
//! memory is sealed.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

mod fetch;
mod long;
mod pages;
mod sheet;

pub use fetch::{prefetch, prefetch_to_write};
pub use pages::HUGE_PAGE;
pub use sheet::{PARTS, Part, Sheet, View};

/// Size of the header at the beginning, in octets: one page.
pub const HEADER: usize = 4096;

/// Size of a data word, in octets.
const WORD: usize = size_of::<u64>();

/// Memory that other processes may share: a header of [`HEADER`] octets, and data.
#[derive(Debug)]
pub struct Shared {
    /// Address of the header, a multiple of the page size.
    base: NonNull<u8>,
    /// Size in octets of header and data; a multiple of [`HEADER`].
    octets: usize,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Mapped,
    /// Memory of this process only.
    Heap,
}

// SAFETY: the memory is this value's own until it is dropped, and is reached through atomics alone.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Creates memory for `data` octets, all of them 0, and a descriptor with which another process
    /// [maps](Self::open) it. Pages are allocated when they are first touched.
    ///
    /// The size is sealed, even for this process, so no process can shrink memory that another one uses.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] unless `data` is a multiple of [`HEADER`]; otherwise when
    /// the system is out of descriptors or memory, or limits the file size to less (`ulimit -f`).
    pub fn create(name: &str, data: usize) -> io::Result<(Self, OwnedFd)> {
        let octets = size(data)?;
        let file = memory_file(name, octets)?;
        rustix::fs::fcntl_add_seals(&file, SEALS)?;
        Ok((Self::map(&file, octets)?, file))
    }

    /// Maps memory for `data` octets that another process created, through the descriptor received
    /// from it.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`], with a reason, unless it is ordinary memory of exactly that
    /// size with the size sealed: access beyond the end of memory that was shrunk kills a process.
    /// Otherwise as [`create`](Self::create).
    pub fn open(descriptor: impl AsFd, data: usize) -> io::Result<Self> {
        let octets = size(data)?;
        refuse_unsealed(&descriptor, octets)?;
        Self::map(&descriptor, octets)
    }

    /// Creates memory of this process only, to be shared by threads: for tests, and for
    /// interpreters such as Miri, which do not support shared mappings.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn private(data: usize) -> io::Result<Self> {
        let octets = size(data)?;
        // SAFETY: the layout has a size, as `octets` is at least a header.
        let base = unsafe { std::alloc::alloc_zeroed(layout(octets)) };
        Ok(Self {
            base: NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?,
            octets,
            origin: Origin::Heap,
        })
    }

    fn map(descriptor: impl AsFd, octets: usize) -> io::Result<Self> {
        use std::os::fd::AsRawFd as _;
        // A huge page begins at a multiple of its size. Memory that is large enough is mapped at such an address, which
        // is reserved first.
        let (place, fixed) = match octets >= HUGE_PAGE {
            true => (pages::reserve(octets)?.as_ptr().cast(), libc::MAP_FIXED),
            false => (ptr::null_mut(), 0),
        };
        // SAFETY: a new mapping, at an address that the system chooses, or in place of a mapping
        // reserved for it: no other memory is touched.
        let base = unsafe {
            libc::mmap(
                place,
                octets,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | fixed,
                descriptor.as_fd().as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            if !place.is_null() {
                // SAFETY: the mapping reserved above, to which no other reference exists.
                unsafe { libc::munmap(place, octets) };
            }
            return Err(error);
        }
        Ok(Self {
            base: NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            octets,
            origin: Origin::Mapped,
        })
    }

    /// Returns the words of the header.
    #[inline]
    pub fn header(&self) -> &[AtomicU32] {
        // SAFETY: the first `HEADER` octets of memory that exists, aligned to a page, until this
        // value is dropped; accessed only as these words, for which any value is valid.
        unsafe { slice::from_raw_parts(self.base.as_ptr().cast(), HEADER / size_of::<u32>()) }
    }

    /// Returns the words of the data.
    #[inline]
    pub fn data(&self) -> &[AtomicU64] {
        // SAFETY: as in `header`, for the memory after it: `octets` is more than `HEADER`, and both
        // are multiples of a word.
        unsafe {
            let first = self.base.as_ptr().add(HEADER).cast();
            slice::from_raw_parts(first, (self.octets - HEADER) / WORD)
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        match self.origin {
            Origin::Mapped => {
                // SAFETY: what `map` mapped, to which no reference outlives this value.
                unsafe { libc::munmap(self.base.as_ptr().cast(), self.octets) };
            }
            Origin::Heap => {
                // SAFETY: what `private` allocated with this layout; as above.
                unsafe { std::alloc::dealloc(self.base.as_ptr(), layout(self.octets)) };
            }
        }
    }
}

/// Creates a memory file whose size is not sealed yet.
fn memory_file(name: &str, octets: usize) -> io::Result<OwnedFd> {
    // If the file exceeded the limit, the kernel would send SIGXFSZ, which kills the process.
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < octets as u64) {
        return Err(Errno::FBIG.into());
    }
    let base = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = match rustix::fs::memfd_create(name, base | MemfdFlags::NOEXEC_SEAL) {
        // Linux before 6.3 does not know `NOEXEC_SEAL`.
        Err(Errno::INVAL) => rustix::fs::memfd_create(name, base),
        made => made,
    }?;
    rustix::fs::ftruncate(&file, octets as u64)?;
    Ok(file)
}

/// Rejects every descriptor except one of memory of exactly this size with the size sealed.
fn refuse_unsealed(descriptor: impl AsFd, octets: usize) -> io::Result<()> {
    let refused = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    // Seals are checked first, because only memory has them: with any other file, the calls below could wait for its
    // file system.
    match rustix::fs::fcntl_get_seals(&descriptor) {
        Ok(seals) if seals.contains(SEALS) => {}
        Ok(_) => return refused("the size of the memory is not sealed"),
        Err(_) => return refused("the descriptor does not refer to memory that can be sealed"),
    }
    // Memory of the pool of huge pages has another file-system type. It is refused, because touching it kills the
    // process if the pool is exhausted.
    if rustix::fs::fstatfs(&descriptor)?.f_type != TMPFS {
        return refused("the descriptor does not refer to memory in ordinary pages");
    }
    if rustix::fs::fstat(&descriptor)?.st_size as u64 != octets as u64 {
        return refused("the size of the memory differs from the announced size");
    }
    Ok(())
}

/// Seals that memory of another process must have.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// File-system type of memory in ordinary pages (`TMPFS_MAGIC`).
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// Returns the total size of header and data, in octets.
fn size(data: usize) -> io::Result<usize> {
    let size = data.checked_add(HEADER).filter(|_| data > 0 && data.is_multiple_of(HEADER));
    size.filter(|size| isize::try_from(*size).is_ok()).ok_or_else(|| {
        let text =
            format!("the size of shared memory must be a multiple of {HEADER} octets, not {data}");
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })
}

fn layout(octets: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(octets, HEADER).expect("size and alignment are pages")
}

static COPIED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of octets that this process has copied into shared words and out of them, for
/// tests that check which side copies. Counted with debug assertions only.
#[doc(hidden)]
pub fn copied() -> u64 {
    COPIED.load(Ordering::Relaxed)
}

#[inline(always)]
fn count(octets: usize) {
    if cfg!(debug_assertions) {
        COPIED.fetch_add(octets as u64, Ordering::Relaxed);
    }
}

/// Copies octets into shared words, starting at octet `at`.
///
/// Words written in part keep their other octets, which no other thread may write at the same time.
///
/// # Panics
/// Unless all octets are within the words.
#[inline]
pub fn copy_in(words: &[AtomicU64], at: usize, octets: &[u8]) {
    count(octets.len());
    let (first, skip) = (at / WORD, at % WORD);
    let last = at.checked_add(octets.len()).map(|end| end.div_ceil(WORD));
    let words = &words[first..last.expect("within memory")];
    if long::copy_in(words, skip, octets) {
        return;
    }
    let mut words = words.iter();
    let mut octets = octets;
    if skip > 0 && !octets.is_empty() {
        let (head, rest) = octets.split_at(octets.len().min(WORD - skip));
        merge(words.next().expect("within the words"), skip, head);
        octets = rest;
    }
    let mut whole = octets.chunks_exact(WORD);
    for (octets, word) in whole.by_ref().zip(words.by_ref()) {
        let value = u64::from_ne_bytes(octets.try_into().expect("a whole word"));
        word.store(value, Ordering::Relaxed);
    }
    if !whole.remainder().is_empty() {
        merge(words.next().expect("within the words"), 0, whole.remainder());
    }
}

/// Overwrites part of a word.
#[inline]
fn merge(word: &AtomicU64, at: usize, octets: &[u8]) {
    let mut value = word.load(Ordering::Relaxed).to_ne_bytes();
    value[at..at + octets.len()].copy_from_slice(octets);
    word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
}

/// Appends a number of octets of shared words to `buffer`, starting at octet `at`. Reads each word
/// once. Allocates only if the buffer's spare capacity is too small.
///
/// # Panics
/// Unless all octets are within the words.
#[inline]
pub fn copy_out(words: &[AtomicU64], at: usize, buffer: &mut Vec<u8>, octets: usize) {
    count(octets);
    let (first, skip) = (at / WORD, at % WORD);
    let last = at.checked_add(octets).map(|end| end.div_ceil(WORD));
    let words = &words[first..last.expect("within memory")];
    buffer.reserve(octets);
    let length = buffer.len();
    if let Some(room) = buffer.spare_capacity_mut().get_mut(..octets)
        && long::copy_out(words, skip, room)
    {
        // SAFETY: `copy_out` has initialised as many octets behind the old length.
        unsafe { buffer.set_len(length + octets) };
        return;
    }
    let mut room = buffer.as_mut_ptr().wrapping_add(length);
    let mut words = words.iter();
    let mut left = octets;
    if skip > 0 && left > 0 {
        let word = words.next().expect("within the words");
        let value = word.load(Ordering::Relaxed).to_ne_bytes();
        let count = left.min(WORD - skip);
        // SAFETY: `reserve` made room for `octets` octets behind the length; `count` is at most as many, and `skip +
        // count` at most a word. `value` is a local, which is not a part of the buffer.
        unsafe { ptr::copy_nonoverlapping(value.as_ptr().add(skip), room, count) };
        room = room.wrapping_add(count);
        left -= count;
    }
    for word in words.by_ref().take(left / WORD) {
        let value = word.load(Ordering::Relaxed);
        // SAFETY: as above: all words of this loop and the octets before them are at most `octets`.
        unsafe { room.cast::<u64>().write_unaligned(value) };
        room = room.wrapping_add(WORD);
    }
    left %= WORD;
    if left > 0 {
        let word = words.next().expect("within the words");
        let value = word.load(Ordering::Relaxed).to_ne_bytes();
        // SAFETY: as above; `left` is less than a word, and what is left of `octets`.
        unsafe { ptr::copy_nonoverlapping(value.as_ptr(), room, left) };
    }
    // SAFETY: the loops above have initialised `octets` octets behind the old length.
    unsafe { buffer.set_len(length + octets) };
}

/// Fills `octets` from shared words, starting at octet `at`. Reads each word once.
///
/// # Panics
/// Unless all octets are within the words.
pub fn copy_to(words: &[AtomicU64], at: usize, octets: &mut [u8]) {
    count(octets.len());
    let (first, skip) = (at / WORD, at % WORD);
    let last = at.checked_add(octets.len()).map(|end| end.div_ceil(WORD));
    let words = &words[first..last.expect("within memory")];
    if long::copy_to(words, skip, octets) {
        return;
    }
    let mut words = words.iter();
    let mut next = || {
        let word = words.next().expect("within the words");
        word.load(Ordering::Relaxed).to_ne_bytes()
    };
    let mut octets = octets;
    if skip > 0 && !octets.is_empty() {
        let (head, rest) = octets.split_at_mut(octets.len().min(WORD - skip));
        head.copy_from_slice(&next()[skip..skip + head.len()]);
        octets = rest;
    }
    let mut whole = octets.chunks_exact_mut(WORD);
    for octets in whole.by_ref() {
        octets.copy_from_slice(&next());
    }
    let rest = whole.into_remainder();
    if !rest.is_empty() {
        rest.copy_from_slice(&next()[..rest.len()]);
    }
}

/// Creates a descriptor of memory without seals, for tests of code that rejects it.
#[doc(hidden)]
pub fn unsealed(octets: u64) -> io::Result<OwnedFd> {
    let file =
        rustix::fs::memfd_create("unsealed", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    File::from(file.try_clone()?).set_len(octets)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn octets_come_out_as_they_went_in_at_any_place() {
        let memory = Shared::private(HEADER).unwrap();
        let octets: Vec<u8> = (1..=40).collect();
        // Miri is slow, so it runs only a subset, in which copies begin and end both within words and at their
        // boundaries.
        let step = if cfg!(miri) { 7 } else { 1 };
        for at in (0..20).step_by(step) {
            for length in (0..octets.len()).step_by(step) {
                let before = [0xee; 80];
                copy_in(memory.data(), 0, &before);
                copy_in(memory.data(), at, &octets[..length]);
                let mut out = vec![7];
                copy_out(memory.data(), at, &mut out, length);
                assert_eq!(out[1..], octets[..length], "{at} {length}");
                let mut full = vec![9; length];
                copy_to(memory.data(), at, &mut full);
                assert_eq!(full, octets[..length], "{at} {length}");
                let mut all = Vec::new();
                copy_out(memory.data(), 0, &mut all, before.len());
                assert!(all[..at].iter().chain(&all[at + length..]).all(|it| *it == 0xee));
            }
        }
    }

    /// Copies numbers of octets around [`long::LONG`], from which on a single instruction copies them.
    #[test]
    fn many_octets_come_out_as_they_went_in_at_any_place() {
        const MANY: usize = 2 * long::LONG + 3;
        let memory = Shared::private(4 * HEADER).unwrap();
        let octets: Vec<u8> = (0..MANY).map(|at| (at % 251) as u8).collect();
        let places = if cfg!(miri) { 3..4 } else { 0..9 };
        for at in places {
            for length in [long::LONG - 1, long::LONG, long::LONG + 1, MANY] {
                copy_in(memory.data(), 0, &[0xee; MANY + 20]);
                copy_in(memory.data(), at, &octets[..length]);
                let mut out = vec![7; 3];
                copy_out(memory.data(), at, &mut out, length);
                assert!(out[3..] == octets[..length], "{at} {length}");
                let mut full = vec![9; length];
                copy_to(memory.data(), at, &mut full);
                assert!(full == octets[..length], "{at} {length}");
                let mut around = vec![0; length + 2 * at];
                copy_to(memory.data(), 0, &mut around);
                let (head, tail) = (&around[..at], &around[at + length..]);
                assert!([head, tail].concat().iter().all(|octet| *octet == 0xee));
            }
        }
    }

    /// Copies octets to destinations at various distances from the source, modulo the page size; the distance
    /// determines which of two methods copies.
    #[test]
    fn many_octets_are_copied_at_any_distance() {
        const PAGE: usize = 4096;
        let memory = Shared::private(8 * HEADER).unwrap();
        let words = memory.data().as_ptr().addr();
        let octets: Vec<u8> = (0..2 * PAGE).map(|at| (at % 251) as u8).collect();
        let mut room = vec![0; 4 * PAGE];
        for distance in if cfg!(miri) { 16..17 } else { 0..40 } {
            for length in [long::LONG, long::LONG + 63, 2 * PAGE - 1] {
                let octets = &octets[..length];
                let at = (octets.as_ptr().addr() + distance).wrapping_sub(words) % PAGE;
                copy_in(memory.data(), at, octets);
                let place = (words + at + distance).wrapping_sub(room.as_ptr().addr()) % PAGE;
                copy_to(memory.data(), at, &mut room[place..place + length]);
                assert!(room[place..place + length] == *octets, "{distance} {length}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn nothing_is_read_behind_the_words() {
        let memory = Shared::private(HEADER).unwrap();
        copy_out(memory.data(), HEADER - 3, &mut Vec::new(), 4);
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn nothing_is_written_behind_the_words() {
        let memory = Shared::private(HEADER).unwrap();
        copy_in(memory.data(), HEADER - 3, &[0; 4]);
    }

    /// Copies octets while they change; Miri detects data races.
    #[test]
    fn octets_may_change_while_they_are_copied() {
        let memory = Shared::private(HEADER).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..20_u8 {
                    copy_in(memory.data(), 3, &[round; 50]);
                }
            });
            for _ in 0..20 {
                let mut out = Vec::new();
                copy_out(memory.data(), 1, &mut out, 60);
                assert!(out.iter().all(|octet| *octet < 20));
            }
        });
    }

    #[test]
    #[cfg(not(miri))]
    fn two_mappings_are_one_memory() {
        let (here, descriptor) = Shared::create("test", 2 * HEADER).unwrap();
        let there = Shared::open(&descriptor, 2 * HEADER).unwrap();
        drop(descriptor);
        copy_in(here.data(), 5000, b"GIOP");
        here.header()[9].store(5, Ordering::Relaxed);
        let mut out = Vec::new();
        copy_out(there.data(), 5000, &mut out, 4);
        assert_eq!(out, b"GIOP");
        assert_eq!(there.header()[9].load(Ordering::Relaxed), 5);
    }

    #[test]
    #[cfg(not(miri))]
    fn memory_that_could_be_taken_away_is_refused() {
        let (_here, sealed) = Shared::create("test", 2 * HEADER).unwrap();
        assert!(rustix::fs::ftruncate(&sealed, 0).is_err());
        let plain = File::open("/dev/null").unwrap();
        for (descriptor, data, part) in [
            (sealed, HEADER, "differs from the announced size"),
            (unsealed(2 * HEADER as u64).unwrap(), HEADER, "not sealed"),
            (OwnedFd::from(plain), HEADER, "does not refer to memory"),
        ] {
            let error = Shared::open(&descriptor, data).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(Shared::create("test", 5).is_err());
        assert!(Shared::create("test", 0).is_err());
        assert!(Shared::create("test", usize::MAX - HEADER + 1).is_err());
    }
}
