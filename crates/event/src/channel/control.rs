//! Threads that do something from time to time: ask peers whether they still are, or for another schedule.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use oxorb_sys::sync::{Condvar, Mutex};

/// The rounds of one channel.
#[derive(Default)]
pub(super) struct Rounds {
    stopped: Mutex<bool>,
    changed: Condvar,
    /// Whether there is a thread.
    runs: AtomicBool,
}

impl Rounds {
    /// Begins the rounds, once: `round` is called after each period until it returns `false`.
    ///
    /// # Errors
    /// The system refuses the thread. Failed pushes still find dead consumers, and who connects again gets its lane; the next
    /// call tries again.
    pub(super) fn begin(
        self: &Arc<Self>,
        thread: &str,
        period: Duration,
        mut round: impl FnMut() -> bool + Send + 'static,
    ) -> io::Result<()> {
        if self.runs.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let rounds = Arc::clone(self);
        let run = move || {
            oxorb_delivery::run_ordinary();
            while rounds.wait(period) && round() {}
        };
        let begun = thread::Builder::new().name(thread.into()).spawn(run);
        self.runs.store(begun.is_ok(), Ordering::Release);
        begun.map(drop)
    }

    /// Ends the rounds, after the one that runs.
    pub(super) fn stop(&self) {
        *self.stopped.lock() = true;
        self.changed.notify_all();
    }

    /// Waits; returns `false` when the rounds end meanwhile.
    fn wait(&self, period: Duration) -> bool {
        let stopped = self.stopped.lock();
        let (stopped, _) = self.changed.wait_timeout_while(stopped, period, |stopped| !*stopped);
        !*stopped
    }
}
