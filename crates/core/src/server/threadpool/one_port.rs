//! Lanes that share the ORB's own endpoints ([`RealTime::lanes_on_one_port`](crate::RealTime::lanes_on_one_port)).

use std::sync::Arc;

use oxorb_rt::Priority;
use oxorb_transport::{Link, tcp};

use super::error::ThreadpoolError;
use super::plan::Threadpool;
use super::{Pool, Pools};
use crate::protocol::ProtocolStack;
use crate::reference::LaneOf;
use crate::server::lane::Lane;
use crate::shared::Shared;
use crate::threads::rt::{Serving, ThreadpoolId};

impl Threadpool {
    /// Checks that the lanes can share the ORB's endpoints, if they do.
    pub(super) fn check_one_port(&self, shared: &Shared) -> Result<(), ThreadpoolError> {
        let wrong = |why| Err(ThreadpoolError::BadParameter(why));
        let options = &shared.options;
        if !options.realtime.lanes_on_one_port {
            return Ok(());
        }
        if self.front.is_some() {
            return wrong(
                "the lanes share the ports of the ORB (-ORBLanesOnOnePort): remove the front",
            );
        }
        if !options.realtime.lane_endpoints.is_empty() {
            return wrong(
                "the lanes share the ports of the ORB (-ORBLanesOnOnePort): remove -ORBLaneListenEndpoints",
            );
        }
        if self.serving == Serving::ThreadPerConnection {
            return wrong(
                "requests are passed from lane to lane at one port (-ORBLanesOnOnePort), so a lane needs threads that \
                 accept them: choose a concurrency other than a thread for each connection",
            );
        }
        for endpoint in options.endpoints()? {
            if !can_share(options.protocol_at(&endpoint)?) {
                return wrong(
                    "lanes can share only ports of TCP and TLS (-ORBLanesOnOnePort): remove other endpoints from \
                     -ORBListenEndpoints",
                );
            }
        }
        Ok(())
    }
}

/// Reports whether the first octets of a connection can be read before its lane is known.
fn can_share(protocol: &ProtocolStack) -> bool {
    let transport = protocol.transport();
    protocol.messaging().is_none()
        && transport.facts().stream
        && (transport.scheme() == tcp::SCHEME || transport.is_secure())
}

impl Pools {
    /// Returns a lane. Takes no lock.
    pub(crate) fn named(&self, name: LaneOf) -> Option<Arc<Lane>> {
        let lanes = self.shown.load();
        let is_it = |lane: &&Arc<Lane>| (lane.plan.pool, lane.plan.lane) == (name.pool, name.lane);
        lanes.iter().find(is_it).map(Arc::clone)
    }

    /// Returns the least urgent and the most urgent lane, if there are any. Takes no lock.
    pub(crate) fn extremes(&self) -> Option<(Arc<Lane>, Arc<Lane>)> {
        let lanes = self.shown.load();
        let least = lanes.iter().min_by_key(|lane| lane.priority())?;
        let most = lanes.iter().max_by_key(|lane| lane.priority())?;
        Some((Arc::clone(least), Arc::clone(most)))
    }

    /// Applies the properties of a lane's connections to one that another thread accepted.
    pub(crate) fn set_up(&self, lane: &Arc<Lane>, link: &dyn Link, tag: u32) {
        let pool = self.lock().get(&ThreadpoolId(lane.plan.pool)).map(Arc::clone);
        if let Some(pool) = pool {
            pool.set_up(lane, link, tag);
        }
    }

    /// Reports whether a threadpool has a lane of a `wanted` priority, or no lanes; `None` if there is no such
    /// threadpool.
    pub(crate) fn has_lane(
        &self,
        id: ThreadpoolId,
        wanted: impl Fn(Priority) -> bool,
    ) -> Option<bool> {
        let pool = Arc::clone(self.lock().get(&id)?);
        Some(!pool.has_lanes || pool.lanes.iter().any(|open| wanted(open.priority)))
    }
}

impl Pool {
    fn set_up(&self, lane: &Arc<Lane>, link: &dyn Link, tag: u32) {
        let mut lanes = self.lanes.iter();
        if let Some(open) = lanes.find(|open| Arc::ptr_eq(&open.lane, lane)) {
            open.listeners.set_up(link, tag);
        }
    }
}
