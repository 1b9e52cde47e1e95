//! Handles of distributable threads, to inspect, cancel and wait for them.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb::{Ref, SystemException};

use crate::Id;
use crate::cancel;
use crate::refusal::UNKNOWN;
use crate::slots::{Registry, Slot};

/// Handle of a distributable thread that is, or was, in this process
/// (`RTScheduling::DistributableThread`). May outlive the thread.
#[derive(Clone)]
pub struct DistributableThread {
    id: Id,
    registry: Arc<Registry<Ref>>,
    scheduler: Arc<dyn Cancels>,
    limit: Duration,
    /// Slot of the native thread that was spawned for it.
    slot: Option<Arc<Slot<Ref>>>,
}

/// State of a distributable thread in this process (`DT_State`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DtState {
    /// The thread is here, or has left with a call.
    Active,
    /// The thread is here, or has left with a call, and was cancelled.
    Cancelled,
    /// The thread has ended, or has left with the request that brought it here.
    Ended,
}

/// Scheduler that is notified of cancellations.
pub(crate) trait Cancels: Send + Sync {
    fn cancel(&self, id: &Id);
}

impl DistributableThread {
    pub(crate) fn new(
        id: Id,
        registry: Arc<Registry<Ref>>,
        scheduler: Arc<dyn Cancels>,
        limit: Duration,
        slot: Option<Arc<Slot<Ref>>>,
    ) -> DistributableThread {
        DistributableThread { id, registry, scheduler, limit, slot }
    }

    /// Returns the thread's id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns the thread's state in this process. Takes locks as
    /// [`RtScheduling::lookup`](crate::RtScheduling::lookup) does.
    pub fn state(&self) -> DtState {
        match self.registry.find(&self.id) {
            None => DtState::Ended,
            Some(Ok(())) => DtState::Active,
            Some(Err(_)) => DtState::Cancelled,
        }
    }

    /// Cancels the thread: the next point of its scheduler, in any process, raises THREAD_CANCELLED
    /// in the thread, and the exception reaches all callers back to the thread's origin.
    ///
    /// A thread that has left this process with a call is followed: the process that serves the
    /// call is notified before this method returns, and follows the thread in turn. Each
    /// notification takes [`Limits::cancel`](crate::Limits::cancel) at most. If a process cannot be
    /// reached in this time, or does not support cancellation (TAO's), the thread is cancelled when
    /// it returns from that process. Reports whether all processes that the thread went to from
    /// this one have answered.
    ///
    /// # Errors
    /// OBJECT_NOT_EXIST if the thread is not in this process.
    pub fn cancel(&self) -> Result<bool, SystemException> {
        let found = self.registry.cancel(&self.id);
        if found.here == 0 {
            return Err(UNKNOWN);
        }
        self.scheduler.cancel(&self.id);
        Ok(cancel::follow(&self.id, &found.away, cancel::HOPS, self.limit))
    }

    /// Waits until a [spawned](crate::Current::spawn) thread has ended, for at most `limit`, and
    /// reports whether it has. For other threads reports the current state.
    pub fn wait_ended(&self, limit: Duration) -> bool {
        match &self.slot {
            None => self.state() == DtState::Ended,
            Some(slot) => {
                let now = Instant::now();
                // If the clock cannot represent the end of the limit, wait for a day.
                let until = now.checked_add(limit).unwrap_or(now + Duration::from_secs(86_400));
                slot.wait_gone(&self.id, until)
            }
        }
    }
}

impl fmt::Debug for DistributableThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistributableThread")
            .field("id", &self.id)
            .field("state", &self.state())
            .finish()
    }
}
