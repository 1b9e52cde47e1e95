//! Times of events in units of 100 ns since 15 October 1582 (`TimeBase::TimeT`).

use std::time::{SystemTime, UNIX_EPOCH};

/// Units of 100 ns from 15 October 1582 to 1 January 1970.
const TO_1970: u64 = 0x01B2_1DD2_1381_4000;

/// Returns the present time, for headers of events.
pub(super) fn now() -> u64 {
    TO_1970 + now_ns() / 100
}

/// Returns the present time in nanoseconds since 1970.
pub(super) fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// Returns a header's time in nanoseconds since 1970; `None` if it is not set or earlier than 1970.
pub(super) fn since_1970(time: u64) -> Option<u64> {
    time.checked_sub(TO_1970)?.checked_mul(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_headers_count_from_1582() {
        // 1970-01-01 is 141,427 days after 1582-10-15.
        assert_eq!(TO_1970, 141_427 * 86_400 * 10_000_000);
        assert_eq!(since_1970(TO_1970 + 3), Some(300));
        assert_eq!(since_1970(0), None);
        assert!(since_1970(now()).is_some_and(|now| now <= now_ns()));
    }
}
