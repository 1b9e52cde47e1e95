use std::fmt;
use std::time::Duration;

use oxorb::SystemException;

use crate::FilterError;
use crate::scheduling::SchedulingError;

/// Entry of a channel's log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// A consumer's dependencies are not a valid filter; the consumer received `TypeError`.
    FilterRefused(u64, FilterError),
    /// The scheduling service rejected a report about a connection; the peer is connected all the same.
    NotScheduled(u64, SchedulingError),
    /// The system could not start the thread of this name, for this reason: its periodic work is not done, unless a
    /// later connection starts the thread.
    NoThread(&'static str, String),
    /// A peer destroyed the channel through the channel's interface: all members are disconnected, and the channel's
    /// objects no longer exist. Logged once, and not for [`EventChannel::destroy`](crate::EventChannel::destroy) and
    /// [`Served::destroy`](crate::Served::destroy).
    Destroyed,
    /// The observer with this handle was released, for this reason: its object no longer exists, or
    /// [`Control::failures`](crate::Control) consecutive calls did not reach it and the client that added it has left.
    ObserverReleased(u32, SystemException),
    /// A peer was released.
    Released {
        /// Consumer or supplier.
        side: Side,
        /// Number of its proxy.
        number: u64,
        /// Reason.
        why: Released,
    },
}

/// Side of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Side that receives events.
    Consumer,
    /// Side that pushes events.
    Supplier,
}

/// Reason for which a peer was released.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Released {
    /// The peer's object no longer exists.
    Gone,
    /// Number of consecutive calls that failed, and the exception of the last one.
    Failures(u32, SystemException),
    /// The supplier connected with nil and pushed nothing for this time
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
                write!(f, "the system refuses the thread {name}: {why}")
            }
            Notice::ObserverReleased(handle, why) => {
                write!(f, "observer {handle} is let go: it was not reached: {why}")
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
                        "{side} {number} is let go: it has no object to ask, and pushed nothing for {time:?}"
                    ),
                    Released::Gone => write!(f, "{side} {number} is let go: its object is gone"),
                    Released::Failures(count, last) => write!(
                        f,
                        "{side} {number} is let go after {count} failures in a row: {last}"
                    ),
                }
            }
        }
    }
}
