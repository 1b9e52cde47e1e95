//! Threadpools: lanes with a priority each, on ports of their own or on the ORB's (RT-CORBA 1.2, 5.7). `open.rs` starts
//! their threads.

mod drops;
mod error;
mod front;
mod napi;
mod one_port;
mod open;
mod plan;
mod steering;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use oxorb_object::CompletionStatus;
use oxorb_rt::Priority;
use oxorb_transport::Address;

use self::front::OpenFront;
use self::napi::LaneNapi;
use super::lane::Lane;
use super::lane_memory::LaneMemory;
use super::listener::Listeners;
use super::registry::Registry;
use crate::PoolThread;
use crate::conn::TICK;
use crate::error::raise;
use crate::monitoring::metrics::LaneState;
use crate::policy::ProtocolList;
use crate::reference::{LaneOf, OwnAddress, PublishedAddress};
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::rt::{Serving, ThreadpoolId};
use crate::threads::sync::MutexGuard;
use crate::threads::sync::atomic::AtomicU32;

pub use drops::{DropError, DropRule, DropRules};
pub use error::ThreadpoolError;
pub use plan::{QueueOrder, RequestBuffering, Threadpool, ThreadpoolLane};
pub use steering::Steering;

/// Longest time that destroying a threadpool waits for running requests.
const LAST_REQUESTS: Duration = Duration::from_secs(30);

/// Time within which its threads have to end after their connections were closed.
const LAST_THREADS: Duration = Duration::from_secs(2);

/// Description of a threadpool of an ORB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadpoolLanes {
    /// Whether the pool's threads keep the priority of their lane.
    pub has_lanes: bool,
    /// Priority of each lane, in the order given; without lanes the default priority.
    pub priorities: Vec<Priority>,
    /// Period of each lane if they are [rate groups](Threadpool::rate_groups); empty otherwise.
    pub periods: Vec<Duration>,
    /// Assignment of requests to threads.
    pub serving: Serving,
    /// Buffers of each lane; empty without [preallocated ones](Threadpool::message_buffers).
    pub memory: Vec<LaneMemory>,
}

/// All threadpools of one ORB.
#[derive(Default)]
pub(crate) struct Pools {
    pools: Mutex<BTreeMap<ThreadpoolId, Arc<Pool>>>,
    /// Lanes of all threadpools, for metrics. The thread that makes a page must not hold the lock of `pools`, because
    /// it has the lowest priority.
    shown: ArcSwap<Vec<Arc<Lane>>>,
    last: AtomicU32,
    /// Number of lanes of all threadpools so far, in the order of creation, which determines their ports.
    lanes: AtomicU32,
}

/// Threadpool.
pub(crate) struct Pool {
    has_lanes: bool,
    periods: Vec<Duration>,
    serving: Serving,
    lanes: Vec<OpenLane>,
    front: OpenFront,
    napi: LaneNapi,
}

struct OpenLane {
    lane: Arc<Lane>,
    priority: Priority,
    listeners: Listeners,
    addresses: Vec<PublishedAddress>,
    /// Addresses at which this process connects to each of `addresses`.
    at: Vec<Address>,
    /// Whether none of its ports was chosen by the system.
    fixed: bool,
}

/// Addresses of a threadpool, for references.
pub(crate) struct PoolAddresses {
    /// Addresses, with the priority of the lane behind each.
    pub(crate) addresses: Vec<(PublishedAddress, Priority)>,
    pub(crate) has_lanes: bool,
}

impl Pools {
    /// Returns the lane that a filter has chosen, if it exists.
    pub(crate) fn lane(&self, picked: PoolThread) -> Option<Arc<Lane>> {
        let pool = Arc::clone(self.lock().get(&picked.pool)?);
        Some(Arc::clone(&pool.lanes.get(picked.lane)?.lane))
    }

