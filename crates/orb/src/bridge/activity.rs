//! Use of the objects of a bridge or gateway.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Use of one object. A gateway removes objects that are not in use to make room for others.
#[derive(Debug, Default)]
pub(crate) struct ObjectActivity {
    /// Number of running requests.
    running: AtomicUsize,
    was_used: AtomicBool,
}

impl ObjectActivity {
    /// Records a request that runs until the guard is dropped.
    pub(crate) fn enter(&self) -> RunningRequest<'_> {
        self.running.fetch_add(1, Relaxed);
        self.was_used.store(true, Relaxed);
        RunningRequest(self)
    }

    /// Reports whether a request is running.
    #[cfg(feature = "gateway")]
    pub(crate) fn is_running(&self) -> bool {
        self.running.load(Relaxed) > 0
    }

    /// Reports whether a request has begun since the last call of this function.
    #[cfg(feature = "gateway")]
    pub(crate) fn take_was_used(&self) -> bool {
        self.was_used.swap(false, Relaxed)
    }
}

/// Guard of a running request.
#[derive(Debug)]
pub(crate) struct RunningRequest<'a>(&'a ObjectActivity);

impl Drop for RunningRequest<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Relaxed);
    }
}
