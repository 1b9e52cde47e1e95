//! Outlets as services hold them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::outlet::Shared;
use crate::{Attributes, Cause, Counts, Qos, Release};

/// A consumer's outlet: a bounded queue and its delivery. Cheap to clone; detached when the last
/// clone is dropped.
///
/// **Real-time cost.** An offer takes one lock, which only threads that offer to or deliver from
/// this outlet take, and that of the lane when its turn has to be queued. Their holders inherit
/// priority. Nothing is allocated once the queue was as long as it gets.
pub struct Outlet<E: Clone + Send + 'static> {
    pub(crate) shared: Arc<Shared<E>>,
}

/// Result of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// The event is in the queue, or delivered already.
    Taken,
    /// The event was dropped, and counted.
    Dropped(Cause),
}

impl<E: Clone + Send + 'static> Outlet<E> {
    /// Offers one event. Waits for room as long as [`Qos::wait`] says; on a reactive dispatcher,
    /// delivers.
    pub fn offer(&self, event: &E, about: &Attributes) -> Offered {
        self.shared.offer(event, about, None)
    }

    /// Takes the next event of an outlet [without a sink](crate::Dispatcher::connect_pull), if one
    /// waits.
    ///
    /// # Errors
    /// [`PullError::Empty`]; [`PullError::Detached`] when nothing will come any more.
    pub fn try_pull(&self) -> Result<E, PullError> {
        self.shared.pull(Duration::ZERO)
    }

    /// Takes the next event of an outlet without a sink, waiting for one.
    ///
    /// # Errors
    /// [`PullError::Empty`] after this time; [`PullError::Detached`] when nothing will come any
    /// more.
    pub fn pull(&self, limit: Duration) -> Result<E, PullError> {
        self.shared.pull(limit)
    }

    /// Stops delivery. Events wait from now on, within the bounds of the queue; deliveries that are
    /// under way end.
    pub fn suspend(&self) {
        self.shared.lock().suspend(true);
    }

    /// Begins to deliver again.
    pub fn resume(&self) {
        self.shared.lock().suspend(false);
        self.shared.look();
    }

    /// Whether delivery is stopped.
    pub fn is_suspended(&self) -> bool {
        self.shared.lock().is_suspended()
    }

    /// Takes no more events and drops those that wait, as [`Cause::Detached`]. Does not wait for
    /// deliveries that are under way; see [`quiesce`](Self::quiesce).
    pub fn detach(&self) {
        self.shared.close(Cause::Detached);
    }

    /// Takes no more events, delivers those that wait, `limit` at most, and detaches. Returns
    /// whether all were delivered or dropped for a cause of their own.
    pub fn drain(&self, limit: Duration) -> bool {
        let drained = self.shared.drain(Cause::Detached, limit);
        self.detach();
        drained
    }

    /// Detaches and releases the consumer, as if it had failed: its sink is told.
    pub fn release(&self, why: Release) {
        self.shared.release(why);
    }

    /// Whether the outlet takes events.
    pub fn is_attached(&self) -> bool {
        self.shared.is_open()
    }

    /// Waits until no delivery is under way, `limit` at most; returns whether so. Not from within a
    /// delivery of the same outlet.
    pub fn quiesce(&self, limit: Duration) -> bool {
        self.shared.quiesce(limit)
    }

    /// Returns the counters. Takes the lock of the queue.
    pub fn counts(&self) -> Counts {
        self.shared.lock().counts()
    }

    /// Returns the quality of service.
    pub fn qos(&self) -> Qos {
        self.shared.lock().qos().clone()
    }

    /// Replaces the quality of service. Events that wait are sorted anew; those for which there is
    /// no room are dropped by the new policy. A zero that [`connect`](crate::Dispatcher::connect)
    /// refuses counts as 1, and a lane that does not exist as the lane before. Allocates, unless
    /// lane, order in the lane and execution time alone differ.
    ///
    /// Another lane takes over with the next delivery: the one under way ends where it is, and no
    /// event overtakes another one by the move.
    pub fn set_qos(&self, qos: Qos) {
        self.shared.set_qos(Qos {
            events: qos.events.max(1),
            batch: qos.batch.max(1),
            concurrency: qos.concurrency.max(1),
            ..qos
        });
    }
}

impl<E: Clone + Send + 'static> Clone for Outlet<E> {
    fn clone(&self) -> Self {
        Outlet { shared: Arc::clone(&self.shared) }
    }
}

impl<E: Clone + Send + 'static> fmt::Debug for Outlet<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").field("counts", &self.counts()).finish()
    }
}

/// Reason for which no event was pulled.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PullError {
    /// None waits.
    #[error("no event waits")]
    Empty,
    /// The outlet is detached, and none is left.
    #[error("the outlet is detached: no event will come")]
    Detached,
}

impl fmt::Debug for PullError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
