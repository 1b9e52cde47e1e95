//! Why a channel did not do what it was asked.

use std::fmt;

use crate::FilterError;

/// Why somebody could not be connected to a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The dependencies are no filter.
    Filter(FilterError),
    /// The proxy has a peer already, and may not have another one.
    AlreadyConnected,
    /// The channel has as many as it may: which field of [`Limits`](crate::Limits), and how many that is.
    Limit(&'static str, usize),
    /// The queues take no more.
    Queue(oxorb_delivery::ConnectError),
    /// A queue was asked for, and the channel delivers in the supplier's thread.
    NoQueues,
    /// The system gives no thread for timers.
    Thread,
    /// The channel was destroyed, or the proxy disconnected.
    Destroyed,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::Filter(why) => write!(f, "the filter is refused: {why}"),
            ConnectError::AlreadyConnected => f.write_str(
                "the proxy is connected already; obtain another one, or let the channel reconnect",
            ),
            ConnectError::Limit(which, limit) => {
                write!(
                    f,
                    "the channel takes at most {limit} {which} (Limits::{which})"
                )
            }
            ConnectError::Queue(why) => write!(f, "the consumer gets no queue: {why}"),
            ConnectError::NoQueues => f.write_str(
                "the channel delivers in the supplier's thread and has no queues: make it with EventChannel::queued",
            ),
            ConnectError::Thread => f.write_str("the system gives no thread for timers"),
            ConnectError::Destroyed => f.write_str("the channel or the proxy has ended"),
        }
    }
}

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConnectError {}

/// Why events were not taken.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushError {
    /// The connection has ended: disconnected, let go, or the channel was destroyed.
    NotConnected,
    /// More events in one push than `Limits::events`.
    Events(usize),
    /// More octets of payload in one push than `Limits::octets`.
    Octets(usize),
    /// Number of events beyond the rate of the supplier; the others were delivered.
    Rate(u64),
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PushError::NotConnected => f.write_str("the supplier is not connected any more"),
            PushError::Events(limit) => {
                write!(f, "more than {limit} events in one push (Limits::events)")
            }
            PushError::Rate(events) => {
                let these = if *events == 1 { "event is" } else { "events are" };
                write!(f, "{events} {these} beyond the supplier's rate (EventChannel::rates_by)")
            }
            PushError::Octets(limit) => {
                write!(f, "more than {limit} octets of payload in one push (Limits::octets)")
            }
        }
    }
}

impl fmt::Debug for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for PushError {}
