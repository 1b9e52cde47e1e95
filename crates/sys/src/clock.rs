//! Time.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

/// Time since some fixed moment, the same for all processes of this host; never goes back, and
/// stands still while the host sleeps. Usually no system call.
pub fn monotonic() -> Duration {
    read(ClockId::Monotonic)
}

/// The same in nanoseconds, for whoever asks often.
#[inline]
pub fn monotonic_nanoseconds() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    tv_sec.cast_unsigned() * 1_000_000_000 + tv_nsec as u64
}

/// Returns the monotonic clock as of the kernel's last tick, some milliseconds ago: read faster than
/// [`monotonic_nanoseconds`].
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

/// Processor time that all threads of this process have used, in user and kernel mode together.
pub fn process_cpu() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// Processor time that the calling thread has used, in user and kernel mode together.
pub fn thread_cpu() -> Duration {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    // None of these clocks starts below zero, and there are less than 10^9 nanoseconds.
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
    fn a_thread_uses_no_more_than_its_process() {
        let thread = thread_cpu();
        assert!(process_cpu() >= thread);
    }
}
