//! Memory locked into RAM, and faulted in before it is needed.

use std::hint::black_box;
use std::io;
#[cfg(target_env = "gnu")]
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps all memory of the process, present and future, in RAM (`mlockall`).
///
/// The lock applies to the whole process. Every later allocation is faulted in when it is made, so the process uses
/// more memory: thread stacks count in full. The call is one system call, which takes as long as faulting in all
/// missing pages.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] or [`io::ErrorKind::OutOfMemory`] without `CAP_IPC_LOCK` or a sufficient
/// `ulimit -l`; nothing is locked then.
pub fn lock_all() -> io::Result<()> {
    // SAFETY: takes flags only.
    match unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Touches the next `octets` of the calling thread's stack, so that later calls do not fault.
///
/// The caller must ensure that at least `octets` of the stack are left.
pub fn prefault_stack(octets: usize) {
    const STEP: usize = 16 * 1024;
    #[inline(never)]
    fn touch(left: usize) {
        let mut room = [0u8; STEP];
        for page in (0..STEP).step_by(1024) {
            room[page] = 1;
        }
        black_box(&mut room);
        if left > STEP {
            touch(left - STEP);
        }
        // Using `room` after the recursive call prevents a tail call, which would reuse this frame and touch no further
        // stack.
        black_box(&mut room);
    }
    touch(octets);
}

/// Makes the allocator acquire `octets` from the system now, touch them, and retain them when they
/// are freed.
///
/// With glibc, the call configures the allocator of the whole process never to return memory to the system, and to
/// serve large requests from the heap. Other allocators retain memory by their own policy.
pub fn prefault_heap(octets: usize) {
    #[cfg(target_env = "gnu")]
    KEEPS.store(true, Ordering::Relaxed);
    #[cfg(target_env = "gnu")]
    // SAFETY: takes numbers only, and may be called at any time.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
        libc::mallopt(libc::M_MMAP_MAX, 0);
    }
    let mut room: Vec<u8> = Vec::with_capacity(octets);
    for page in room.spare_capacity_mut().chunks_mut(1024) {
        page[0].write(1);
    }
    black_box(&mut room);
}

/// Makes the allocator return unused pages to the system, unless [`prefault_heap`] configured it to
/// retain them.
///
/// The call has an effect only with glibc, which caches memory that a thread has freed. If much is cached, it takes
/// milliseconds, and other threads that allocate wait meanwhile.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    if !KEEPS.load(Ordering::Relaxed) {
        // SAFETY: takes a number only, and may be called at any time.
        unsafe {
            libc::malloc_trim(0);
        }
    }
}

/// Whether the allocator is configured to retain freed memory.
#[cfg(target_env = "gnu")]
static KEEPS: AtomicBool = AtomicBool::new(false);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_touches_its_stack_and_lives() {
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        let thread = thread.spawn(|| prefault_stack(512 << 10)).unwrap();
        thread.join().unwrap();
    }

    #[test]
    fn the_heap_grows_and_is_given_back_to_the_allocator() {
        prefault_heap(1 << 20);
        let room = vec![7u8; 1 << 20];
        assert_eq!(black_box(room)[1000], 7);
    }
}
