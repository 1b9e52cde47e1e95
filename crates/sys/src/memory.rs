//! Memory locked into RAM, and faulted in before it is needed.

use std::hint::black_box;
use std::io;

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

/// Makes the allocator return unused pages to the system.
///
/// The call has an effect only with glibc, which caches memory that a thread has freed. If much is cached, it takes
/// milliseconds, and other threads that allocate wait meanwhile.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes a number only, and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_touches_its_stack_and_lives() {
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        let thread = thread.spawn(|| prefault_stack(512 << 10)).unwrap();
        thread.join().unwrap();
    }
}
