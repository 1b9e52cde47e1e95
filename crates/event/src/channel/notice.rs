use std::fmt;
use std::time::Duration;

use oxorb::SystemException;

use crate::FilterError;
use crate::scheduling::SchedulingError;

/// Entry for the log of a channel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// A consumer's dependencies are no filter: it got `TypeError`.
    FilterRefused(u64, FilterError),
    /// The scheduling service did not take what connecting told it; the peer is connected all the same.
    NotScheduled(u64, SchedulingError),
    /// The system refuses the thread of this name, for this reason: what it looks for from time to time is not found, unless
    /// a later connection begins it.
    NoThread(&'static str, String),
    /// A peer destroyed the channel by its interface: all are disconnected, and its objects are gone. Once, and not for
    /// [`EventChannel::destroy`](crate::EventChannel::destroy) and [`Served::destroy`](crate::Served::destroy).
    Destroyed,
    /// The observer with this handle was let go, for this reason: its object does not exist any more, or it was not reached
    /// as often in a row as [`Control::failures`](crate::Control) says, and who appended it has gone.
    ObserverReleased(u32, SystemException),
    /// A peer was let go.
    Released {
        /// Consumer or supplier.
        side: Side,
        /// The number of its proxy.
        number: u64,
        /// Why.
        why: Released,
    },
}

/// Side of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Gets events.
    Consumer,
    /// Pushes events.
    Supplier,
}

/// Why a peer was let go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Released {
    /// The peer's object does not exist any more.
    Gone,
    /// The given number of calls failed in a row; the last for this reason.
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