    /// Returns the lane of a threadpool whose only thread serves requests for objects at `priority`; `None` for any
    /// priority.
    ///
    /// # Errors
    /// The reason why no single thread serves them.
    pub(crate) fn of_one_thread(
        &self,
        id: ThreadpoolId,
        priority: Option<Priority>,
    ) -> Result<(LaneOf, Arc<Lane>), &'static str> {
        let pool = self.lock().get(&id).map(Arc::clone);
        let pool = pool.ok_or("its threadpool no longer exists")?;
        let found = match (pool.lanes.as_slice(), priority) {
            ([only], _) => Some(only),
            (lanes, Some(priority)) => lanes.iter().find(|lane| lane.priority == priority),
            (_, None) => None,
        };
        let open = found.ok_or(
            "its threadpool has several lanes, and no policy selects the lane that serves the object: declare the \
             priority of one (PriorityModel::ServerDeclared without bands)",
        )?;
        open.lane.is_one_thread()?;
        let name = LaneOf { pool: id.0, lane: open.lane.plan.lane };
        Ok((name, Arc::clone(&open.lane)))
    }

    /// Returns a lane.
    pub(crate) fn of_lane(&self, name: LaneOf) -> Option<Arc<Lane>> {
        let pool = Arc::clone(self.lock().get(&ThreadpoolId(name.pool))?);
        let mut lanes = pool.lanes.iter();
        let open = lanes.find(|lane| lane.lane.plan.lane == name.lane)?;
        Some(Arc::clone(&open.lane))
    }

    pub(crate) fn addresses(
        &self,
        id: ThreadpoolId,
        wanted: impl Fn(Priority) -> bool,
    ) -> Option<PoolAddresses> {
        let pool = Arc::clone(self.lock().get(&id)?);
        let lanes = pool.lanes.iter().filter(|lane| !pool.has_lanes || wanted(lane.priority));
        let addresses = lanes.flat_map(|lane| {
            let each = lane.addresses.iter();
            each.map(|address| (address.clone(), lane.priority))
        });
        // The addresses of the front come first, for clients that use only the first address.
        let least = pool.lanes[pool.front.least].priority;
        let all = pool.lanes.iter().all(|lane| wanted(lane.priority));
        let front = pool.front.addresses.iter().filter(|_| all);
        let front = front.map(|address| (address.clone(), least));
        let addresses = front.chain(addresses);
        Some(PoolAddresses { addresses: addresses.collect(), has_lanes: pool.has_lanes })
    }

    /// Returns the lane that is published at an address.
    pub(crate) fn own_address(&self, address: &Address) -> OwnAddress {
        let own = |at: &PublishedAddress| address.leads_to(&at.address);
        let pools = self.lock();
        for (id, pool) in pools.iter() {
            let least = &pool.lanes[pool.front.least];
            if pool.front.is_at(address)
                && let Some(at) = least.at.first()
            {
                let name = LaneOf { pool: id.0, lane: least.lane.plan.lane };
                return OwnAddress::Lane(name, at.clone());
            }
        }
        for (pool, lane) in
            pools.iter().flat_map(|(id, pool)| pool.lanes.iter().map(move |lane| (id, lane)))
        {
            if let Some(at) = lane.addresses.iter().position(own) {
                let name = LaneOf { pool: pool.0, lane: lane.lane.plan.lane };
                return OwnAddress::Lane(name, lane.at[at].clone());
            }
        }
        OwnAddress::No
    }

    /// Sets the largest send rate of connections that a threadpool accepts from now on, in octets per second.
    pub(crate) fn set_bandwidth(&self, id: ThreadpoolId, octets: NonZeroU32) {
        if let Some(pool) = self.lock().get(&id) {
            for lane in &pool.lanes {
                lane.listeners.set_bandwidth(octets);
            }
        }
    }

    /// Sets the protocol properties of connections that a threadpool accepts from now on.
    pub(crate) fn set_protocols(&self, id: ThreadpoolId, protocols: ProtocolList) {
        if let Some(pool) = self.lock().get(&id) {
            for lane in &pool.lanes {
                lane.listeners.set_protocols(protocols);
            }
        }
    }

    /// Ends the threads that serve connections, after the last connection.
    pub(crate) fn end(&self) {
        for pool in self.lock().values() {
            for lane in &pool.lanes {
                lane.listeners.end();
            }
            pool.napi.end();
        }
    }

    /// Stops listening; open connections are not affected.
    pub(crate) fn close(&self) {
        let pools: Vec<_> = self.lock().values().cloned().collect();
        for pool in pools {
            pool.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ThreadpoolId, Arc<Pool>>> {
        self.pools.lock()
    }
}

impl Pool {
    fn close(&self) {
        for lane in &self.lanes {
            lane.listeners.close();
        }
    }

    fn stop(&self) {
        self.close();
        self.napi.end();
        for lane in &self.lanes {
            lane.lane.stop();
        }
    }

    fn wait_ended(&self, until: Instant) -> bool {
        self.lanes.iter().all(|lane| lane.lane.wait_ended(until))
    }
}

impl Pools {
    /// Destroys a threadpool.
    pub(crate) fn destroy(
        &self,
        registry: &Registry,
        id: ThreadpoolId,
    ) -> Result<(), ThreadpoolError> {
        if crate::threads::within::within_request() {
            return Err(ThreadpoolError::System(raise::WOULD_DEADLOCK));
        }
        let pool = {
            let mut pools = self.lock();
            let pool = pools.remove(&id).ok_or(ThreadpoolError::Unknown(id))?;
            self.show(&pools);
            pool
        };
        pool.stop();
        registry.close_of(id.0);
        let until = clock::now() + LAST_REQUESTS;
        while clock::now() < until {
            registry.end_replies_of(id.0);
            if pool.wait_ended(until.min(clock::now() + TICK)) {
                return Ok(());
            }
        }
        registry.cut_of(id.0);
        match pool.wait_ended(clock::now() + LAST_THREADS) {
            true => Ok(()),
            false => Err(ThreadpoolError::System(raise::timeout(CompletionStatus::Maybe))),
        }
    }

    /// Returns the description of a threadpool; `None` if there is none with this id.
    pub(crate) fn lanes_of(&self, id: ThreadpoolId) -> Option<ThreadpoolLanes> {
        let pools = self.lock();
        let pool = pools.get(&id)?;
        Some(ThreadpoolLanes {
            has_lanes: pool.has_lanes,
            priorities: pool.lanes.iter().map(|lane| lane.priority).collect(),
            periods: pool.periods.clone(),
            serving: pool.serving,
            memory: pool
                .lanes
                .iter()
                .filter_map(|lane| lane.lane.memory.as_ref())
                .map(|memory| memory.report())
                .collect(),
        })
    }

    /// Returns the state of each lane of all threadpools. Takes no lock.
    pub(crate) fn lane_states(&self) -> Vec<LaneState> {
        let lanes = self.shown.load_full();
        lanes.iter().map(|lane| lane.state()).collect()
    }

    /// Publishes the lanes for [`lane_states`](Self::lane_states).
    fn show(&self, pools: &BTreeMap<ThreadpoolId, Arc<Pool>>) {
        let lanes = pools.values().flat_map(|pool| &pool.lanes);
        let lanes: Vec<Arc<Lane>> = lanes.map(|open| Arc::clone(&open.lane)).collect();
        self.shown.store(Arc::new(lanes));
    }

    /// Reports whether the ports of a threadpool will be the same at the next start.
    pub(crate) fn has_fixed_ports(&self, pool: ThreadpoolId) -> bool {
        let pools = self.lock();
        pools.get(&pool).is_some_and(|pool| pool.lanes.iter().all(|lane| lane.fixed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_of_lanes_are_read_without_a_lock() {
        let pools = Pools::default();
        let before = crate::threads::lock::taken();
        assert!(pools.lane_states().is_empty());
        assert_eq!(crate::threads::lock::taken(), before);
    }
}
