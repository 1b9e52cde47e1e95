//! Server half of an ORB: its endpoints, threads and connections.

use std::sync::{Arc, OnceLock};

use oxorb_transport::Address;

use super::connection::Connection;
use super::followers::Followers;
use super::takeover::Takeover;
use super::{Listeners, Pools, Registry};
use crate::monitoring::metrics::LaneState;
use crate::options::Options;
use crate::reference::{OwnAddress, PublishedAddress};
use crate::shared::Shared;
use crate::threads::lock::Mutex;
use crate::threads::sync::MutexGuard;

/// State that all connections, lanes and listeners share.
///
/// It does not know the ORB: the threads that serve requests have both.
pub(crate) struct ServerSide {
    /// State that the client half uses, too.
    pub(crate) shared: Arc<Shared>,
    pub(crate) listeners: Listeners,
    /// Addresses at which this process connects to each of [`Shared::published`].
    pub(crate) own_places: OnceLock<Vec<Address>>,
    opening: Mutex<()>,
    pub(crate) pools: Pools,
    pub(crate) registry: Registry,
    /// Threads that take over connections with their own threads.
    pub(crate) followers: Followers<Connection>,
    pub(crate) takeover: Takeover,
}

impl ServerSide {
    pub(crate) fn new(shared: &Arc<Shared>) -> ServerSide {
        ServerSide {
            shared: Arc::clone(shared),
            listeners: Listeners::default(),
            own_places: OnceLock::new(),
            opening: Mutex::default(),
            pools: Pools::default(),
            registry: Registry::default(),
            followers: Followers::default(),
            takeover: Takeover::default(),
        }
    }

    /// Returns the configuration.
    pub(crate) fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Reports whether the ORB was shut down or a shutdown has begun.
    pub(crate) fn is_closing(&self) -> bool {
        self.shared.is_closing()
    }

    /// Locks the opening of endpoints until the guard is dropped.
    pub(crate) fn opening(&self) -> MutexGuard<'_, ()> {
        self.opening.lock()
    }

    /// Classifies an address: whether this ORB, or a lane of it, listens at the address.
    pub(crate) fn own_address(&self, address: &Address) -> OwnAddress {
        let own = |at: &PublishedAddress| address.leads_to(&at.address);
        let published = self.shared.published.get();
        if published.is_some_and(|addresses| addresses.iter().any(own)) {
            return OwnAddress::Orb;
        }
        self.pools.own_address(address)
    }

    /// Returns the address at which this process connects to an address that the ORB publishes.
    pub(crate) fn own_place(&self, address: &Address) -> Option<Address> {
        let own = |at: &PublishedAddress| address.leads_to(&at.address);
        let at = self.shared.published.get()?.iter().position(own)?;
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
