//! Time limits on a machine that runs many processes at once.
//!
//! A limit distinguishes a hanging test from a slow one. With 32 processes for each processor, a test takes 32 times as
//! long without hanging. Limits are therefore those of an otherwise idle processor.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Maximum factor by which a limit is extended.
const MOST: u32 = 64;

/// Reports whether a wait that started at `began` has exceeded `limit`, corrected for the load of the machine.
///
/// The test's share of a processor is that of the last minute: the load average divided by the number of processors. It
/// is read only once the uncorrected limit has passed.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let began = Instant::now();
/// assert!(!oxorb_testkit::patience::is_over(began, Duration::from_secs(60)));
/// ```
pub fn is_over(began: Instant, limit: Duration) -> bool {
    let taken = began.elapsed();
    taken >= limit && taken >= limit * crowd()
}

/// Returns the number of processes per processor in the last minute, at least 1.
fn crowd() -> u32 {
    let load = fs::read_to_string("/proc/loadavg").ok();
    let load = load.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let processors = thread::available_parallelism().map_or(1, usize::from);
    shared(load.unwrap_or(0.0), processors)
}

fn shared(load: f64, processors: usize) -> u32 {
    let each = load / processors as f64;
    // An invalid load becomes 0, which is less than 1.
    (each.ceil() as u32).clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_as_many_times_longer_as_there_are_processes_for_a_processor() {
        assert_eq!([0.0, 1.9, 2.1, 62.3, 1e9].map(|load| shared(load, 2)), [1, 1, 2, 32, MOST]);
    }

    #[test]
    fn a_limit_that_is_not_over_is_not_longer() {
        let long_ago = Instant::now().checked_sub(Duration::from_millis(5)).unwrap();
        assert!(!is_over(long_ago, Duration::from_secs(1_000)));
        assert!(is_over(long_ago, Duration::ZERO));
    }
}
