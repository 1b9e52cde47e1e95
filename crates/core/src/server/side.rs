//! Server half of an ORB: its endpoints, threads and connections.

use std::sync::OnceLock;

use oxorb_transport::Address;

use super::{Connection, DispatchingModules, Followers, Listeners, Pools, Registry, Takeover};
use crate::error::SetupError;
use crate::monitoring::metrics::LaneState;
use crate::reference::{OwnAddress, PublishedAddress};
use crate::shared::Shared;
use crate::threads::lock::Mutex;
use crate::threads::sync::MutexGuard;

/// State of the server half.
#[derive(Default)]
pub(crate) struct ServerSide {
    pub(crate) listeners: Listeners,
    /// Addresses of the ORB; set when the first object needs one.
    pub(crate) published: OnceLock<Vec<PublishedAddress>>,
    /// Addresses at which this process connects to each of `published`.
    pub(crate) own_places: OnceLock<Vec<Address>>,
    opening: Mutex<()>,
    pub(crate) pools: Pools,
    pub(crate) registry: Registry,
    /// Threads that take over connections with their own threads.
    pub(crate) followers: Followers<Connection>,
    pub(crate) takeover: Takeover,
    /// Dispatching modules of the run-time scheduler; started before the first connection is accepted.
    pub(crate) modules: OnceLock<Option<DispatchingModules>>,
}

impl ServerSide {
    /// Returns the dispatching modules, if there are any.
    #[inline]
    pub(crate) fn modules(&self) -> Option<&DispatchingModules> {
        self.modules.get()?.as_ref()
    }

    /// Starts the dispatching modules, if not started yet.
    pub(crate) fn start_modules(&self, shared: &Shared) -> Result<(), SetupError> {
        if self.modules.get().is_none() {
            let started = DispatchingModules::start(shared).map_err(SetupError::Threads)?;
            // If another thread was faster, the modules that this thread started end unused.
            let _ = self.modules.set(started);
        }
        Ok(())
    }

    /// Locks the opening of endpoints until the guard is dropped.
    pub(crate) fn opening(&self) -> MutexGuard<'_, ()> {
        self.opening.lock()
    }

    /// Classifies an address: whether this ORB, or a lane of it, listens at the address.
    pub(crate) fn own_address(&self, address: &Address) -> OwnAddress {
        let own = |at: &PublishedAddress| address.leads_to(&at.address);
        let published = self.published.get();
        if published.is_some_and(|addresses| addresses.iter().any(own)) {
            return OwnAddress::Orb;
        }
        self.pools.own_address(address)
    }

    /// Returns the address at which this process connects to an address that the ORB publishes.
    pub(crate) fn own_place(&self, address: &Address) -> Option<Address> {
        let own = |at: &PublishedAddress| address.leads_to(&at.address);
        let at = self.published.get()?.iter().position(own)?;
        self.own_places.get()?.get(at).cloned()
    }

    /// Returns the state of each lane: of the ORB's own threads, if connections share them, and of all threadpools.
    pub(crate) fn lane_states(&self) -> Vec<LaneState> {
        let own = self.listeners.lane().map(|lane| lane.state());
        own.into_iter().chain(self.pools.lane_states()).collect()
    }

    /// Stops accepting connections and requests.
    pub(crate) fn close(&self) {
        self.listeners.close();
        self.pools.close();
        self.registry.close();
        self.takeover.wake();
    }

    /// Ends the threads, after the last request.
    pub(crate) fn end(&self) {
        self.listeners.end();
        self.followers.end();
        self.pools.end();
    }
}
