//! Routes of references that are bound to an ORB.

use oxorb_object::{Ior, SystemException};

use super::Orb;
use crate::client::Selection;
use crate::options::{ClientConnections, Collocation};
use crate::reference::{LaneOf, Route, RouteProfile};

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

impl Orb {
    /// Reports whether the calling thread belongs to the lane that serves calls to the object of `key`: to `lane`, or
    /// to the lane of the call's priority if lanes share an address.
    #[inline]
    fn is_in_lane(&self, lane: LaneOf, key: &[u8], selection: Option<&Selection>) -> bool {
        let Some(here) = self.serving_lane() else {
            return false;
        };
        match self.options().realtime.lanes_on_one_port {
            false => here == lane,
            true => {
                let priority = selection.and_then(Selection::priority);
                here.pool == lane.pool && self.lane_of(key, priority) == Some(here)
            }
        }
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
                    && orb.is_in_lane(lane, &profile.key, selection)
                    && selection.is_none_or(|selection| selection.admits(*index))
            }
        })
    }
}
