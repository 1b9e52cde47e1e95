//! Connections that carry requests both ways, and the ORB that serves the requests that arrive over them.

use std::sync::Arc;

use oxorb_object::SystemException;
use oxorb_transport::{Address, Link};

use super::Peer;
use crate::conn::{Calls, Offer, Turn};

/// ORB of connections that carry requests both ways, as the client half sees it.
pub(crate) trait BothEnds: Send + Sync + 'static {
    /// Reports whether connections to servers are offered for callbacks.
    fn offers_bidirectional(&self) -> bool;

    /// Serves the requests that arrive over a connection which this side opened for `calls`.
    ///
    /// # Errors
    /// The system refuses a thread, or the ORB was shut down.
    fn serve_both_ways(
        self: Arc<Self>,
        link: Arc<dyn Link>,
        turn: Arc<Turn>,
        calls: Arc<dyn Calls>,
    ) -> Result<(), SystemException>;

    /// Returns the offer of a connection to a server: the GIOP endpoints of this ORB; `None` if it does not listen yet.
    fn offer(&self, to: &dyn Link) -> Option<Offer>;

    /// Returns the peers that speak GIOP at an address.
    fn peers_at(&self, address: &Address) -> Vec<Arc<Peer>>;
}
