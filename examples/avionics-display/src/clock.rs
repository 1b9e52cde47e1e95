//! Time of the node and of the processor.

use std::hint::black_box;
use std::time::Duration;

use oxorb::{CompletionStatus, SystemException};
use rustix::time::{ClockId, clock_gettime};

/// Returns the node's monotonic clock in nanoseconds.
pub(crate) fn now() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// Uses processor time, like the driver of a device. The time of other threads does not count.
pub(crate) fn work(microseconds: u32) {
    let busy = Duration::from_micros(microseconds.into()).as_nanos() as u64;
    let end = nanoseconds(ClockId::ThreadCPUTime).saturating_add(busy);
    while nanoseconds(ClockId::ThreadCPUTime) < end {
        black_box(end);
    }
}

/// Rejects a value of an attribute that is less than `least` or greater than `most`.
pub(crate) fn bounded(value: u32, least: u32, most: u32) -> oxorb::Result<u32> {
    match (least..=most).contains(&value) {
        true => Ok(value),
        false => Err(SystemException::bad_param(0, CompletionStatus::No)),
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_nanos() as u64
}
