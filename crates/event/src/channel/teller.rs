//! The thread that notifies remote observers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use oxorb_sys::sync::{Condvar, Mutex};

/// A thread of a channel that works on demand.
#[derive(Default)]
pub(super) struct Teller {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether the thread has been started.
    runs: AtomicBool,
}

#[derive(Default)]
struct State {
    woken: bool,
    stopped: bool,
}

impl Teller {
    /// Starts the thread if it is not running. It calls `work` after each wake-up until `work` returns `false`.
    ///
    /// # Errors
    /// The system cannot start the thread. The next call tries again.
    pub(super) fn begin(
        self: &Arc<Self>,
        thread: &str,
        work: impl Fn() -> bool + Send + 'static,
    ) -> io::Result<()> {
        if self.runs.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let teller = Arc::clone(self);
        let run = move || {
            oxorb_delivery::run_ordinary();
            while teller.wait() && work() {}
        };
        let begun = thread::Builder::new().name(thread.into()).spawn(run);
        self.runs.store(begun.is_ok(), Ordering::Release);
        begun.map(drop)
    }

    /// Wakes the thread. If it is already working, it works once more.
    pub(super) fn wake(&self) {
        self.state.lock().woken = true;
        self.changed.notify_all();
    }

    /// Ends the thread after its current work.
    pub(super) fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Waits for a wake-up. Returns `false` if the thread must end.
    fn wait(&self) -> bool {
        let state = self.state.lock();
        let mut state = self.changed.wait_while(state, |state| !state.woken && !state.stopped);
        state.woken = false;
        !state.stopped
    }
}
