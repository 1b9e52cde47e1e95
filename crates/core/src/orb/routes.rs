//! Routes of references that are bound to an ORB.

use oxorb_object::{Ior, SystemException};

use super::Orb;
use crate::options::ClientConnections;
use crate::reference::Route;

impl Orb {
    /// Reads the profiles of an IOR, and finds where they lead.
    pub(crate) fn read_route(&self, ior: &Ior) -> Result<Route, SystemException> {
        let (shared, client) = (self.shared(), self.client());
        let mut route = Route::parse(
            shared,
            |address, key| self.own_address_of(address, key),
            |protocol, address, agreed| client.peer(shared, protocol, address, agreed),
            ior,
        )?;
        let suits = route.suits_fast_calls() && self.makes_fast_calls();
        let counts = self.interceptors().meter.is_some();
        (route.fast, route.counted) = (suits && !counts, suits && counts);
        Ok(route)
    }

    /// Reports whether calls to other processes by the ORB's own policies need no check but that of their connection.
    fn makes_fast_calls(&self) -> bool {
        let shared = self.shared();
        use ClientConnections::{Cached, Private};
        matches!(shared.options.client_connections, Private | Cached)
            && !self.interceptors().see_calls()
            && shared.policies.suit_fast_calls()
    }
}
