//! Resources of a process, which a soak compares at its beginning and at its end.

use std::env;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::patience::is_over;

/// Variable with the length of a soak in seconds.
const LENGTH: &str = "OXORB_SOAK_SECONDS";

/// Time for which descriptors and threads must not change before a process is at rest.
const QUIET: Duration = Duration::from_secs(3);

/// Returns the length of a soak: `usual` seconds, unless `OXORB_SOAK_SECONDS` is set.
///
/// # Panics
/// If the variable is not a number.
pub fn length_of_a_soak(usual: u64) -> Duration {
    let seconds = env::var(LENGTH).map_or(usual, |text| text.parse().expect("seconds"));
    Duration::from_secs(seconds)
}

/// Resources of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resources {
    /// Number of open descriptors.
    pub descriptors: u64,
    /// Number of threads.
    pub threads: u64,
    /// Anonymous memory in KiB.
    pub memory: u64,
}

/// Permitted growth of the resources of a process at rest.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Number of descriptors.
    pub descriptors: u64,
    /// Number of threads.
    pub threads: u64,
}

impl Resources {
    /// Returns the present resources of a process.
    ///
    /// # Panics
    /// If the process does not run.
    #[track_caller]
    pub fn of(process: u32) -> Resources {
        let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
        let field = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next());
            number.and_then(|number| number.parse().ok()).expect("a number")
        };
        let descriptors = fs::read_dir(format!("/proc/{process}/fd")).expect("it runs");
        Resources {
            descriptors: descriptors.count() as u64,
            threads: field("Threads:"),
            memory: field("RssAnon:"),
        }
    }

    /// Returns the resources of a process once it is at rest: for three seconds, its descriptors and threads have not
    /// changed, and have not exceeded those at the beginning by more than `growth`.
    ///
    /// # Panics
    /// If the process is not at rest within `limit`.
    #[track_caller]
    pub fn at_rest(
        process: u32,
        beginning: Resources,
        growth: Growth,
        limit: Duration,
    ) -> Resources {
        let began = Instant::now();
        let (mut seen, mut since) = (Resources::of(process), began);
        while since.elapsed() < QUIET {
            assert!(!is_over(began, limit), "{beginning:?}, and no rest: {seen:?}");
            thread::sleep(Duration::from_millis(50));
            let now = Resources::of(process);
            let counts = |one: Resources| (one.descriptors, one.threads);
            let is_more = now.descriptors > beginning.descriptors + growth.descriptors
                || now.threads > beginning.threads + growth.threads;
            if counts(now) != counts(seen) || is_more {
                since = Instant::now();
            }
            seen = now;
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_threads_descriptors_and_memory() {
        let own = Resources::of(std::process::id());
        assert!(own.threads >= 1 && own.descriptors >= 3 && own.memory > 0, "{own:?}");
    }
}
