//! Threadpools: lanes with a priority each, on ports of their own (RT-CORBA 1.2, 5.7).

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use oxorb_giop::{CompletionStatus, SystemException, TcpProtocolProperties, minor};
use oxorb_rt::Priority;
use oxorb_sys::schedule::Class;
use oxorb_transport::Endpoint;

use super::filter::PoolThread;
use super::lane::{Lane, Plan};
use super::listener::Listeners;
use super::reactor::ReactorChoice;
use super::reserve::{self, Reserve};
use crate::LaneNumber;
use crate::lock::Mutex;
use crate::published::Address;
use crate::sync::MutexGuard;
use crate::{Orb, SetupError, raise};

/// How long destroying a threadpool waits for requests that are running.
const LAST_REQUESTS: Duration = Duration::from_secs(30);

/// How long its threads have to end after their connections were cut.
const LAST_THREADS: Duration = Duration::from_secs(2);

/// So many pollers can watch one another in a chain.
const CHAIN: usize = 5;

/// Names a threadpool of one ORB (`RTCORBA::ThreadpoolId`). The first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadpoolId(pub u32);

/// A threadpool to be created (`RTCORBA::RTORB::create_threadpool`, `create_threadpool_with_lanes`).
///
/// ```
/// use oxorb_core::{Threadpool, ThreadpoolLane};
/// use oxorb_rt::Priority;
///
/// // One lane: threads take the priority of the request they serve.
/// let shared = Threadpool::new(4).dynamic_threads(2);
/// // A lane for each rate: threads keep its priority.
/// let rates = Threadpool::with_lanes([
///     ThreadpoolLane::new(Priority::new(10)?, 2),
///     ThreadpoolLane::new(Priority::new(20)?, 2),
/// ])
/// .allow_borrowing();
/// # Ok::<(), oxorb_rt::OutOfRange>(())
/// ```
#[derive(Debug, Clone)]
pub struct Threadpool {
    lanes: Vec<ThreadpoolLane>,
    has_lanes: bool,
    stack_size: usize,
    borrowing: bool,
    buffering: Option<RequestBuffering>,
    serving: Serving,
    reactor: Option<ReactorChoice>,
    /// Of rate groups; otherwise none.
    periods: Vec<Duration>,
}

/// One lane of a threadpool (`RTCORBA::ThreadpoolLane`).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ThreadpoolLane {
    /// `lane_priority`.
    pub priority: Priority,
    /// `static_threads`: at least 1.
    pub static_threads: usize,
    /// `dynamic_threads`: most further ones, made when all others are busy.
    pub dynamic_threads: usize,
    /// The only processor its threads run on; `None`: any. Not of the specification.
    pub cpu: Option<usize>,
    /// How long reads of its connections look for packets in the network device before they wait for the interrupt.
    /// Not of the specification.
    pub busy_poll: Option<Duration>,
    /// Marks the packets of its connections (DSCP, 0 to 63). Not of the specification, which has a ServerProtocolPolicy
    /// with `enable_network_priority` for that.
    pub dscp: Option<u8>,
}

/// Which thread serves a request that comes to a lane (CHECKLIST A5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Serving {
    /// The one that has read it: one thread is a reactor (A5.6), several are leader and followers (A5.4). No hand-over,
    /// no lock, no allocation.
    #[default]
    Reader,
    /// One of the lane's threads, which take requests from a bounded queue; one further thread reads (A5.3). Requests
    /// of one connection run side by side. How long the queue is and in which order requests leave it says
    /// [`Threadpool::buffering`]; one that finds no place is answered TRANSIENT, minor `REQUESTS_BUFFERED`. A request
    /// costs a hand-over to another thread (a futex call on each side while the queue is empty), a few allocations and
    /// about ten short locks.
    Queue,
    /// A thread that is started for it, at most `static_threads` at a time; one further thread reads (A5.6). One more
    /// is answered TRANSIENT, minor `NO_THREAD`. A request costs what a thread does, some tens of microseconds, and
    /// more when it is given a priority, a processor or touched memory.
    ThreadPerRequest,
    /// That of its connection, which is started at the lane's priority when the connection comes (A5.6). As many as
    /// there are connections, whatever `static_threads` says.
    ThreadPerConnection,
}

