//! Why a channel did not do what it was asked.

use std::fmt;

use crate::FilterError;

/// Why somebody could not be connected to a channel.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The dependencies are no filter.
    #[error("the filter is refused: {0}")]
    Filter(FilterError),
    /// The proxy has a peer already, and may not have another one.
    #[error("the proxy is connected already; obtain another one, or let the channel reconnect")]
    AlreadyConnected,
    /// The channel has as many as it may: which field of [`Limits`](crate::Limits), and how many that is.
    #[error("the channel takes at most {1} {0} (Limits::{0})")]
    Limit(&'static str, usize),
    /// The client has its share of what the channel may have ([`Limits::client_share`](crate::Limits)), which is so many.
    #[error("one client gets at most {0} of them (Limits::client_share)")]
    Share(usize),
    /// The queues take no more.
    #[error("the consumer gets no queue: {0}")]
    Queue(oxorb_delivery::ConnectError),
    /// A queue was asked for, and the channel delivers in the supplier's thread.
    #[error(
        "the channel delivers in the supplier's thread and has no queues: make it with EventChannel::queued"
    )]
    NoQueues,
    /// The system gives no thread for timers.
    #[error("the system gives no thread for timers")]
    Thread,
    /// The channel was destroyed, or the proxy disconnected.
    #[error("the channel or the proxy has ended")]
    Destroyed,
}

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why events were not taken.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The connection has ended: disconnected, let go, or the channel was destroyed.
    #[error("the supplier is not connected any more")]
    NotConnected,
    /// More events in one push than `Limits::events`.
    #[error("more than {0} events in one push (Limits::events)")]
    Events(usize),
    /// More octets of payload in one push than `Limits::octets`.
    #[error("more than {0} octets of payload in one push (Limits::octets)")]
    Octets(usize),
    /// Number of events beyond the rate of the supplier; the others were delivered.
    #[error(
        "{0} {these} beyond the supplier's rate (EventChannel::rates_by)",
        these = if *.0 == 1 { "event is" } else { "events are" }
    )]
    Rate(u64),
    /// Pushes that this thread is in already, each made by a consumer of the one before: the event goes in a circle.
    #[error(
        "the event goes in a circle: {0} pushes of this thread are each made by a consumer of the one before"
    )]
    Circle(u32),
}

impl fmt::Debug for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
