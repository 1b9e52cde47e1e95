//! Requests that only the main thread may run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use oxorb_core::{Outcome, Upcall};

use crate::adapter::RootAdapter;
use crate::refusal::DISCARDED;

/// What became of a request that was handed to the main thread.
const WAITING: u8 = 0;
const STARTED: u8 = 1;
const ABANDONED: u8 = 2;

impl RootAdapter {
    /// Has a request run by the main thread, and sends its answer. TRANSIENT if
    /// too many wait for it already, or it has not begun when `until` comes.
    pub(crate) fn serve_on_main(self: &Arc<Self>, upcall: Upcall<'_>, until: Instant) -> Outcome {
        let request = upcall.detach();
        let (answered, answer) = mpsc::sync_channel(1);
        let progress = Arc::new(AtomicU8::new(WAITING));
        let (adapter, orb, begun) = (
            Arc::clone(self),
            upcall.orb().clone(),
            Arc::clone(&progress),
        );
        let job = move || {
            let mine =
                begun.compare_exchange(WAITING, STARTED, Ordering::AcqRel, Ordering::Acquire);
            if mine.is_ok() {
                let reply = request.serve(&orb, |upcall| adapter.find_and_call(upcall));
                let _ = answered.send(reply);
            }
        };
        if upcall
            .orb()
            .run_on_main(Box::new(job), self.limits.max_held)
            .is_err()
        {
            return upcall.fail(DISCARDED);
        }
        let left = until.saturating_duration_since(Instant::now());
        let in_time = answer.recv_timeout(left);
        let abandoned = in_time.is_err()
            && progress
                .compare_exchange(WAITING, ABANDONED, Ordering::AcqRel, Ordering::Acquire)
                .is_ok();
        if abandoned {
            return upcall.fail(DISCARDED);
        }
        // Once it runs it is waited for, as on any other thread. The main thread
        // drops it unanswered only when the ORB ends.
        match in_time.or_else(|_| answer.recv()) {
            Ok(reply) => upcall.relay(reply),
            Err(_) => upcall.fail(DISCARDED),
        }
    }
}
