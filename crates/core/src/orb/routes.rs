//! Routes of references that are bound to an ORB.

use oxorb_object::{Ior, SystemException};

use super::Orb;
use crate::client::Selection;
use crate::options::{ClientConnections, Collocation};
use crate::reference::{Route, RouteProfile};

impl Orb {
    /// Reads the profiles of an IOR, and finds where they lead.
    pub(crate) fn read_route(&self, ior: &Ior) -> Result<Route, SystemException> {
        let (shared, client) = (self.shared(), self.client());
        let mut route = Route::parse(
            shared,
            |address| self.own_address(address),
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

impl Route {
    /// Returns a profile of this process whose requests may run in the calling thread, with its index. Requests of a
    /// lane run in the lane's threads only, as in TAO: a call from any other thread goes through the lane.
    #[inline]
    pub(crate) fn local(
        &self,
        orb: &Orb,
        selection: Option<&Selection>,
    ) -> Option<(usize, &RouteProfile)> {
        let mut profiles = self.profiles.iter().enumerate();
        profiles.find(|(index, profile)| match (&profile.peer, profile.lane) {
            (None, _) => true,
            (_, None) => false,
            (_, Some(lane)) => {
                orb.options().collocation != Collocation::None
                    && orb.serving_lane() == Some(lane)
                    && selection.is_none_or(|selection| selection.admits(*index))
            }
        })
    }
}
