//! Requests that only a certain thread may serve, while the thread that received them waits.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use oxorb_object::SystemException;

use crate::error::raise;
use crate::threads::{ThreadJob, clock};
use crate::{MainThreadQueueFull, Outcome, Upcall};

/// Progress of a request that was handed to another thread.
const WAITING: u8 = 0;
const STARTED: u8 = 1;
const ABANDONED: u8 = 2;

impl Upcall<'_> {
    /// Serves the request in another thread, and sends its answer. `post` hands a job to that thread, and the job calls
    /// `serve`. The calling thread waits until `until` for the job to begin, and then for its end. Copies the request.
    ///
    /// Raises `refused` if `post` fails, the job has not begun in time, or the job was dropped before it began. Raises
    /// UNKNOWN, COMPLETED_MAYBE, if the job ended without an answer.
    pub fn serve_elsewhere(
        self,
        until: Instant,
        refused: SystemException,
        post: impl FnOnce(ThreadJob) -> Result<(), MainThreadQueueFull>,
        serve: impl FnOnce(Upcall<'_>) -> Outcome + Send + 'static,
    ) -> Outcome {
        let request = self.detach();
        let (answered, answer) = mpsc::sync_channel(1);
        let progress = Arc::new(AtomicU8::new(WAITING));
        let (orb, begun) = (self.orb().clone(), Arc::clone(&progress));
        let job = move || {
            let mine =
                begun.compare_exchange(WAITING, STARTED, Ordering::AcqRel, Ordering::Acquire);
            if mine.is_ok() {
                let _ = answered.send(request.serve(&orb, serve));
            }
        };
        if post(Box::new(job)).is_err() {
            return self.fail(refused);
        }
        let left = until.saturating_duration_since(clock::now());
        let in_time = answer.recv_timeout(left);
        let abandoned = in_time.is_err()
            && progress
                .compare_exchange(WAITING, ABANDONED, Ordering::AcqRel, Ordering::Acquire)
                .is_ok();
        if abandoned {
            return self.fail(refused);
        }
        // A job that has begun is awaited without a time limit, as a servant in this thread would be.
        match in_time.or_else(|_| answer.recv()) {
            Ok(reply) => self.relay(reply),
            Err(_) => self.fail(raise::SERVANT_PANICKED),
        }
    }
}