/// Requests may wait for a thread, within limits (`allow_request_buffering`). The limits hold for each lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestBuffering {
    /// `max_buffered_requests`: most that wait; 0: as many as there are connections. Each connection has at most one
    /// request in the buffer; what its client sends beyond that waits in the socket.
    pub max_requests: usize,
    /// `max_request_buffer_size`: most octets they have in all; 0: the option MaxBufferedOctets.
    pub max_octets: usize,
    /// Which of them is next. Not of the specification.
    pub order: QueueOrder,
}

/// The order in which buffered requests are served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QueueOrder {
    /// As they came.
    #[default]
    Arrival,
    /// By what their callers say they are worth ([`RequestQos`](crate::policy::RequestQos), A3): priority, then
    /// importance, then the nearer deadline. As they came among equals; those that say nothing last.
    Urgency,
}

impl ThreadpoolLane {
    /// A lane of so many threads, all there from the start.
    pub fn new(priority: Priority, static_threads: usize) -> Self {
        ThreadpoolLane {
            priority,
            static_threads,
            dynamic_threads: 0,
            cpu: None,
            busy_poll: None,
            dscp: None,
        }
    }

    /// With so many further threads that are made when all others are busy. The request that finds them busy pays for
    /// starting one.
    pub fn dynamic_threads(mut self, threads: usize) -> Self {
        self.dynamic_threads = threads;
        self
    }

    /// Runs on this processor only.
    pub fn cpu(mut self, cpu: usize) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// Marks the packets of its connections.
    pub fn dscp(mut self, dscp: u8) -> Self {
        self.dscp = Some(dscp);
        self
    }
}

impl Threadpool {
    /// A pool without lanes, at priority 0 between requests.
    pub fn new(static_threads: usize) -> Self {
        Threadpool {
            has_lanes: false,
            ..Threadpool::with_lanes([ThreadpoolLane::new(Priority::MIN, static_threads)])
        }
    }

    /// A pool with lanes.
    pub fn with_lanes(lanes: impl IntoIterator<Item = ThreadpoolLane>) -> Self {
        Threadpool {
            lanes: lanes.into_iter().collect(),
            has_lanes: true,
            stack_size: 0,
            borrowing: false,
            buffering: None,
            serving: Serving::Reader,
            reactor: None,
            periods: Vec::new(),
        }
    }

    /// Which threads serve requests.
    pub fn serving(mut self, serving: Serving) -> Self {
        self.serving = serving;
        self
    }

    /// How the lanes' threads wait for requests; otherwise as the option Reactor says.
    ///
    /// Under SCHED_FIFO and SCHED_RR a thread that asks without sleeping keeps all that is less urgent from its
    /// processor. Each lane must then have one thread and a processor of its own
    /// ([`ThreadpoolLane::cpu`]), and the machine one processor more than that.
    pub fn reactor(mut self, reactor: ReactorChoice) -> Self {
        self.reactor = Some(reactor);
        self
    }

    pub(super) fn with_periods(mut self, periods: Vec<Duration>) -> Self {
        self.periods = periods;
        self
    }

    /// `dynamic_threads` of a pool without lanes.
    pub fn dynamic_threads(mut self, threads: usize) -> Self {
        if let (false, [lane]) = (self.has_lanes, self.lanes.as_mut_slice()) {
            lane.dynamic_threads = threads;
        }
        self
    }

    /// The lanes, in the order given; a pool without lanes has one.
    pub fn lanes(&self) -> &[ThreadpoolLane] {
        &self.lanes
    }

    /// `default_priority` of a pool without lanes: that of its threads between requests.
    pub fn default_priority(mut self, priority: Priority) -> Self {
        if let (false, [lane]) = (self.has_lanes, self.lanes.as_mut_slice()) {
            lane.priority = priority;
        }
        self
    }

    /// `stacksize`, octets of each thread; 0, the default: as the system does.
    pub fn stack_size(mut self, octets: usize) -> Self {
        self.stack_size = octets;
        self
    }

    /// `allow_borrowing`: a lane whose threads are all busy takes one of a lower lane for a while. Up to five lanes in
    /// a chain.
    pub fn allow_borrowing(mut self) -> Self {
        self.borrowing = true;
        self
    }

    /// `allow_request_buffering`: requests that find all threads busy are read and queued. Costs a thread for each
    /// lane.
    /// With [`Serving::Queue`] these are the limits of the queue.
    pub fn buffering(mut self, limits: RequestBuffering) -> Self {
        self.buffering = Some(limits);
        self
    }

