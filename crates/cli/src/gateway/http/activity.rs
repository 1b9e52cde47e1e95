//! Activity of a connection, by which idle connections are found.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::limits::IDLE;

/// Requests of one connection.
pub(super) struct Activity {
    begin: Instant,
    /// Number of requests whose answers are not complete.
    running: AtomicUsize,
    /// Number of requests so far.
    requests: AtomicUsize,
    /// Milliseconds from the beginning to the last beginning or end of a request.
    last: AtomicU64,
}

/// Request whose answer is not complete.
pub(super) struct Running(Arc<Activity>);

impl Activity {
    /// Creates the activity of a connection that begins now.
    pub(super) fn new() -> Arc<Activity> {
        Arc::new(Activity {
            begin: Instant::now(),
            running: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            last: AtomicU64::new(0),
        })
    }

    /// Records the beginning of a request.
    pub(super) fn start(self: &Arc<Self>) -> Running {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.touch();
        Running(Arc::clone(self))
    }

    fn touch(&self) {
        self.last.store(self.begin.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns the time at which the connection is to be looked at again, unless it is idle for too long. `first` is
    /// the time limit for the first request.
    pub(super) fn next_look(&self, first: Duration) -> Option<Instant> {
        if self.running.load(Ordering::Relaxed) > 0 {
            return Some(Instant::now() + IDLE);
        }
        let most = match self.requests.load(Ordering::Relaxed) {
            0 => first,
            _ => IDLE,
        };
        let last = self.begin + Duration::from_millis(self.last.load(Ordering::Relaxed));
        Some(last + most).filter(|end| *end > Instant::now())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        self.0.touch();
    }
}
