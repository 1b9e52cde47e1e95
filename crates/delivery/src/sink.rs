//! Consumers as the dispatcher sees them.

use std::time::Duration;

use crate::Cause;

/// A consumer: takes events from the thread that dispatches them.
///
/// The dispatcher holds no lock during these calls.
pub trait Sink<E>: Send + Sync {
    /// Delivers events to the consumer, from 1 to [`Qos::batch`](crate::Qos::batch) of them, in
    /// order. Must return within a bounded time: meanwhile the outlet occupies this thread. A panic
    /// counts as [`Outcome::Failed`].
    fn deliver(&self, events: &[E]) -> Outcome;

    /// Reports that the consumer was released, once; its events are dropped and counted. Not called
    /// when the service itself [detaches](crate::Outlet::detach) the outlet.
    fn released(&self, why: Release) {
        let _ = why;
    }

    /// Reports an event that was dropped, on the thread that dropped it: the supplier's for a full
    /// queue. Must be short. Events in a batch that failed are reported one by one.
    fn dropped(&self, cause: Cause, event: &E) {
        let _ = (cause, event);
    }
}

/// Result of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All events were taken.
    Delivered,
    /// None was taken; the events are dropped as [`Cause::Failed`], the consumer stays until
    /// [`Qos::failures`](crate::Qos::failures) of these in a row.
    Failed,
    /// None was taken; the same events are delivered again after this time. Counts as a failure.
    Retry(Duration),
    /// The consumer will take the events, but not yet; no failure.
    Later(Duration),
    /// The consumer does not exist any more: it is released.
    Gone,
}

/// Reason for which a consumer was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Release {
    /// A delivery returned [`Outcome::Gone`].
    Gone,
    /// The given number of deliveries failed in a row.
    Failures(u32),
    /// Pings were not answered ([`Control`](crate::Control)).
    Unreachable,
}
