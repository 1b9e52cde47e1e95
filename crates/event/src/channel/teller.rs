//! The thread that tells observers elsewhere.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use oxorb_sys::sync::{Condvar, Mutex};

/// Thread of one channel that works when it is woken.
#[derive(Default)]
pub(super) struct Teller {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether there is a thread.
    runs: AtomicBool,
}

#[derive(Default)]
struct State {
    woken: bool,
    stopped: bool,
}

impl Teller {
    /// Starts the thread, once, which calls `work` each time it is woken, until that returns `false`.
    ///
    /// # Errors
    /// The system refuses the thread; the next call tries again.
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

    /// Makes the thread work, once more if it does already.
    pub(super) fn wake(&self) {
        self.state.lock().woken = true;
        self.changed.notify_all();
    }

    /// Ends the thread, after what it does.
    pub(super) fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Waits until it is woken; returns `false` when it ends meanwhile.
    fn wait(&self) -> bool {
        let state = self.state.lock();
        let mut state = self.changed.wait_while(state, |state| !state.woken && !state.stopped);
        state.woken = false;
        !state.stopped
    }
}
