//! Nanoseconds of the monotonic clock since its first use in the process.

use std::sync::OnceLock;
use std::time::Instant;

pub(crate) fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let since = START.get_or_init(Instant::now).elapsed();
    // Add 1, because 0 means "never".
    u64::try_from(since.as_nanos()).map_or(u64::MAX, |it| it.saturating_add(1))
}
