//! Opening of a threadpool: starts the threads of its lanes, and listens at its endpoints.

use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;

use oxorb_transport::{Endpoint, ListenError, Publish, Transport};

use super::front::OpenFront;
use super::napi::LaneNapi;
use super::steering::Steering;
use super::{LAST_THREADS, OpenLane, Pool, Pools, RequestBuffering, Threadpool, ThreadpoolError};
use crate::server::lane::{Lane, Plan};
use crate::server::listener::{Listeners, OpenError};
use crate::server::reserve::{self, Reserve};
use crate::threads::clock;
use crate::threads::rt::{Serving, ThreadpoolId};
use crate::threads::sync::atomic::Ordering;
use crate::{Options, Orb, SetupError};

impl Pools {
    /// Starts the lanes of a new threadpool, whose plan was [checked](Threadpool::check), and opens their endpoints.
    pub(crate) fn create(
        &self,
        orb: &Orb,
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
            open_front(orb, id, &plan, lanes)
        });
        match opened {
            Ok(front) => pool.front = front,
            Err(error) => {
                pool.give_up();
                return Err(error.into());
            }
        }
        pool.napi.begin(orb.shared(), id, &plan);
        let mut pools = self.lock();
        // A shutdown that began meanwhile ends only the pools that it found under the lock.
        if orb.shared().is_closed() {
            drop(pools);
            pool.give_up();
            return Err(SetupError::ShutDown.into());
        }
        pools.insert(id, Arc::new(pool));
        self.show(&pools);
        Ok(id)
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

/// Returns the rules for the published addresses of an endpoint of a lane, the `number`th of the ORB from 1. The port
/// of a rule is that of the ORB's own endpoint. If the lane's endpoint `follows` that endpoint, its published port is
/// as far from the rule's port as the ports of the two endpoints are from each other; otherwise its own port is
/// published.
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
    /// Ends the pool, which no reference names yet.
    fn give_up(&self) {
        self.stop();
        self.wait_ended(clock::now() + LAST_THREADS);
    }

    fn open(&mut self, orb: &Orb, id: ThreadpoolId, before: u32) -> Result<(), SetupError> {
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

/// Opens the front of the plan for all lanes, if there is one.
fn open_front<'l>(
    orb: &Orb,
    id: ThreadpoolId,
    plan: &Threadpool,
    lanes: impl Iterator<Item = (&'l Listeners, &'l Arc<Lane>)> + Clone,
) -> Result<OpenFront, SetupError> {
    let Some(front) = &plan.front else {
        return Ok(OpenFront::default());
    };
    let options = orb.options();
    let mut endpoint = front_endpoint(options, &front.endpoint)?;
    let marks = plan.marks(options, id);
    let cpus = match front.by {
        Steering::Mark => vec![None; marks.len()],
        Steering::Processor => plan.cpus(options, id),
    };
    let mut first = None;
    for ((listeners, lane), cpu) in lanes.zip(cpus) {
        let is_first = first.is_none();
        let serves = || Ok(Some(Arc::clone(lane)));
        let listen = |transport: &dyn Transport, endpoint: &Endpoint| {
            transport.listen_in_group(endpoint, is_first, cpu)
        };
        // The port that the system chose for the first lane is used for all lanes.
        endpoint = listeners.open_by(orb, &[endpoint], serves, listen)?.remove(0);
        first.get_or_insert(listeners);
    }
    let least = plan.least();
    if let (Steering::Mark, Some(first)) = (front.by, first) {
        let marks = marks.iter().zip(0..);
        let marks: Vec<(u8, u32)> = marks.filter_map(|(mark, at)| Some(((*mark)?, at))).collect();
        let steered = first.steer_by_mark(&endpoint, &marks, least as u32);
        let advice = "the kernel rejects the program that selects a lane: remove the front";
        steered.map_err(|error| not_open(endpoint.clone(), error, Some(advice)))?;
    }
    // The ports of published addresses are those of the ORB's own endpoints.
    let rules: Vec<Publish> = options.publish.iter().map(Publish::at_own_port).collect();
    Ok(OpenFront { addresses: orb.shared().addresses_by(&endpoint, &rules)?, least })
}

/// Parses the single endpoint of a front.
fn front_endpoint(options: &Options, text: &str) -> Result<Endpoint, SetupError> {
    let named = || Endpoint::new(oxorb_transport::tcp::SCHEME, text);
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
    let parsed = options.protocols.parse(text);
    let mut endpoints =
        parsed.map_err(|error| not_open(named(), invalid(error.to_string()), None))?;
    if endpoints.len() != 1 {
        let why = invalid(format!("{} endpoints are specified", endpoints.len()));
        let advice = "a front must be one endpoint, such as iiop://:2809";
        return Err(not_open(named(), why, Some(advice)));
    }
    Ok(endpoints.remove(0))
}

fn not_open(endpoint: Endpoint, error: io::Error, advice: Option<&'static str>) -> SetupError {
    SetupError::Listen(ListenError {
        address: endpoint.place.clone(),
        endpoint: Box::new(endpoint),
        error,
        advice,
    })
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use oxorb_testkit::until;

    use super::*;

    #[test]
    fn a_pool_that_is_opened_during_a_shutdown_has_no_threads_afterwards() {
        for lanes_on_one_port in [false, true] {
            let mut options = Options::default();
            options.listen_on("iiop://127.0.0.1:0").unwrap();
            options.realtime.lanes_on_one_port = lanes_on_one_port;
            let orb = Orb::new(options);
            orb.shutdown(false).unwrap();
            let created = orb.pools().create(&orb, Threadpool::new(2));
            let is_refused = matches!(created, Err(ThreadpoolError::Setup(SetupError::ShutDown)));
            assert!(is_refused, "{created:?}");
            until("its threads have ended", || orb.threads().is_empty());
            orb.shutdown(true).unwrap();
        }
    }
}
