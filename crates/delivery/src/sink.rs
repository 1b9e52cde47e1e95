//! Sinks, through which the dispatcher calls consumers.

use std::time::Duration;

use crate::Cause;

/// A consumer, which receives events on the dispatching thread.
///
/// The dispatcher holds no lock during these calls.
pub trait Sink<E>: Send + Sync {
    /// Delivers 1 to [`Qos::batch`](crate::Qos::batch) events to the consumer, in order. Must return within a bounded
    /// time, because it occupies the dispatching thread. A panic counts as [`Outcome::Failed`].
    fn deliver(&self, events: &[E]) -> Outcome;

    /// Reports that the consumer was released. Its waiting events are dropped and counted. Called at most once, and not
    /// when the service itself [detaches](crate::Outlet::detach) the outlet.
    fn released(&self, why: Release) {
        let _ = why;
    }

    /// Reports a dropped event, on the thread that dropped it: for a full queue, the supplier's thread. Must return
    /// quickly. The events of a failed batch are reported one by one.
    fn dropped(&self, cause: Cause, event: &E) {
        let _ = (cause, event);
    }
}

/// Result of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The consumer accepted all events.
    Delivered,
    /// The consumer did not accept the events, and they are dropped as [`Cause::Failed`]. The consumer is released
    /// after [`Qos::failures`](crate::Qos::failures) consecutive failures.
    Failed,
    /// The consumer did not accept the events. They are delivered again after this time. Counts as a failure.
    Retry(Duration),
    /// The consumer cannot accept the events yet. They are delivered again after this time. Does not count as a
    /// failure.
    Later(Duration),
    /// The consumer no longer exists and is released.
    Gone,
}

/// Reason why a consumer was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Release {
    /// A delivery returned [`Outcome::Gone`].
    Gone,
    /// The consumer failed to accept this number of consecutive deliveries.
    Failures(u32),
    /// The consumer did not answer pings ([`Control`](crate::Control)).
    Unreachable,
}
