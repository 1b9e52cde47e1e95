//! Handles through which services use outlets.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::outlet::Shared;
use crate::{Attributes, Cause, Counts, Qos, Release};

/// A consumer's outlet: its bounded queue and the delivery from it. Cheap to clone. Dropping the last clone detaches
/// the outlet.
///
/// **Real-time cost.** An offer takes the lock of the outlet, which is shared only with threads that offer to this
/// outlet or deliver from it. If the outlet must be queued for dispatch, the offer also takes the lock of its lane.
/// Lock holders inherit priority. An offer allocates nothing once the queue has reached its maximum length.
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
    /// Offers one event. Waits for space in the queue for at most [`Qos::wait`]. On a reactive dispatcher, this call
    /// also delivers the event.
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

    /// Refuses further events, delivers waiting events for at most `limit`, and detaches the outlet. Returns `true` if
    /// detaching dropped no event.
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

    /// Waits for at most `limit` until no delivery is in progress, and returns `false` if one still is. Must not be
    /// called from within a delivery of the same outlet.
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

    /// Replaces the quality of service. Waiting events are sorted again, and the new policy drops those that exceed the
    /// new limits. A zero that [`connect`](crate::Dispatcher::connect) refuses counts as 1. If the lane does not exist,
    /// the outlet stays in its present lane. Allocates, unless only lane, order in the lane and execution time differ.
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

/// Reason why no event was pulled.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PullError {
    /// The queue is empty.
    #[error("no event is waiting")]
    Empty,
    /// The outlet is detached, and no event is left.
    #[error("the outlet is detached: no event will arrive")]
    Detached,
}

impl fmt::Debug for PullError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
