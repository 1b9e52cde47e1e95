//! Calls of this side over a connection whose requests this side serves, too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_giop::Inbox;

use super::{Ended, Offer};
use oxorb_object::ServiceContexts;
use oxorb_transport::Address;

/// Longest delay with which the time-out of a call is noticed.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Offers that a client may make over one connection, each different from the one before. Every client known makes one, or
/// another one when it listens at more addresses.
pub(crate) const MAX_OFFERS: u32 = 8;

/// Calls that go the other way over a connection that the server half reads: what that half needs to know of them.
pub(crate) trait Calls: Send + Sync {
    /// Gives the reply that the inbox announces to the call that waits for it.
    ///
    /// # Errors
    /// [`Ended::Malformed`] when it cannot be read.
    fn complete(&self, inbox: &mut Inbox) -> Result<(), Ended>;

    /// Returns whether a call waits for its answer.
    fn is_awaited(&self) -> bool;

    /// Fails the calls whose time is over, and tells the other side. `patience`: how long other writes to this
    /// connection may take.
    fn expire(&self, now: Instant, patience: Option<Duration>);

    /// Takes no more calls: the connection is over. Those outstanding end with the exception for that.
    fn end(&self, ended: Ended);

    /// Returns whether the client made its last offer by the same contexts.
    fn has_offer(&self, contexts: &ServiceContexts<'_>) -> bool;

    /// Notes the offer that the client made; false when it has made too many different ones ([`MAX_OFFERS`]).
    fn set_offer(&self, offer: Offer) -> bool;

    /// Returns whether calls to an address can go over this connection: no other one is in use for it.
    fn may_lead_to(self: Arc<Self>, address: &Address) -> bool;

    /// Sends calls to an address over this connection from now on; false when another one is in use
    /// for it.
    fn lead_to(self: Arc<Self>, address: &Address) -> bool;
}

/// Reader of a connection, where that may be a thread that waits for something else.
pub(crate) trait Reader: Send + Sync {
    /// Finds a reader for the answer that a call now waits for.
    fn awaits_answer(&self);
}
