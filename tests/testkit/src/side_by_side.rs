//! Cases that wait more than they compute.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs all `cases`, `width` of them at a time, in order.
///
/// For independent cases that wait more than they compute: the test takes about as long as one of them waits.
///
/// ```
/// use std::time::Duration;
///
/// oxorb_testkit::side_by_side(3, ["refuses", "dies", "hangs"], |peer| {
///     // ... start a server of that kind, and wait until its client gives it up ...
///     # let _ = peer;
/// });
/// ```
///
/// # Panics
/// If a case panics, once all others have ended.
pub fn side_by_side<C: Send>(
    width: usize,
    cases: impl IntoIterator<Item = C, IntoIter: Send>,
    one: impl Fn(C) + Sync,
) {
    let cases = Mutex::new(cases.into_iter());
    let next = || cases.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..width {
            scope.spawn(|| {
                while let Some(case) = next() {
                    one(case);
                }
            });
        }
    });
}

/// Runs all `cases` at once: [`side_by_side`] with their number as width.
///
/// ```
/// use std::sync::Barrier;
///
/// let met = Barrier::new(3);
/// oxorb_testkit::at_once(["TCP", "TLS", "memory"], |_| drop(met.wait()));
/// ```
pub fn at_once<C: Send>(cases: impl IntoIterator<Item = C>, one: impl Fn(C) + Sync) {
    let cases: Vec<C> = cases.into_iter().collect();
    side_by_side(cases.len(), cases, one);
}
