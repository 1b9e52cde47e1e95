//! Process-wide memory barriers, executed by one thread on behalf of all others.
//!
//! If two threads each set a flag and then read the other's flag, each needs a barrier between the two accesses. If one
//! thread does this often and the other rarely, the rare one can call [`all_threads`], which executes a barrier in each
//! running thread, so that the frequent one needs none. The frequent one must still prevent reordering by the compiler
//! ([`compiler_fence`](std::sync::atomic::compiler_fence)).

use std::io;

use rustix::thread::{MembarrierCommand, membarrier};

/// Makes [`all_threads`] available to this process. May take some milliseconds.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] or [`io::ErrorKind::InvalidInput`] before Linux 4.14, and
/// [`io::ErrorKind::PermissionDenied`] where a filter of system calls forbids it (`membarrier`).
pub fn register() -> io::Result<()> {
    Ok(membarrier(MembarrierCommand::RegisterPrivateExpedited)?)
}

/// Makes every running thread of this process execute a full memory barrier before this function
/// returns; threads that are not running executed one when they were descheduled.
///
/// **Real-time cost.** One system call, and an interrupt of each processor that runs a thread of
/// this process: a few microseconds.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] unless [registered](register).
pub fn all_threads() -> io::Result<()> {
    Ok(membarrier(MembarrierCommand::PrivateExpedited)?)
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};
    use std::thread;

    use super::*;

    /// A thread without a barrier and a thread that calls [`all_threads`] never both read the other's flag as unset.
    #[test]
    fn one_side_pays_for_both() {
        register().unwrap();
        let (often, rarely, done) =
            (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
        let inside = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    often.store(true, Ordering::Relaxed);
                    compiler_fence(Ordering::SeqCst);
                    if !rarely.load(Ordering::Acquire) {
                        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                        inside.fetch_sub(1, Ordering::Relaxed);
                    }
                    often.store(false, Ordering::Release);
                }
            });
            for _ in 0..2000 {
                rarely.store(true, Ordering::Relaxed);
                all_threads().unwrap();
                if !often.load(Ordering::Acquire) {
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                    inside.fetch_sub(1, Ordering::Relaxed);
                }
                rarely.store(false, Ordering::Release);
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
