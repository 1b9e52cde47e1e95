//! Threads of a channel with periodic work, such as pinging peers or checking for a new schedule.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use oxorb_sys::sync::{Condvar, Mutex};

/// A periodic thread of a channel.
#[derive(Default)]
pub(super) struct Rounds {
    stopped: Mutex<bool>,
    changed: Condvar,
    /// Whether the thread has been started.
    runs: AtomicBool,
}

impl Rounds {
    /// Starts the thread if it is not running. The thread calls `round` after each period until `round` returns
    /// `false`.
    ///
    /// # Errors
    /// The system cannot start the thread. The next call tries again. Until then, failed pushes still reveal dead
    /// consumers, and a consumer that connects again gets its scheduled lane.
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

    /// Ends the thread after the current round.
    pub(super) fn stop(&self) {
        *self.stopped.lock() = true;
        self.changed.notify_all();
    }

    /// Waits for one period. Returns `false` if the thread must end.
    fn wait(&self, period: Duration) -> bool {
        let stopped = self.stopped.lock();
        let (stopped, _) = self.changed.wait_timeout_while(stopped, period, |stopped| !*stopped);
        !*stopped
    }
}
