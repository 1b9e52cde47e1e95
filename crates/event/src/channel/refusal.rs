//! Reasons why a channel refuses a request.

use std::fmt;

use crate::FilterError;

/// Reason why a peer could not be connected to a channel.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The dependencies are not a valid filter.
    #[error("the filter is refused: {0}")]
    Filter(FilterError),
    /// The proxy already has a peer, and the channel does not permit another one to replace it.
    #[error(
        "the proxy is already connected; obtain another one, or enable reconnection at the channel"
    )]
    AlreadyConnected,
    /// A limit of the channel was reached. The values are the field of [`Limits`](crate::Limits) and the limit.
    #[error("the channel accepts at most {1} {0} (Limits::{0})")]
    Limit(&'static str, usize),
    /// The client has used its share of the channel ([`Limits::client_share`](crate::Limits)). The value is this share.
    #[error("one client can have at most {0} of them (Limits::client_share)")]
    Share(usize),
    /// The dispatcher refused to create another queue.
    #[error("the queue of the consumer cannot be created: {0}")]
    Queue(oxorb_delivery::OutletConnectError),
    /// A queue was requested, but the channel delivers in the supplier's thread.
    #[error(
        "the channel delivers in the supplier's thread and has no queues: create it with EventChannel::queued"
    )]
    NoQueues,
    /// The system cannot start the thread for timers.
    #[error("the system cannot start the thread for timers")]
    Thread,
    /// The channel was destroyed, or the proxy was disconnected.
    #[error("the channel or the proxy has ended")]
    Destroyed,
}

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reason why events were not accepted.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The connection has ended: the supplier was disconnected or released, or the channel was destroyed.
    #[error("the supplier is no longer connected")]
    NotConnected,
    /// The number of events in one push exceeds `Limits::events`. The value is this limit.
    #[error("more than {0} events in one push (Limits::events)")]
    Events(usize),
    /// The payloads in one push are larger than `Limits::octets`. The value is this limit.
    #[error("more than {0} octets of payload in one push (Limits::octets)")]
    Octets(usize),
    /// Some events exceeded the rate of the supplier. The value is their number. The other events were delivered.
    #[error(
        "{0} {these} beyond the supplier's rate (EventChannel::rates_by)",
        these = if *.0 == 1 { "event is" } else { "events are" }
    )]
    Rate(u64),
    /// The events are being pushed in a circle. The value is the number of nested pushes in this thread. A consumer
    /// made each of these pushes while it handled the previous one.
    #[error(
        "the event is pushed in a cycle: {0} nested pushes of this thread, each made by a consumer of the previous one"
    )]
    Circle(u32),
}

impl fmt::Debug for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
