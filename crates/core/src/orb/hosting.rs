//! The ORB as its server half knows it: [`Host`].

use std::sync::Arc;

use oxorb_giop::{Frame, Inbox};
use oxorb_object::ServiceContexts;
use oxorb_rt::Priority;
use oxorb_transport::Link;

use super::{Inner, Orb};
use crate::options::PoolThread;
use crate::reference::LaneOf;
use crate::scheduler::Scheduled;
use crate::scheduler::budget::Described;
use crate::server::{
    self, Caller, Connection, ConnectionOwner, DispatchingModules, Followers, Host, Keeper, Lane,
    Parts, Registry, SessionStep, Sink, Takeover,
};
use crate::shared::Shared;
use crate::threads::sync::attributed::Builder;

impl Parts for Orb {
    #[inline]
    fn shared(&self) -> &Shared {
        &self.inner.shared
    }

    #[inline]
    fn registry(&self) -> &Registry {
        &self.inner.server.registry
    }

    fn followers(&self) -> &Followers<Connection> {
        &self.inner.server.followers
    }

    #[inline]
    fn takeover(&self) -> &Takeover {
        &self.inner.server.takeover
    }

    #[inline]
    fn modules(&self) -> Option<&DispatchingModules> {
        self.inner.server.modules()
    }

    fn give_up_opened(&self, any: bool) {
        self.inner.give_up_opened(any);
    }
}

impl Host for Orb {
    #[inline]
    fn dispatch(
        &self,
        inbox: &Inbox,
        frame: &Frame<'_>,
        caller: Caller<'_>,
        sink: &mut Sink,
    ) -> SessionStep {
        server::dispatch(self, inbox, frame, caller, sink)
    }

    fn lane(&self, picked: PoolThread) -> Option<Arc<Lane>> {
        self.inner.server.pools.lane(picked)
    }

    fn lane_of(&self, key: &[u8], priority: Option<Priority>) -> Option<LaneOf> {
        Orb::lane_of(self, key, priority)
    }

    fn lane_named(&self, name: LaneOf) -> Option<Arc<Lane>> {
        self.inner.server.pools.named(name)
    }

    fn extreme_lanes(&self) -> Option<(Arc<Lane>, Arc<Lane>)> {
        self.inner.server.pools.extremes()
    }

    fn set_up_for(&self, lane: &Arc<Lane>, link: &dyn Link, tag: u32) {
        self.inner.server.pools.set_up(lane, link, tag);
    }

    fn consider_offer(&self, caller: &mut Caller<'_>, key: &[u8], contexts: &ServiceContexts<'_>) {
        Orb::consider_offer(self, caller, key, contexts);
    }

    fn describe(&self, key: &[u8], look: &mut dyn FnMut(Described<'_>)) {
        if let Some(adapter) = self.adapter() {
            adapter.describe(key, look);
        }
    }

    fn scheduled(&self, key: &[u8]) -> Option<Scheduled> {
        self.adapter()?.scheduled(key)
    }

    fn keeper(&self) -> Arc<dyn Keeper> {
        Arc::<Inner>::clone(&self.inner)
    }
}

impl Parts for Inner {
    #[inline]
    fn shared(&self) -> &Shared {
        &self.shared
    }

    #[inline]
    fn registry(&self) -> &Registry {
        &self.server.registry
    }

    fn followers(&self) -> &Followers<Connection> {
        &self.server.followers
    }

    #[inline]
    fn takeover(&self) -> &Takeover {
        &self.server.takeover
    }

    #[inline]
    fn modules(&self) -> Option<&DispatchingModules> {
        self.server.modules()
    }

    fn give_up_opened(&self, any: bool) {
        self.client.give_up_idle(any);
    }
}

impl Keeper for Inner {
    fn take_over(
        self: Arc<Self>,
        builder: Builder,
        owner: ConnectionOwner,
        connection: Connection,
        last: fn(),
    ) -> Result<(), Option<Box<Connection>>> {
        server::start_takeover(builder, &Orb { inner: self }, owner, connection, last)
    }

    fn serve_detached(self: Arc<Self>, connection: &mut Connection, owner: &ConnectionOwner) {
        connection.serve_detached(&Orb { inner: self }, owner);
    }
}
