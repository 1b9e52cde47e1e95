//! Clocks: monotonic time and processor time.

use std::io;
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

/// Maximum duration of a wait: 50 years. All systems can sleep for this time, and can add it to the current time.
pub const LONGEST_WAIT: Duration = Duration::from_secs(50 * 365 * 24 * 3600);

/// Returns the time since a fixed moment, which is the same for all processes of this host. The clock never goes back,
/// and stops while the host is suspended. Reading it usually takes no system call.
pub fn monotonic() -> Duration {
    read(ClockId::Monotonic)
}

/// Returns the monotonic time in nanoseconds. Frequent callers save the conversion to a `Duration`.
#[inline]
pub fn monotonic_nanoseconds() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    tv_sec.cast_unsigned() * 1_000_000_000 + tv_nsec as u64
}

/// Returns the monotonic time of the kernel's last tick, which was up to a few milliseconds ago, in
/// nanoseconds. Reading it is cheaper than [`monotonic_nanoseconds`].
#[inline]
pub fn coarse_nanoseconds() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::MonotonicCoarse);
    tv_sec.cast_unsigned() * 1_000_000_000 + tv_nsec as u64
}

/// Returns the time between two ticks of [`coarse_nanoseconds`], in nanoseconds.
pub fn coarse_resolution() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_getres(ClockId::MonotonicCoarse);
    tv_sec.cast_unsigned() * 1_000_000_000 + tv_nsec as u64
}

/// Returns the processor time that all threads of this process have used, in user and kernel mode
/// together.
pub fn process_cpu() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// Returns the processor time that the calling thread has used, in user and kernel mode together.
pub fn thread_cpu() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// Returns the processor time that the calling thread has used, in nanoseconds. Takes one system call; frequent callers
/// save the conversion to a `Duration`.
#[inline]
pub fn thread_cpu_nanoseconds() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    tv_sec.cast_unsigned() * 1_000_000_000 + tv_nsec as u64
}

/// Returns the processor time that a thread of this process has used, in nanoseconds, given its
/// thread id. One system call.
///
/// ```
/// use oxorb_sys::clock;
///
/// let own = rustix::thread::gettid().as_raw_nonzero().get();
/// let before = clock::thread_cpu_nanoseconds();
/// assert!(clock::cpu_of(own)? >= before);
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// When this process has no such thread.
pub fn cpu_of(thread: i32) -> io::Result<u64> {
    /// Clock kind (CPUCLOCK_SCHED) and per-thread flag (CPUCLOCK_PERTHREAD_MASK) in the kernel's
    /// clock ids.
    const OF_THREAD: libc::clockid_t = 2 | 4;
    if thread <= 0 {
        // The id 0 would select the calling thread, and a negative one would not yield the id of a thread's clock.
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec`, which `time` is, and keeps nothing.
    let result = unsafe { libc::clock_gettime((!thread << 3) | OF_THREAD, &mut time) };
    match result {
        // Both fields are widened first, because `long` may have 32 bits. The casts lose nothing, because neither field
        // is negative.
        0 => Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64),
        _ => Err(io::Error::last_os_error()),
    }
}

fn read(clock: ClockId) -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    // The casts lose nothing, because these clocks are never negative and the nanoseconds are below 10^9.
    Duration::new(tv_sec.cast_unsigned(), tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_clock_goes_back() {
        for clock in [monotonic, process_cpu, thread_cpu] {
            let mut last = clock();
            for _ in 0..1000 {
                let now = clock();
                assert!(now >= last);
                last = now;
            }
            assert!(last > Duration::ZERO);
        }
    }

    #[test]
    fn the_time_of_another_thread_is_its_own() {
        let (says, hears) = std::sync::mpsc::channel();
        let (ends, end) = std::sync::mpsc::channel::<()>();
        let worker = std::thread::spawn(move || {
            let mut spun = 0u64;
            while thread_cpu_nanoseconds() < 5_000_000 {
                spun += 1;
            }
            says.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            end.recv().unwrap_err();
            spun
        });
        let worker_id = hears.recv().unwrap();
        assert!(cpu_of(worker_id).unwrap() >= 5_000_000);
        drop(ends);
        assert!(worker.join().unwrap() > 0);
        assert!(cpu_of(0).is_err() && cpu_of(-1).is_err());
    }

    #[test]
    fn a_thread_uses_no_more_than_its_process() {
        let thread = thread_cpu();
        assert!(process_cpu() >= thread);
    }
}
