//! The server half of an ORB: what it listens at, and who serves what comes.

use std::sync::OnceLock;

use oxorb_transport::Address;

use super::{Connection, DispatchingModules, Followers, Listeners, Pools, Registry, Takeover};
use crate::lock::Mutex;
use crate::own_address::OwnAddress;
use crate::published::PublishedAddress;
use crate::setup_error::SetupError;
use crate::shared::Shared;
use crate::sync::MutexGuard;

/// State of the server half.
#[derive(Default)]
pub(crate) struct ServerSide {
    pub(crate) listeners: Listeners,
    /// Addresses of the ORB; opened when the first object needs one.
    pub(crate) published: OnceLock<Vec<PublishedAddress>>,
    opening: Mutex<()>,
    pub(crate) pools: Pools,
    pub(crate) registry: Registry,
    /// Threads that take over connections that have threads of their own.
    pub(crate) followers: Followers<Connection>,
    pub(crate) takeover: Takeover,
    /// Dispatching modules of the run-time scheduler; started before the first connection is accepted.
    pub(crate) modules: OnceLock<Option<DispatchingModules>>,
}

impl ServerSide {
    /// Returns the dispatching modules, where there are any.
    #[inline]
    pub(crate) fn modules(&self) -> Option<&DispatchingModules> {
        self.modules.get()?.as_ref()
    }

    /// Starts the dispatching modules, if that has not happened yet.
    pub(crate) fn start_modules(&self, shared: &Shared) -> Result<(), SetupError> {
        if self.modules.get().is_none() {
            let started = DispatchingModules::start(shared).map_err(SetupError::Threads)?;
            // If somebody was quicker, these end unused.
            let _ = self.modules.set(started);
        }
        Ok(())
    }

    /// Takes the turn to open endpoints; as long as the guard lives, no other thread opens any.
    pub(crate) fn opening(&self) -> MutexGuard<'_, ()> {
        self.opening.lock()
    }

    /// Returns which of our addresses one is.
    pub(crate) fn own_address(&self, address: &Address) -> OwnAddress {
        let own = |at: &PublishedAddress| address.leads_to(&at.address);
        let published = self.published.get();
        if published.is_some_and(|addresses| addresses.iter().any(own)) {
            return OwnAddress::Orb;
        }
        self.pools.own_address(address)
    }

    /// Takes nothing more: neither connections nor requests.
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
