//! Outlets as services hold them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::outlet::Shared;
use crate::{Attributes, Cause, Counts, Qos, Release};

/// A consumer's outlet: a bounded queue and its delivery. Cheap to clone; detached when the last
/// clone is dropped.
///
/// **Real-time cost.** An offer takes one lock, shared only with threads that offer to or deliver
/// from this outlet, and the lane's lock when a turn has to be queued. Lock holders inherit
/// priority. An offer allocates nothing once the queue has reached its greatest length.
pub struct Outlet<E: Clone + Send + 'static> {
    pub(crate) shared: Arc<Shared<E>>,
}

/// Result of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// The event was queued or delivered.
    Taken,
    /// The event was dropped and counted.
    Dropped(Cause),
}

impl<E: Clone + Send + 'static> Outlet<E> {
    /// Offers one event. Waits for space in the queue for at most [`Qos::wait`]; on a reactive dispatcher, delivers the
    /// event.
    pub fn offer(&self, event: &E, about: &Attributes) -> Offered {
        self.shared.offer(event, about, None)
    }

    /// Takes the next waiting event, if any, of an outlet [without a sink](crate::Dispatcher::connect_pull).
    ///
    /// # Errors
    /// [`PullError::Empty`]; [`PullError::Detached`] if no further event can arrive.
    pub fn try_pull(&self) -> Result<E, PullError> {
        self.shared.pull(Duration::ZERO)
    }

    /// Takes the next event of an outlet without a sink, waiting for at most `limit`.
    ///
    /// # Errors
    /// [`PullError::Empty`] after `limit`; [`PullError::Detached`] if no further event can arrive.
    pub fn pull(&self, limit: Duration) -> Result<E, PullError> {
        self.shared.pull(limit)
    }

    /// Suspends delivery. Further events wait, within the bounds of the queue; deliveries in
    /// progress complete.
    pub fn suspend(&self) {
        self.shared.lock().suspend(true);
    }

    /// Resumes delivery.
    pub fn resume(&self) {
        self.shared.lock().suspend(false);
        self.shared.look();
    }

    /// Reports whether delivery is suspended.
    pub fn is_suspended(&self) -> bool {
        self.shared.lock().is_suspended()
    }

    /// Refuses further events and drops waiting events, as [`Cause::Detached`]. Does not wait for deliveries in
    /// progress; see [`quiesce`](Self::quiesce).
    pub fn detach(&self) {
        self.shared.close(Cause::Detached);
    }

    /// Refuses further events, delivers waiting events for at most `limit`, and detaches the outlet. Returns whether
    /// all events were delivered or dropped for another cause.
    pub fn drain(&self, limit: Duration) -> bool {
        let drained = self.shared.drain(Cause::Detached, limit);
        self.detach();
        drained
    }

    /// Detaches the outlet and notifies its sink that the consumer was released, as after a
    /// failure.
    pub fn release(&self, why: Release) {
        self.shared.release(why);
    }

    /// Reports whether the outlet accepts events.
    pub fn is_attached(&self) -> bool {
        self.shared.is_open()
    }

    /// Waits for at most `limit` until no delivery is in progress; returns whether that is so. Must not be called from
    /// within a delivery of the same outlet.
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

    /// Replaces the quality of service. Waiting events are sorted again; events that no longer fit are dropped by the
    /// new policy. A zero that [`connect`](crate::Dispatcher::connect) refuses counts as 1; for a lane that does not
    /// exist, the present lane is kept. Allocates, unless only lane, order in the lane and execution time differ.
    ///
    /// A new lane takes effect with the next delivery: a delivery in progress ends in the old lane,
    /// and the move does not reorder events.
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
    /// Empty queue.
    #[error("no event waits")]
    Empty,
    /// The outlet is detached, and no event is left.
    #[error("the outlet is detached: no event will come")]
    Detached,
}

impl fmt::Debug for PullError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
