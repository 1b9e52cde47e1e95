//! Pages of shared memory: populated in advance, locked in RAM, merged into huge pages, and
//! released.

use std::io;
use std::ptr::{self, NonNull};

use super::{HEADER, Shared};

/// Size of a huge page, in octets.
///
/// Processors with a base page size other than 4 KiB have a different huge-page size, too; there
/// [`Shared::make_huge`] fails.
pub const HUGE_PAGE: usize = 2 << 20;

/// `MADV_COLLAPSE`, since Linux 6.1.
const COLLAPSE: libc::c_int = 25;

impl Shared {
    /// Allocates and maps every page of the memory: no later access faults.
    ///
    /// # Errors
    /// When the system is out of memory, or is older than Linux 5.14.
    pub fn populate(&self) -> io::Result<()> {
        self.advise(0, self.octets, libc::MADV_POPULATE_WRITE)
    }

    /// Allocates every page of the memory, and keeps it in RAM (`mlock`) until this value is
    /// dropped.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] or [`io::ErrorKind::OutOfMemory`] without `CAP_IPC_LOCK`
    /// or a sufficient `ulimit -l`.
    pub fn lock(&self) -> io::Result<()> {
        // SAFETY: a range of this value's own mapping; locking changes no octet of it.
        match unsafe { libc::mlock(self.base.as_ptr().cast(), self.octets) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Allocates every page of the memory, and merges those of each [`HUGE_PAGE`] octets into one
    /// huge page (`MADV_COLLAPSE`). The remainder after the last one stays in ordinary pages.
    ///
    /// These are huge pages of ordinary memory, not of the pool of `vm.nr_hugepages`: a huge page
    /// that is split again is replaced by ordinary ones, and touching memory never exhausts a pool.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] when the memory is smaller than a huge page. Otherwise when
    /// the system has no contiguous free memory, denies such pages
    /// (`/sys/kernel/mm/transparent_hugepage/shmem_enabled` is `deny`), or is older than Linux 6.1.
    pub fn make_huge(&self) -> io::Result<()> {
        let whole = self.octets / HUGE_PAGE * HUGE_PAGE;
        if whole == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.populate()?;
        self.advise(0, whole, COLLAPSE)
    }

    /// Releases the pages of a range of the data to the system. All its octets then read as 0, in
    /// every process. Both numbers must be multiples of [`HEADER`].
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] when the pages are [locked](Self::lock) here.
    ///
    /// # Panics
    /// Unless the range is within the data.
    pub fn give_back(&self, from: usize, octets: usize) -> io::Result<()> {
        let end = from.checked_add(octets).expect("within memory");
        assert!(end <= self.octets - HEADER, "within the data");
        assert!(from.is_multiple_of(HEADER) && octets.is_multiple_of(HEADER));
        self.advise(HEADER + from, octets, libc::MADV_REMOVE)
    }

    fn advise(&self, from: usize, octets: usize, advice: libc::c_int) -> io::Result<()> {
        debug_assert!(from + octets <= self.octets);
        // SAFETY: a range of this value's own mapping, which stays mapped. Octets that the advice
        // sets to 0 are accessed through atomics alone, as any that another process changes.
        let done = unsafe { libc::madvise(self.base.as_ptr().add(from).cast(), octets, advice) };
        match done {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Reserves addresses for `octets` octets, without memory, starting at a huge-page boundary.
///
/// # Errors
/// If the process has no such range of addresses left.
pub(super) fn reserve(octets: usize) -> io::Result<NonNull<u8>> {
    let all = octets.checked_add(HUGE_PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: a new mapping, at an address that the system chooses: no other memory is touched.
    let base = unsafe {
        libc::mmap(
            ptr::null_mut(),
            all,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let base: *mut u8 = base.cast();
    let before = base.align_offset(HUGE_PAGE);
    // SAFETY: the parts before and after the reserved range are within the mapping just made, to
    // which no other reference exists: `before` is less than a huge page.
    unsafe {
        let first = base.add(before);
        if before > 0 {
            libc::munmap(base.cast(), before);
        }
        libc::munmap(first.add(octets).cast(), HUGE_PAGE - before);
        NonNull::new(first).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::fs;

    use super::super::{copy_in, copy_out};
    use super::*;

    /// Returns the kilobytes that `smaps` lists as `what` for the mappings whose names contain `name`.
    fn told(name: &str, what: &str) -> u64 {
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let (mut ours, mut sum) = (false, 0);
        for line in maps.lines() {
            let mut words = line.split_whitespace();
            let word = words.next().unwrap_or_default();
            if !word.ends_with(':') {
                ours = line.contains(name);
            } else if ours && word.strip_suffix(':') == Some(what) {
                sum += words.next().unwrap().parse::<u64>().unwrap();
            }
        }
        sum
    }

    #[test]
    fn pages_are_there_before_they_are_touched_and_can_be_given_back() {
        let name = "pages-populated";
        let (memory, _) = Shared::create(name, 16 * HEADER).unwrap();
        assert_eq!(told(name, "Rss"), 0);
        memory.populate().unwrap();
        assert_eq!(told(name, "Rss"), 17 * 4);
        copy_in(memory.data(), 3 * HEADER, &[7; 8]);
        memory.give_back(2 * HEADER, 10 * HEADER).unwrap();
        assert_eq!(told(name, "Rss"), 7 * 4);
        let mut octets = Vec::new();
        copy_out(memory.data(), 3 * HEADER, &mut octets, 8);
        assert_eq!(octets, [0; 8]);
    }

    #[test]
    #[should_panic(expected = "within the data")]
    fn nothing_behind_the_data_is_given_back() {
        let (memory, _) = Shared::create("pages-behind", HEADER).unwrap();
        let _ = memory.give_back(HEADER, HEADER);
    }

    #[test]
    fn locked_pages_are_locked_and_cannot_be_given_back() {
        let name = "pages-locked";
        let (memory, _) = Shared::create(name, 4 * HEADER).unwrap();
        memory.lock().unwrap();
        assert_eq!(told(name, "Locked"), 5 * 4);
        let refused = memory.give_back(0, HEADER).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn huge_pages_hold_what_ordinary_ones_held() {
        let name = "pages-huge";
        let (memory, descriptor) = Shared::create(name, HUGE_PAGE).unwrap();
        let there = Shared::open(&descriptor, HUGE_PAGE).unwrap();
        copy_in(memory.data(), 1 << 20, b"GIOP");
        match memory.make_huge() {
            // Header and data together exceed one huge page only by the size of the header, so exactly one is mapped.
            Ok(()) => assert_eq!(told(name, "ShmemPmdMapped"), HUGE_PAGE as u64 / 1024),
            Err(error) => assert!(is_refused(), "{error}"),
        }
        let mut octets = Vec::new();
        copy_out(there.data(), 1 << 20, &mut octets, 4);
        assert_eq!(octets, b"GIOP");
        let (small, _) = Shared::create("pages-small", HEADER).unwrap();
        let error = small.make_huge().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    /// Reports whether this system denies huge pages of shared memory, or has no contiguous memory for one.
    fn is_refused() -> bool {
        let setting = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
        let offered = fs::read_to_string(setting).is_ok_and(|text| !text.contains("[deny]"));
        let free = fs::read_to_string("/proc/buddyinfo").unwrap();
        let free = free.lines().all(|line| {
            let last = line.split_whitespace().last();
            last.is_none_or(|count| count == "0")
        });
        !offered || free
    }
}