    fn check(&self, orb: &Orb) -> Result<(), ThreadpoolError> {
        let wrong = |why| Err(ThreadpoolError::BadParameter(why));
        if self.lanes.is_empty() {
            return wrong("a threadpool with lanes has at least one");
        }
        if self.periods.iter().any(Duration::is_zero) {
            return wrong("a rate group has a period, or a rate, above 0");
        }
        if self.lanes.iter().any(|lane| lane.static_threads == 0) {
            return wrong("a lane has at least one static thread");
        }
        let mut priorities: Vec<_> = self.lanes.iter().map(|lane| lane.priority).collect();
        priorities.sort();
        if priorities.windows(2).any(|pair| pair[0] == pair[1]) {
            return wrong(
                "each lane of a threadpool has another priority, each rate group another period",
            );
        }
        self.check_serving()?;
        if self.borrowing && self.buffering.is_none() && self.lanes.len() > CHAIN {
            return wrong(
                "at most five lanes borrow from each other, unless requests are buffered",
            );
        }
        if self.lanes.iter().any(|lane| lane.dscp > Some(63)) {
            return wrong("a DSCP goes from 0 to 63");
        }
        for lane in &self.lanes {
            let native = orb.scheduling().native(lane.priority);
            native.map_err(|_| ThreadpoolError::Priority(lane.priority))?;
        }
        Ok(())
    }
}

impl Threadpool {
    fn check_serving(&self) -> Result<(), ThreadpoolError> {
        let wrong = |why| Err(ThreadpoolError::BadParameter(why));
        let dynamic = self.lanes.iter().any(|lane| lane.dynamic_threads > 0);
        match self.serving {
            Serving::Reader => Ok(()),
            _ if self.borrowing => wrong(
                "lanes borrow threads that wait for requests; where a reader hands requests on, give each lane the \
                 threads it needs (serving)",
            ),
            _ if dynamic => wrong(
                "dynamic threads help those that read; where a reader hands requests on, give each lane the threads \
                 it needs (serving)",
            ),
            Serving::Queue => Ok(()),
            Serving::ThreadPerRequest | Serving::ThreadPerConnection
                if self.buffering.is_some() =>
            {
                wrong(
                    "with a thread for each request or connection none waits in a buffer; leave buffering out, or serve \
                 from a queue (serving)",
                )
            }
            Serving::ThreadPerRequest | Serving::ThreadPerConnection => Ok(()),
        }
    }

    /// Where a lane's threads run.
    fn cpu(&self, orb: &Orb, id: ThreadpoolId, at: usize) -> Option<usize> {
        let cpus = &orb.options().realtime.lane_cpus;
        let named = || LaneNumber::of(cpus, id.0, at as u32).map(usize::from);
        self.lanes[at].cpu.or_else(named)
    }

    /// Whether threads that never sleep leave room for others.
    fn check_reactor(&self, orb: &Orb, id: ThreadpoolId) -> Result<(), ThreadpoolError> {
        let wrong = |why| Err(ThreadpoolError::BadParameter(why));
        let options = orb.options();
        if self.reactor.unwrap_or(options.reactor) == ReactorChoice::Epoll {
            return Ok(());
        }
        if self.serving == Serving::ThreadPerConnection {
            return wrong(
                "a thread that has one connection waits at no reactor; leave busy-poll out",
            );
        }
        if options.realtime.class == Class::Other {
            return Ok(());
        }
        let cpus = (0..self.lanes.len()).filter_map(|at| self.cpu(orb, id, at));
        let mut cpus: Vec<_> = cpus.collect();
        cpus.sort_unstable();
        cpus.dedup();
        let alone = |lane: &ThreadpoolLane| {
            lane.static_threads == 1
                && lane.dynamic_threads == 0
                && self.serving == Serving::Reader
                && self.buffering.is_none()
        };
        if cpus.len() != self.lanes.len() || !self.lanes.iter().all(alone) {
            return wrong(
                "busy-poll under SCHED_FIFO or SCHED_RR would keep everything else from the processor: give each lane \
                 one thread that reads and serves, and a processor of its own (cpu), or use epoll or SCHED_OTHER",
            );
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        if cpus.len() >= processors {
            return wrong(
                "busy-poll under SCHED_FIFO or SCHED_RR on every processor would leave none to the rest of the system: \
                 keep one free, or use epoll or SCHED_OTHER",
            );
        }
        Ok(())
    }
}

/// What an ORB knows of a threadpool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadpoolLanes {
    /// Whether its threads keep the priority of their lane.
    pub has_lanes: bool,
    /// The priority of each lane, in the order given; without lanes the default priority.
    pub priorities: Vec<Priority>,
    /// The period of each lane, where they are [rate groups](Threadpool::rate_groups); otherwise empty.
    pub periods: Vec<Duration>,
    /// Which threads serve.
    pub serving: Serving,
}

