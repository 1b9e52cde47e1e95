//! Threadpools: lanes with a priority each, on ports of their own or on the ORB's (RT-CORBA 1.2, 5.7).

mod drops;
mod error;
mod front;
mod napi;
mod one_port;
mod plan;
mod steering;

use std::collections::BTreeMap;
use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use oxorb_object::CompletionStatus;
use oxorb_rt::Priority;
use oxorb_transport::{Address, Endpoint, Publish};

use self::front::OpenFront;
use self::napi::LaneNapi;
use super::host::Host;
use super::lane::{Lane, Plan};
use super::lane_memory::LaneMemory;
use super::listener::{Listeners, OpenError};
use super::registry::Registry;
use super::reserve::{self, Reserve};
use crate::Options;
use crate::PoolThread;
use crate::SetupError;
use crate::error::raise;
use crate::monitoring::metrics::LaneState;
use crate::policy::ProtocolList;
use crate::reference::{LaneOf, OwnAddress, PublishedAddress};
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::rt::{Serving, ThreadpoolId};
use crate::threads::sync::MutexGuard;

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
    /// Starts the lanes of a new threadpool, whose plan was [checked](Threadpool::check), and opens their endpoints.
    pub(crate) fn create(
        &self,
        orb: &impl Host,
        plan: Threadpool,
    ) -> Result<ThreadpoolId, ThreadpoolError> {
        let id = ThreadpoolId(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        plan.check_reactor(orb.shared(), id)?;
        plan.check_scheduling(orb.shared(), id)?;
        plan.check_one_port(orb.shared())?;
        plan.check_front(orb.shared(), id)?;
        plan.warn_of_priorities(orb.shared(), id);
        let lanes: Vec<Arc<Lane>> = (0..plan.lanes.len())
            .map(|at| new_lane(orb.options(), &plan, id, at).map(Arc::new))
            .collect::<io::Result<_>>()
            .map_err(SetupError::Threads)?;
        if plan.borrowing {
            reserve::lend(&lanes).map_err(SetupError::Threads)?;
        }
        Lane::find_lowest(&lanes);
        let open = lanes.iter().zip(&plan.lanes).map(|(lane, planned)| OpenLane {
            lane: Arc::clone(lane),
            priority: planned.priority,
            listeners: Listeners::default(),
            addresses: Vec::new(),
            at: Vec::new(),
            fixed: false,
        });
        let before = self.lanes.fetch_add(plan.lanes.len() as u32, Ordering::Relaxed);
        let mut pool = Pool {
            has_lanes: plan.has_lanes,
            periods: plan.periods.clone(),
            serving: plan.serving,
            lanes: open.collect(),
            front: OpenFront::default(),
            napi: LaneNapi::default(),
        };
        let opened = pool.open(orb, id, before);
        let opened = opened.and_then(|()| {
            let lanes = pool.lanes.iter().map(|lane| (&lane.listeners, &lane.lane));
            front::open(orb, id, &plan, lanes)
        });
        match opened {
            Ok(front) => pool.front = front,
            Err(error) => {
                pool.stop();
                pool.wait_ended(clock::now() + LAST_THREADS);
                return Err(error.into());
            }
        }
        pool.napi.begin(orb.shared(), id, &plan);
        let mut pools = self.lock();
        pools.insert(id, Arc::new(pool));
        self.show(&pools);
        Ok(id)
    }

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
        if pool.wait_ended(clock::now() + LAST_REQUESTS) {
            return Ok(());
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

fn new_lane(options: &Options, plan: &Threadpool, id: ThreadpoolId, at: usize) -> io::Result<Lane> {
    let lane = &plan.lanes[at];
    let realtime = &options.realtime;
    let (reserve, limits) = match (plan.serving, plan.buffering) {
        (Serving::Reader, Some(limits)) => (Reserve::buffering()?, Some(limits)),
        // Requests that arrived over connections of other lanes wait in the queue.
        (Serving::Reader, None) if realtime.lanes_on_one_port => {
            (Reserve::default(), Some(RequestBuffering::default()))
        }
        (Serving::Queue, limits) => (Reserve::default(), Some(limits.unwrap_or_default())),
        _ => (Reserve::default(), None),
    };
    let or = |limit, otherwise| if limit == 0 { otherwise } else { limit };
    let queue = limits.map(|limits| {
        let requests = or(limits.max_requests, options.max_connections);
        (requests, or(limits.max_octets, realtime.max_buffered_octets))
    });
    let message_buffers = plan.buffers;
    let plan = Plan {
        name: format!("oxorb-{}.{at}", id.0),
        pool: id.0,
        lane: at as u32,
        priority: Some(lane.priority),
        scheduling: lane.scheduling,
        serving: plan.serving,
        reactor: plan.reactor.unwrap_or(options.reactor),
        order: limits.unwrap_or_default().order,
        drops: limits.unwrap_or_default().drops,
        queue,
        static_threads: lane.static_threads,
        dynamic_threads: lane.dynamic_threads,
        dynamic_idle: realtime.dynamic_idle,
        stack_size: (plan.stack_size != 0).then_some(plan.stack_size),
        cpu: plan.cpu(options, id, at),
        dscp: plan.mark(options, id, at),
        socket_priority: lane.socket_priority,
        prefault: realtime.lock_memory,
        busy_poll: lane.busy_poll,
        pacing: lane.pacing.map(NonZeroU64::get),
        buffers: message_buffers,
        value_arena: plan.value_arena,
    };
    Lane::new(plan, reserve)
}

/// Returns the endpoints of a lane, the `number`th of the ORB from 1.
fn lane_endpoints(
    options: &Options,
    id: ThreadpoolId,
    at: usize,
    number: u32,
) -> Result<Vec<Endpoint>, SetupError> {
    let named = options.realtime.lane_endpoints.iter();
    let named = named.filter(|lane| lane.matches(id.0, at as u32));
    let endpoints: Vec<_> = named.flat_map(|lane| lane.endpoints.clone()).collect();
    if !endpoints.is_empty() {
        return Ok(endpoints);
    }
    let next = |endpoint: &Endpoint| {
        let transport = options.protocol_at(endpoint)?.transport();
        let next = transport.following(endpoint, number);
        next.ok_or_else(|| SetupError::LanePort {
            pool: id,
            lane: at,
            follows: endpoint.to_string(),
            error: None,
        })
    };
    options.endpoints()?.iter().map(next).collect()
}

/// Returns the rules for the published addresses of an endpoint of a lane, the `number`th of the ORB from 1. The port of
/// a rule is that of the ORB's own endpoint. If the lane's endpoint `follows` that endpoint, its published port is as far
/// from the rule's port as the ports of the two endpoints are from each other; otherwise its own port is published.
fn lane_rules(
    options: &Options,
    id: ThreadpoolId,
    at: usize,
    number: u32,
    endpoint: &Endpoint,
    follows: Option<&Endpoint>,
) -> Result<Vec<Publish>, SetupError> {
    let transport = options.protocol_at(endpoint)?.transport();
    // A port that the system chooses follows no other.
    let Some(follows) = follows.filter(|_| transport.is_fixed(endpoint)) else {
        return Ok(options.publish.iter().map(Publish::at_own_port).collect());
    };
    let port = |of: &Endpoint| {
        let (_, port) = transport.listen_point(&transport.own_address(of))?;
        Some(u32::from(port))
    };
    let distance = match port(endpoint).zip(port(follows)) {
        // A lane listens beyond the port span of the ORB's endpoint.
        Some((lane, first)) => lane.saturating_sub(first),
        // Sockets and memory of this host have no ports, and the rules do not apply to them.
        None if transport.is_local(endpoint) => return Ok(options.publish.clone()),
        None => number,
    };
    let of_lane = |rule: &Publish| {
        rule.following(distance).ok_or_else(|| SetupError::LanePort {
            pool: id,
            lane: at,
            follows: "that of -ORBEndPointPublish".to_owned(),
            error: None,
        })
    };
    options.publish.iter().map(of_lane).collect()
}

impl Pool {
    fn open(&mut self, orb: &impl Host, id: ThreadpoolId, before: u32) -> Result<(), SetupError> {
        let shared = orb.options().realtime.lanes_on_one_port;
        for (at, open) in self.lanes.iter_mut().enumerate() {
            let started = || {
                open.lane.start(orb)?;
                open.lane.start_reader(orb)?;
                Ok(Some(Arc::clone(&open.lane)))
            };
            let number = before + at as u32 + 1;
            let endpoints = match shared {
                true => Vec::new(),
                false => lane_endpoints(orb.options(), id, at, number)?,
            };
            open.fixed = endpoints.iter().all(|endpoint| orb.options().is_fixed(endpoint));
            let named = &orb.options().realtime.lane_endpoints;
            let named = named.iter().any(|lane| lane.matches(id.0, at as u32));
            let followed = if named { Vec::new() } else { orb.options().endpoints()? };
            let rules = endpoints.iter().enumerate().map(|(place, endpoint)| match shared {
                true => Ok(Vec::new()),
                false => lane_rules(orb.options(), id, at, number, endpoint, followed.get(place)),
            });
            let rules: Vec<Vec<Publish>> = rules.collect::<Result<_, _>>()?;
            let real = open.listeners.open(orb, &endpoints, started);
            let real = real.map_err(|error| match error {
                OpenError::Listen(error) if open.fixed && !named => SetupError::LanePort {
                    pool: id,
                    lane: at,
                    follows: orb.options().listen[0].to_string(),
                    error: Some(Box::new(error)),
                },
                error => error.into(),
            })?;
            for (endpoint, rules) in real.iter().zip(&rules) {
                let addresses = orb.shared().addresses_by(endpoint, rules)?;
                let own = orb.options().protocol_at(endpoint)?.transport().own_address(endpoint);
                open.at.extend(addresses.iter().map(|_| own.clone()));
                open.addresses.extend(addresses);
            }
        }
        Ok(())
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
