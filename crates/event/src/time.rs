//! Times in event headers.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time as a `TimeBase::TimeT`, in units of 100 ns since 15 October 1582, UTC.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let units = since.map_or(0, |since| since.as_nanos() / 100);
    UNIX_IN_TIME_T + u64::try_from(units).unwrap_or(u64::MAX - UNIX_IN_TIME_T)
}

/// The beginning of 1970 as a `TimeBase::TimeT`.
pub(crate) const UNIX_IN_TIME_T: u64 = 0x01b2_1dd2_1381_4000;
