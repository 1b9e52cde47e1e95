//! Times in CORBA's representation (`TimeBase::TimeT`): units of 100 ns, absolute times since 15
//! October 1582.

use std::time::{Duration, SystemTime};

use crate::threads::clock;

/// 1 January 1970 in units of 100 ns.
const UNIX_EPOCH: u64 = 122_192_928_000_000_000;

/// Converts an absolute time, clamped to the range of `TimeT`.
pub(crate) fn utc_of(time: SystemTime) -> u64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => UNIX_EPOCH.saturating_add(units(after)),
        Err(before) => UNIX_EPOCH.saturating_sub(units(before.duration())),
    }
}

/// Converts an absolute time; returns 1970 for one outside of the range of `SystemTime`.
pub(crate) fn system_time(utc: u64) -> SystemTime {
    let time = match utc.checked_sub(UNIX_EPOCH) {
        Some(after) => SystemTime::UNIX_EPOCH.checked_add(duration(after)),
        None => SystemTime::UNIX_EPOCH.checked_sub(duration(UNIX_EPOCH - utc)),
    };
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Returns the current time.
pub(crate) fn utc_now() -> u64 {
    utc_of(clock::time_of_day())
}

/// Converts a duration to units of 100 ns, clamped to the range of `TimeT`.
pub(crate) fn units(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos() / 100).unwrap_or(u64::MAX)
}

/// Converts units of 100 ns.
pub(crate) fn duration(units: u64) -> Duration {
    const PER_SECOND: u64 = 10_000_000;
    Duration::new(units / PER_SECOND, (units % PER_SECOND) as u32 * 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_as_the_specification_says() {
        // There are 141427 days from 1582-10-15 to 1970-01-01.
        assert_eq!(UNIX_EPOCH, 141_427 * 86_400 * 10_000_000);
        let time = SystemTime::UNIX_EPOCH + Duration::from_micros(1);
        assert_eq!(utc_of(time), UNIX_EPOCH + 10);
        assert_eq!(
            utc_of(SystemTime::UNIX_EPOCH - Duration::from_secs(1)),
            UNIX_EPOCH - 10_000_000
        );
        assert_eq!(system_time(utc_of(time)), time);
        assert_eq!(system_time(0) + Duration::from_secs(141_427 * 86_400), SystemTime::UNIX_EPOCH);
        assert_eq!(duration(units(Duration::new(3, 700))), Duration::new(3, 700));
        assert_eq!(units(Duration::MAX), u64::MAX);
    }
}
