//! Consumers as the dispatcher sees them.

use std::time::Duration;

use crate::Cause;

/// A consumer: receives events on the dispatching thread.
///
/// The dispatcher holds no lock during these calls.
pub trait Sink<E>: Send + Sync {
    /// Delivers events to the consumer, from 1 to [`Qos::batch`](crate::Qos::batch) of them, in
    /// order. Must return within a bounded time: meanwhile the outlet occupies this thread. A panic
    /// counts as [`Outcome::Failed`].
    fn deliver(&self, events: &[E]) -> Outcome;

    /// Reports once that the consumer was released; its events are dropped and counted. Not called
    /// when the service itself [detaches](crate::Outlet::detach) the outlet.
    fn released(&self, why: Release) {
        let _ = why;
    }

    /// Reports a dropped event, on the thread that dropped it: the supplier's for a full queue.
    /// Must be short. The events of a failed batch are reported one by one.
    fn dropped(&self, cause: Cause, event: &E) {
        let _ = (cause, event);
    }
}

/// Result of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The consumer accepted all events.
    Delivered,
    /// The events were not accepted and are dropped as [`Cause::Failed`]. The consumer is kept
    /// until [`Qos::failures`](crate::Qos::failures) consecutive failures.
    Failed,
    /// The events were not accepted and are delivered again after this time. Counts as a failure.
    Retry(Duration),
    /// The consumer cannot accept the events yet; they are delivered again after this time. No
    /// failure.
    Later(Duration),
    /// The consumer no longer exists and is released.
    Gone,
}

/// Reason for which a consumer was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Release {
    /// A delivery returned [`Outcome::Gone`].
    Gone,
    /// Number of consecutive failed deliveries.
    Failures(u32),
    /// Pings were not answered ([`Control`](crate::Control)).
    Unreachable,
}
