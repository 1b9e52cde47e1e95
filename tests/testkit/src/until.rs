//! Waiting for conditions.

use std::thread;
use std::time::{Duration, Instant};

use crate::patience::is_over;

/// Time limit of expected conditions: no machine with a free processor takes that long.
const BOUND: Duration = Duration::from_secs(60);

/// Waits until `holds` returns true, as a result of another thread or process.
///
/// A test that sleeps instead fails if that thread has not run meanwhile. Panics after a minute, or
/// [later](crate::patience) on a machine that runs many processes at once.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let begun = AtomicBool::new(false);
/// std::thread::scope(|scope| {
///     scope.spawn(|| begun.store(true, Ordering::SeqCst));
///     oxorb_testkit::until("the thread has begun", || begun.load(Ordering::SeqCst));
/// });
/// ```
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(!is_over(began, BOUND), "not within {BOUND:?}: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}
