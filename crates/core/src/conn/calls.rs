//! Calls of this side over a connection whose requests this side serves, too.

use std::any::Any;
use std::time::{Duration, Instant};

use oxorb_giop::Inbox;

use super::ConnectionEnd;

/// Largest delay with which the time-out of a call is detected.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Maximum number of offers that a client may make over one connection, each different from the one before. Known
/// clients make one, and another one when they listen at further addresses.
pub(crate) const MAX_OFFERS: u32 = 8;

/// Calls of this side over a connection that the server half reads.
pub(crate) trait Calls: Any + Send + Sync {
    /// Passes the reply that the inbox announces to the call that waits for it.
    ///
    /// # Errors
    /// [`ConnectionEnd::Malformed`] if the reply cannot be decoded.
    fn complete(&self, inbox: &mut Inbox) -> Result<(), ConnectionEnd>;

    /// Reports whether a call waits for its answer.
    fn is_awaited(&self) -> bool;

    /// Accepts no more calls, so that they use another connection, unless one waits for its answer. Returns
    /// whether none does. For a connection that is about to be closed.
    fn retire(&self) -> bool;

    /// Fails the calls whose time limit has expired, and notifies the other side. `patience` limits other writes to
    /// this connection.
    fn expire(&self, now: Instant, patience: Option<Duration>);

    /// Accepts no more calls, because the connection has ended. Outstanding calls end with the corresponding exception.
    fn end(&self, ended: ConnectionEnd);
}
