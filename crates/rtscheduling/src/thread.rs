//! Distributable threads as values: to look at, to cancel, to wait for.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb::{Ref, SystemException};

use crate::Id;
use crate::cancel;
use crate::refusal::UNKNOWN;
use crate::slots::{Registry, Slot};

/// Distributable thread that is, or was, in this process (`RTScheduling::DistributableThread`). May be kept after its end.
#[derive(Clone)]
pub struct DistributableThread {
    id: Id,
    registry: Arc<Registry<Ref>>,
    scheduler: Arc<dyn Cancels>,
    limit: Duration,
    /// Slot of the native thread that was spawned for the thread.
    slot: Option<Arc<Slot<Ref>>>,
}

/// State of a distributable thread in this process (`DT_State`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DtState {
    /// The thread is here, or has gone elsewhere from here.
    Active,
    /// The thread is here, or has gone elsewhere from here, and was cancelled.
    Cancelled,
    /// The thread has ended, or has left with the request that brought it here.
    Ended,
}

/// Scheduler that wants to know which threads are cancelled.
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

    /// Returns its id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns its state in this process. Takes locks as [`RtScheduling::lookup`](crate::RtScheduling::lookup) does.
    pub fn state(&self) -> DtState {
        match self.registry.find(&self.id) {
            None => DtState::Ended,
            Some(Ok(())) => DtState::Active,
            Some(Err(_)) => DtState::Cancelled,
        }
    }

    /// Cancels the thread: at the next point of its scheduler, wherever it is, it gets THREAD_CANCELLED. So do its callers,
    /// back to where it began.
    ///
    /// A thread that has left this process with a call is followed: the process that serves the call is notified before this
    /// method returns, and follows the thread in turn. Each notification takes [`Limits::cancel`](crate::Limits::cancel) at most.
    /// A process that cannot be reached in this time, or that knows no cancelling (TAO's), lets the thread return first. Returns
    /// whether all processes have answered to which the thread went from here.
    ///
    /// # Errors
    /// OBJECT_NOT_EXIST: it is not in this process.
    pub fn cancel(&self) -> Result<bool, SystemException> {
        let found = self.registry.cancel(&self.id);
        if found.here == 0 {
            return Err(UNKNOWN);
        }
        self.scheduler.cancel(&self.id);
        Ok(cancel::follow(&self.id, &found.away, cancel::HOPS, self.limit))
    }

    /// Waits until a [spawned](crate::Current::spawn) thread has ended, at most so long. Returns whether it has. Of other threads
    /// this is the state now.
    pub fn wait_ended(&self, limit: Duration) -> bool {
        match &self.slot {
            None => self.state() == DtState::Ended,
            Some(slot) => {
                let now = Instant::now();
                // What no clock can hold is a day.
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
