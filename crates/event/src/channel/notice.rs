use std::fmt;
use std::time::Duration;

use oxorb::SystemException;

use crate::FilterError;
use crate::scheduling::SchedulingError;

/// An entry in the log of a channel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// The dependencies of a consumer were not a valid filter. The consumer received `TypeError`.
    FilterRefused(u64, FilterError),
    /// The scheduling service rejected a report about a connection. The peer is connected nevertheless.
    NotScheduled(u64, SchedulingError),
    /// The system could not start the thread with this name, for this reason. Its periodic work is not done until a
    /// later connection starts the thread.
    NoThread(&'static str, String),
    /// A peer destroyed the channel through the channel's interface. All members were disconnected, and the channel's
    /// objects no longer exist. Logged once, but not if the owner called
    /// [`EventChannel::destroy`](crate::EventChannel::destroy) or [`Served::destroy`](crate::Served::destroy).
    Destroyed,
    /// The observer with this handle was released because of this exception: either its object no longer exists, or
    /// [`Control::failures`](crate::Control) consecutive calls did not reach it and the client that added it has
    /// disconnected.
    ObserverReleased(u32, SystemException),
    /// A peer was released.
    Released {
        /// Whether the peer was a consumer or a supplier.
        side: Side,
        /// Number of the peer's proxy.
        number: u64,
        /// Reason.
        why: Released,
    },
}

/// Side of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that receives events.
    Consumer,
    /// The side that pushes events.
    Supplier,
}

/// Reason why a peer was released.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Released {
    /// The peer's object no longer exists.
    Gone,
    /// Several consecutive calls failed. The values are their number and the exception of the last call.
    Failures(u32, SystemException),
    /// The supplier had connected with nil, and pushed no event for this time
    /// ([`ChannelOptions::supplier_idle`](crate::ChannelOptions)).
    Silent(Duration),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::FilterRefused(number, why) => {
                write!(f, "consumer {number}: the filter is refused: {why}")
            }
            Notice::NotScheduled(number, why) => {
                write!(f, "connection {number} is not scheduled: {why}")
            }
            Notice::NoThread(name, why) => {
                write!(f, "the system cannot start the thread {name}: {why}")
            }
            Notice::ObserverReleased(handle, why) => {
                write!(f, "observer {handle} was released, because it could not be reached: {why}")
            }
            Notice::Destroyed => f.write_str("a client destroyed the channel"),
            Notice::Released { side, number, why } => {
                let side = match side {
                    Side::Consumer => "consumer",
                    Side::Supplier => "supplier",
                };
                match why {
                    Released::Silent(time) => write!(
                        f,
                        "{side} {number} was released: it has no object that could be queried, and pushed nothing for \
                         {time:?}"
                    ),
                    Released::Gone => {
                        write!(f, "{side} {number} was released: its object no longer exists")
                    }
                    Released::Failures(count, last) => write!(
                        f,
                        "{side} {number} was released after {count} consecutive failures: {last}"
                    ),
                }
            }
        }
    }
}
