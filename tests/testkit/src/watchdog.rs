//! Tests that never hang.

use std::io::{self, Write as _};
use std::process;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::patience::is_over;

/// Ends the process with a message, unless the guard is dropped within `limit`.
///
/// For tests that would block endlessly if the tested code is broken. Choose a limit that no machine reaches otherwise;
/// on a machine that runs many processes at once it is [extended](crate::patience).
///
/// ```
/// let _guard = oxorb_testkit::watchdog(std::time::Duration::from_secs(60));
/// // ... what might hang ...
/// ```
#[must_use = "the watch ends when the guard is dropped"]
pub fn watchdog(limit: Duration) -> Watchdog {
    let name = thread::current().name().unwrap_or("unnamed").to_owned();
    let (done, watch) = mpsc::channel::<()>();
    thread::spawn(move || {
        let began = Instant::now();
        while watch.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            if !is_over(began, limit) {
                continue;
            }
            // Not `eprintln`, whose text a test's runner keeps until the test has ended.
            let text =
                format!("test {name} still runs after {limit:?}: giving up on the whole process\n");
            let _ = io::stderr().write_all(text.as_bytes());
            process::abort();
        }
    });
    Watchdog { _done: done }
}

/// Guard of [`watchdog`].
#[derive(Debug)]
pub struct Watchdog {
    /// Sender whose drop notifies the watching thread.
    _done: Sender<()>,
}