/// All threadpools of one ORB.
#[derive(Default)]
pub(crate) struct Pools {
    pools: Mutex<BTreeMap<ThreadpoolId, Arc<Pool>>>,
    last: AtomicU32,
}

/// One that exists.
pub(crate) struct Pool {
    has_lanes: bool,
    periods: Vec<Duration>,
    serving: Serving,
    lanes: Vec<OpenLane>,
}

struct OpenLane {
    lane: Arc<Lane>,
    priority: Priority,
    listeners: Listeners,
    addresses: Vec<Address>,
}

/// Addresses of a threadpool, for references.
pub(crate) struct PoolAddresses {
    /// With the priority of the lane behind each.
    pub(crate) addresses: Vec<(Address, Priority)>,
    pub(crate) has_lanes: bool,
}

impl Pools {
    /// The threads that a filter has picked, if there are such.
    pub(super) fn lane(&self, picked: PoolThread) -> Option<Arc<Lane>> {
        let pool = Arc::clone(self.lock().get(&picked.pool)?);
        Some(Arc::clone(&pool.lanes.get(picked.lane)?.lane))
    }

    pub(crate) fn addresses(
        &self,
        id: ThreadpoolId,
        wanted: impl Fn(Priority) -> bool,
    ) -> Option<PoolAddresses> {
        let pool = Arc::clone(self.lock().get(&id)?);
        let lanes = pool
            .lanes
            .iter()
            .filter(|lane| !pool.has_lanes || wanted(lane.priority));
        let addresses = lanes.flat_map(|lane| {
            let each = lane.addresses.iter();
            each.map(|address| (address.clone(), lane.priority))
        });
        Some(PoolAddresses {
            addresses: addresses.collect(),
            has_lanes: pool.has_lanes,
        })
    }

    /// Whether a threadpool listens there.
    pub(crate) fn is_own_address(&self, host: &str, port: u16) -> bool {
        let pools = self.lock();
        let mut lanes = pools.values().flat_map(|pool| &pool.lanes);
        lanes.any(|lane| {
            let mut addresses = lane.addresses.iter();
            addresses.any(|address| address.port == port && address.host == host)
        })
    }

    /// How connections that a threadpool accepts from now on are set up.
    pub(crate) fn set_tcp(&self, id: ThreadpoolId, tcp: TcpProtocolProperties) {
        if let Some(pool) = self.lock().get(&id) {
            for lane in &pool.lanes {
                lane.listeners.set_tcp(tcp);
            }
        }
    }

    /// After the last connection: the threads that served them end.
    pub(crate) fn end(&self) {
        for pool in self.lock().values() {
            for lane in &pool.lanes {
                lane.listeners.end();
            }
        }
    }

    /// Stops listening; connections live on.
    pub(crate) fn close(&self) {
        let pools: Vec<_> = self.lock().values().cloned().collect();
        for pool in pools {
            pool.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ThreadpoolId, Arc<Pool>>> {
        self.pools.lock().expect(UNPOISONED)
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
        for lane in &self.lanes {
            lane.lane.stop();
        }
    }

    fn wait_ended(&self, until: Instant) -> bool {
        self.lanes.iter().all(|lane| lane.lane.wait_ended(until))
    }
}

impl Orb {
    /// Creates a threadpool: starts its static threads, at the priority of their lane, and opens its endpoints. Not
    /// for the steady path.
    ///
    /// Each lane listens where the option LaneListenEndpoints says, or else on ports that the system chooses, on the
    /// hosts of the ORB's own endpoints.
    ///
    /// ```
    /// use oxorb_core::{Options, Orb, Threadpool};
    ///
    /// let mut options = Options::default();
    /// options.listen.push("iiop://127.0.0.1:0".parse()?);
    /// let orb = Orb::new(options);
    /// let pool = orb.create_threadpool(Threadpool::new(2))?;
    /// orb.destroy_threadpool(pool)?;
    /// assert!(orb.destroy_threadpool(pool).is_err(), "it is gone");
    /// # orb.shutdown(true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ThreadpoolError::BadParameter`], [`ThreadpoolError::Priority`], [`ThreadpoolError::Setup`]; nothing is left
    /// of the pool then.
    pub fn create_threadpool(&self, plan: Threadpool) -> Result<ThreadpoolId, ThreadpoolError> {
        plan.check(self)?;
        if self.is_closing() {
            return Err(SetupError::ShutDown.into());
        }
        self.lock_memory();
        self.start_modules()?;
        let pools = self.pools();
        let id = ThreadpoolId(pools.last.fetch_add(1, Ordering::Relaxed) + 1);
        plan.check_reactor(self, id)?;
        let lanes: Vec<Arc<Lane>> = (0..plan.lanes.len())
            .map(|at| self.new_lane(&plan, id, at).map(Arc::new))
            .collect::<io::Result<_>>()
            .map_err(SetupError::Threads)?;
        if plan.borrowing {
            reserve::lend(&lanes).map_err(SetupError::Threads)?;
        }
        let open = lanes
            .iter()
            .zip(&plan.lanes)
            .map(|(lane, planned)| OpenLane {
                lane: Arc::clone(lane),
                priority: planned.priority,
                listeners: Listeners::default(),
                addresses: Vec::new(),
            });
        let mut pool = Pool {
            has_lanes: plan.has_lanes,
            periods: plan.periods.clone(),
            serving: plan.serving,
            lanes: open.collect(),
        };
        if let Err(error) = pool.open(self, id) {
            pool.stop();
            pool.wait_ended(Instant::now() + LAST_THREADS);
            return Err(error.into());
        }
        pools.lock().insert(id, Arc::new(pool));
        Ok(id)
    }

    /// Ends a threadpool (`destroy_threadpool`): closes its endpoints, lets requests that run finish, tells clients
    /// CloseConnection, ends its threads. Blocks until then: at most 30 s for requests that do not end, whose
    /// connections are cut. References to objects in its POAs lead nowhere afterwards.
    ///
    /// # Errors
    /// [`ThreadpoolError::Unknown`] (InvalidThreadpool); BAD_INV_ORDER from within a request, which would wait for
    /// itself; TIMEOUT when a servant still runs, whose thread ends when that does.
    pub fn destroy_threadpool(&self, id: ThreadpoolId) -> Result<(), ThreadpoolError> {
        if crate::orb::within_request() {
            return Err(ThreadpoolError::System(raise::WOULD_DEADLOCK));
        }
        let pool = self.pools().lock().remove(&id);
        let pool = pool.ok_or(ThreadpoolError::Unknown(id))?;
        pool.stop();
        self.registry().close_of(id.0);
        if pool.wait_ended(Instant::now() + LAST_REQUESTS) {
            return Ok(());
        }
        self.registry().cut_of(id.0);
        match pool.wait_ended(Instant::now() + LAST_THREADS) {
            true => Ok(()),
            false => Err(ThreadpoolError::System(raise::timeout(
                CompletionStatus::Maybe,
            ))),
        }
    }

    /// The lanes of a threadpool; `None` if there is none of this name.
    pub fn threadpool(&self, id: ThreadpoolId) -> Option<ThreadpoolLanes> {
        let pools = self.pools().lock();
        let pool = pools.get(&id)?;
        Some(ThreadpoolLanes {
            has_lanes: pool.has_lanes,
            priorities: pool.lanes.iter().map(|lane| lane.priority).collect(),
            periods: pool.periods.clone(),
            serving: pool.serving,
        })
    }

    fn new_lane(&self, plan: &Threadpool, id: ThreadpoolId, at: usize) -> io::Result<Lane> {
        let lane = &plan.lanes[at];
        let realtime = &self.options().realtime;
        let (reserve, limits) = match (plan.serving, plan.buffering) {
            (Serving::Reader, Some(limits)) => (Reserve::buffering()?, Some(limits)),
            (Serving::Queue, limits) => (Reserve::default(), Some(limits.unwrap_or_default())),
            _ => (Reserve::default(), None),
        };
        let dscp = || LaneNumber::of(&realtime.lane_dscps, id.0, at as u32);
        let or = |limit, otherwise| if limit == 0 { otherwise } else { limit };
        let queue = limits.map(|limits| {
            let requests = or(limits.max_requests, self.options().max_connections);
            (
                requests,
                or(limits.max_octets, realtime.max_buffered_octets),
            )
        });
        let plan = Plan {
            name: format!("oxorb-{}.{at}", id.0),
            pool: id.0,
            priority: Some(lane.priority),
            serving: plan.serving,
            reactor: plan.reactor.unwrap_or(self.options().reactor),
            order: limits.unwrap_or_default().order,
            queue,
            static_threads: lane.static_threads,
            dynamic_threads: lane.dynamic_threads,
            dynamic_idle: realtime.dynamic_idle,
            stack_size: (plan.stack_size != 0).then_some(plan.stack_size),
            cpu: plan.cpu(self, id, at),
            dscp: lane.dscp.or_else(|| dscp().map(|dscp| dscp as u8)),
            prefault: realtime.lock_memory,
            busy_poll: lane.busy_poll,
        };
        Lane::new(plan, reserve)
    }

    /// Where a lane listens.
    fn lane_endpoints(&self, id: ThreadpoolId, at: usize) -> Vec<Endpoint> {
        let options = self.options();
        let named = options.realtime.lane_endpoints.iter();
        let named = named.filter(|lane| lane.matches(id.0, at as u32));
        let endpoints: Vec<_> = named.flat_map(|lane| lane.endpoints.clone()).collect();
        if !endpoints.is_empty() {
            return endpoints;
        }
        let anywhere = |endpoint: &Endpoint| Endpoint {
            port: 0,
            port_span: 1,
            ..endpoint.clone()
        };
        match options.listen.as_slice() {
            [] => vec![Endpoint::new("", 0)],
            listed => listed.iter().map(anywhere).collect(),
        }
    }
}

impl Pool {
    fn open(&mut self, orb: &Orb, id: ThreadpoolId) -> Result<(), SetupError> {
        for (at, open) in self.lanes.iter_mut().enumerate() {
            let started = || {
                open.lane.start(orb)?;
                open.lane.start_reader(orb)?;
                Ok(Some(Arc::clone(&open.lane)))
            };
            let endpoints = orb.lane_endpoints(id, at);
            let real = open.listeners.open(orb, &endpoints, started)?;
            for endpoint in &real {
                open.addresses.extend(orb.addresses_of(endpoint)?);
            }
        }
        Ok(())
    }
}

/// Why a threadpool cannot be had, or not be ended.
///
/// `Debug` prints what `Display` does, so that a `main` which returns it is readable.
#[non_exhaustive]
pub enum ThreadpoolError {
    /// BAD_PARAM: what is wrong.
    BadParameter(&'static str),
    /// DATA_CONVERSION: the priority of a lane has no native one.
    Priority(Priority),
    /// The ORB has no such threadpool (InvalidThreadpool).
    Unknown(ThreadpoolId),
    /// No endpoint or no thread.
    Setup(SetupError),
    /// Anything else.
    System(SystemException),
}

impl fmt::Display for ThreadpoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThreadpoolError::BadParameter(why) => f.write_str(why),
            ThreadpoolError::Priority(priority) => write!(
                f,
                "the priority mapping has no native priority for {priority}, or one that the scheduling class does not \
                 have; choose another with -ORBPriorityMapping or -ORBSchedPolicy"
            ),
            ThreadpoolError::Unknown(ThreadpoolId(id)) => {
                write!(f, "there is no threadpool {id} (InvalidThreadpool)")
            }
            ThreadpoolError::Setup(error) => error.fmt(f),
            ThreadpoolError::System(exception) => exception.fmt(f),
        }
    }
}

impl fmt::Debug for ThreadpoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ThreadpoolError {}

impl From<SetupError> for ThreadpoolError {
    fn from(error: SetupError) -> Self {
        ThreadpoolError::Setup(error)
    }
}

impl From<ThreadpoolError> for SystemException {
    /// For code that only knows CORBA exceptions.
    fn from(error: ThreadpoolError) -> Self {
        match error {
            ThreadpoolError::BadParameter(_) | ThreadpoolError::Unknown(_) => {
                SystemException::bad_param(minor::bad_param::REALTIME, CompletionStatus::No)
            }
            ThreadpoolError::Priority(_) => raise::NO_NATIVE_PRIORITY,
            ThreadpoolError::Setup(error) => error.into(),
            ThreadpoolError::System(exception) => exception,
        }
    }
}

const UNPOISONED: &str = "no panic while the lock is held";
