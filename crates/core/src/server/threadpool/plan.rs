//! Plan of a threadpool, and checks for contradicting settings.

use std::num::NonZeroU64;
use std::time::Duration;

use oxorb_object::{Qos, ServiceContexts, Urgency};
use oxorb_rt::Priority;
use oxorb_sys::schedule::SchedulingClass;

use super::ThreadpoolError;
use super::drops::DropRules;
use super::steering::Front;
use crate::LaneScheduling;
use crate::Options;
use crate::ReactorChoice;
use crate::server::lane_memory::MessageBuffers;
use crate::shared::Shared;
use crate::threads::rt::{Serving, ThreadpoolId};
use crate::{Incident, LaneNumber};

/// Longest chain of nested epoll descriptors.
const CHAIN: usize = 5;

/// Threadpool to be created (`RTCORBA::RTORB::create_threadpool`, `create_threadpool_with_lanes`).
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
    pub(super) lanes: Vec<ThreadpoolLane>,
    pub(super) has_lanes: bool,
    pub(super) stack_size: usize,
    pub(super) borrowing: bool,
    pub(super) buffering: Option<RequestBuffering>,
    pub(super) buffers: Option<MessageBuffers>,
    pub(super) value_arena: Option<usize>,
    pub(super) serving: Serving,
    pub(super) reactor: Option<ReactorChoice>,
    /// Periods of rate groups; empty otherwise.
    pub(super) periods: Vec<Duration>,
    pub(super) front: Option<Front>,
}

/// Lane of a threadpool (`RTCORBA::ThreadpoolLane`).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ThreadpoolLane {
    /// Priority of the lane (`lane_priority`).
    pub priority: Priority,
    /// Number of threads that exist from the start (`static_threads`); at least 1.
    pub static_threads: usize,
    /// Maximum number of further threads (`dynamic_threads`), which are started when all others are busy.
    pub dynamic_threads: usize,
    /// Processor of the lane's threads; `None` for any. Not in the specification.
    pub cpu: Option<usize>,
    /// Time for which reads of its connections poll the network device before they wait for the
    /// interrupt. Not in the specification.
    pub busy_poll: Option<Duration>,
    /// DSCP of the packets of the lane's connections, 0 to 63. Not in the specification, which has a
    /// ServerProtocolPolicy with `enable_network_priority` for this purpose.
    pub dscp: Option<u8>,
    /// Queue of this host's network devices for its packets (SO_PRIORITY), 0 to 6, as interpreted by the queueing
    /// discipline. Not in the specification.
    pub socket_priority: Option<u8>,
    /// Maximum send rate of each of its connections, in octets per second (SO_MAX_PACING_RATE), so that large answers
    /// do not fill the network's queues. Not in the specification.
    pub pacing: Option<NonZeroU64>,
    /// Network device whose packets are received by threads at the lane's native priority (threaded NAPI) while the
    /// lane exists. Lanes that name the same device share its threads, which have the priority of the most urgent lane.
    /// Not in the specification.
    pub napi: Option<String>,
    /// Scheduling of the lane's threads in the kernel. Not in the specification.
    pub scheduling: LaneScheduling,
}

/// Limits of the buffer in which requests wait for a thread (`allow_request_buffering`), for each lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestBuffering {
    /// Maximum number of queued requests (`max_buffered_requests`); 0 for the number of connections. Each connection
    /// has at most one request in the buffer; further ones wait in the socket.
    pub max_requests: usize,
    /// Maximum total size in octets of queued requests (`max_request_buffer_size`); 0 for the option MaxBufferedOctets.
    pub max_octets: usize,
    /// Order in which requests are served. Not in the specification.
    pub order: QueueOrder,
    /// Rules for dropping oneways. Not in the specification.
    pub drops: DropRules,
}

/// Order in which buffered requests are served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QueueOrder {
    /// Order of arrival.
    #[default]
    Arrival,
    /// Order of the callers' quality of service ([`RequestQos`](crate::policy::RequestQos)):
    /// priority, then importance, then the nearer deadline, then communication class. Order of
    /// arrival among equals; requests without QoS come last.
    Urgency,
    /// Order of the callers' periods: priority, then the shorter period (rate monotonic), then as
    /// [`Urgency`](Self::Urgency).
    Rate,
}

impl QueueOrder {
    /// Returns the position of a request with these contexts in the queue; `None` for a position behind all requests
    /// that have one.
    pub(crate) fn place(self, contexts: &ServiceContexts<'_>) -> Option<Urgency> {
        match self {
            QueueOrder::Arrival => None,
            QueueOrder::Urgency => Qos::of(contexts).map(|qos| qos.urgency()),
            QueueOrder::Rate => Qos::of(contexts).map(|qos| qos.rate()),
        }
    }
}

impl ThreadpoolLane {
    /// Returns a lane with this number of threads, all of which exist from the start.
    pub fn new(priority: Priority, static_threads: usize) -> Self {
        ThreadpoolLane {
            priority,
            static_threads,
            dynamic_threads: 0,
            cpu: None,
            busy_poll: None,
            dscp: None,
            socket_priority: None,
            pacing: None,
            napi: None,
            scheduling: LaneScheduling::AsOrb,
        }
    }

    /// Sets the maximum number of further threads, which are started when all others are busy. The request that finds
    /// all threads busy pays for the start of one.
    pub fn dynamic_threads(mut self, threads: usize) -> Self {
        self.dynamic_threads = threads;
        self
    }

    /// Binds the threads to a processor.
    pub fn cpu(mut self, cpu: usize) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// Sets the DSCP of the packets of its connections.
    pub fn dscp(mut self, dscp: u8) -> Self {
        self.dscp = Some(dscp);
        self
    }

    /// Sets the queue of the network device for its packets, 0 to 6.
    pub fn socket_priority(mut self, priority: u8) -> Self {
        self.socket_priority = Some(priority);
        self
    }

    /// Sets the time for which reads of its connections poll the network device.
    pub fn busy_poll(mut self, time: Duration) -> Self {
        self.busy_poll = Some(time);
        self
    }

    /// Sets the maximum send rate of each of its connections, in octets per second, which the system paces. A lower
    /// rate of a POA's Bandwidth policy has precedence.
    pub fn pacing(mut self, octets: NonZeroU64) -> Self {
        self.pacing = Some(octets);
        self
    }

    /// Makes kernel threads at the lane's priority receive the packets of a network device, such as `eth0`. If the
    /// device or the system does not permit it, packets are received as without this setting, and
    /// `Incident::LaneNotSteered` reports the reason.
    pub fn napi(mut self, device: impl Into<String>) -> Self {
        self.napi = Some(device.into());
        self
    }

    /// Sets a scheduling of the lane's threads in the kernel that differs from the ORB's.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use oxorb_core::{LaneScheduling, ThreadpoolLane};
    /// use oxorb_rt::Priority;
    /// use oxorb_sys::schedule::Reservation;
    ///
    /// // 2 ms of processor time within 10 ms, in each 20 ms.
    /// let control = ThreadpoolLane::new(Priority::MAX, 1).scheduling(LaneScheduling::Reserved(Reservation {
    ///     runtime: Duration::from_millis(2),
    ///     deadline: Duration::from_millis(10),
    ///     period: Duration::from_millis(20),
    /// }));
    /// ```
    pub fn scheduling(mut self, scheduling: LaneScheduling) -> Self {
        self.scheduling = scheduling;
        self
    }
}

impl Threadpool {
    /// Returns a pool without lanes, whose threads have priority 0 between requests.
    pub fn new(static_threads: usize) -> Self {
        Threadpool {
            has_lanes: false,
            ..Threadpool::with_lanes([ThreadpoolLane::new(Priority::MIN, static_threads)])
        }
    }

    /// Returns a pool with lanes.
    pub fn with_lanes(lanes: impl IntoIterator<Item = ThreadpoolLane>) -> Self {
        Threadpool {
            lanes: lanes.into_iter().collect(),
            has_lanes: true,
            stack_size: 0,
            borrowing: false,
            buffering: None,
            buffers: None,
            value_arena: None,
            serving: Serving::Reader,
            reactor: None,
            periods: Vec::new(),
            front: None,
        }
    }

    /// Sets how requests are assigned to threads.
    pub fn serving(mut self, serving: Serving) -> Self {
        self.serving = serving;
        self
    }

    /// Sets the reactor of the lanes; the default is the option Reactor.
    ///
    /// Under SCHED_FIFO and SCHED_RR a thread that polls keeps all less urgent threads from its processor. Each lane
    /// must then have one thread and a processor of its own ([`ThreadpoolLane::cpu`]), and the machine at least one
    /// processor more.
    pub fn reactor(mut self, reactor: ReactorChoice) -> Self {
        self.reactor = Some(reactor);
        self
    }

    pub(in crate::server) fn with_periods(mut self, periods: Vec<Duration>) -> Self {
        self.periods = periods;
        self
    }

    /// Sets `dynamic_threads` of a pool without lanes.
    pub fn dynamic_threads(mut self, threads: usize) -> Self {
        if let (false, [lane]) = (self.has_lanes, self.lanes.as_mut_slice()) {
            lane.dynamic_threads = threads;
        }
        self
    }

    /// Returns the lanes, in the order given; a pool without lanes has one.
    pub fn lanes(&self) -> &[ThreadpoolLane] {
        &self.lanes
    }

    /// Sets `default_priority` of a pool without lanes: the priority of its threads between
    /// requests.
    pub fn default_priority(mut self, priority: Priority) -> Self {
        if let (false, [lane]) = (self.has_lanes, self.lanes.as_mut_slice()) {
            lane.priority = priority;
        }
        self
    }

    /// Sets the stack size of each thread in octets (`stacksize`); 0, the default, selects the system's size.
    pub fn stack_size(mut self, octets: usize) -> Self {
        self.stack_size = octets;
        self
    }

    /// Enables borrowing (`allow_borrowing`): a lane whose threads are all busy uses a thread of a lower lane for a
    /// while. A chain has at most five lanes.
    pub fn allow_borrowing(mut self) -> Self {
        self.borrowing = true;
        self
    }

    /// Sets the size of message buffers that each lane allocates and touches before clients connect. They take
    /// `connections * octets * 2` octets, and 48 more for each buffer. Without them a connection allocates its buffers
    /// when it is accepted and when its messages grow; after warm-up neither allocates. Not in the specification.
    pub fn message_buffers(mut self, buffers: MessageBuffers) -> Self {
        self.buffers = Some(buffers);
        self
    }

    /// Sets the size of the arena for decoded values of `@borrowed` parameters, which each thread allocates and touches
    /// at its start; by default a thread allocates the size of the option ValueArena with its first such request. Not
    /// in the specification.
    pub fn value_arena(mut self, octets: usize) -> Self {
        self.value_arena = Some(octets);
        self
    }

    /// Enables request buffering (`allow_request_buffering`): requests that find all threads busy are read and queued.
    /// Costs a thread for each lane. With [`Serving::Queue`] these are the limits of the queue.
    pub fn buffering(mut self, limits: RequestBuffering) -> Self {
        self.buffering = Some(limits);
        self
    }

    /// Checks the plan, and returns the reason if it cannot be carried out.
    pub(crate) fn check(&self, shared: &Shared) -> Result<(), ThreadpoolError> {
        let wrong = |why| Err(ThreadpoolError::BadParameter(why));
        if self.lanes.is_empty() {
            return wrong("a threadpool with lanes needs at least one lane");
        }
        if self.periods.iter().any(Duration::is_zero) {
            return wrong("a rate group needs a period or a rate greater than 0");
        }
        if self.lanes.iter().any(|lane| lane.static_threads == 0) {
            return wrong("a lane needs at least one static thread");
        }
        let mut priorities: Vec<_> = self.lanes.iter().map(|lane| lane.priority).collect();
        priorities.sort();
        if priorities.windows(2).any(|pair| pair[0] == pair[1]) {
            return wrong(
                "the lanes of a threadpool must have different priorities, and rate groups different periods",
            );
        }
        self.check_serving()?;
        if self.borrowing && self.buffering.is_none() && self.lanes.len() > CHAIN {
            return wrong(
                "at most five lanes can borrow from each other, unless requests are buffered",
            );
        }
        if self.lanes.iter().any(|lane| lane.dscp > Some(63)) {
            return wrong("a DSCP must be from 0 to 63");
        }
        if self.lanes.iter().any(|lane| lane.socket_priority > Some(6)) {
            return wrong("a socket priority must be from 0 to 6");
        }
        if self.value_arena.is_some_and(|octets| octets < 1024) {
            return wrong("a value arena must have at least 1024 octets");
        }
        if let Some(buffers) = self.buffers {
            let options = &shared.options;
            if buffers.octets == 0 || buffers.octets > options.limits.kept_capacity {
                return wrong(
                    "a message buffer must have at least 1 octet, and at most as many as a connection keeps \
                     (-ORBKeptCapacity)",
                );
            }
            if buffers.connections > options.max_connections {
                return wrong(
                    "there can be message buffers for at most the maximum number of connections (-ORBMaxConnections)",
                );
            }
        }
        for lane in &self.lanes {
            let native = shared.scheduling.native(lane.priority);
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
                "lanes can borrow only threads that wait for requests; if a reader passes requests on, give each lane \
                 the threads that it needs (serving)",
            ),
            _ if dynamic => wrong(
                "dynamic threads can only help reading threads; if a reader passes requests on, give each lane the \
                 threads that it needs (serving)",
            ),
            Serving::Queue => Ok(()),
            Serving::ThreadPerRequest | Serving::ThreadPerConnection
                if self.buffering.is_some() =>
            {
                wrong(
                    "with a thread for each request or connection, no request waits in a buffer; remove buffering, or \
                 serve from a queue (serving)",
                )
            }
            Serving::ThreadPerRequest | Serving::ThreadPerConnection => Ok(()),
        }
    }

    /// Checks that the lanes can be scheduled as configured.
    pub(super) fn check_scheduling(
        &self,
        shared: &Shared,
        id: ThreadpoolId,
    ) -> Result<(), ThreadpoolError> {
        (0..self.lanes.len()).try_for_each(|at| self.check_scheduling_of(shared, id, at))
    }

    fn check_scheduling_of(
        &self,
        shared: &Shared,
        id: ThreadpoolId,
        at: usize,
    ) -> Result<(), ThreadpoolError> {
        let lane = &self.lanes[at];
        let wrong = |why| Err(ThreadpoolError::BadParameter(why));
        if lane.scheduling == LaneScheduling::AsOrb {
            return Ok(());
        }
        if self.borrowing {
            return wrong(
                "lanes that borrow from each other must have the same scheduling: remove the lane's own scheduling, or \
                 borrowing",
            );
        }
        if !self.has_lanes {
            return wrong(
                "threads of a pool without lanes take the priority of each request, as -ORBSchedPolicy says: give the \
                 pool lanes, or remove the scheduling of the pool",
            );
        }
        let real_time =
            |class| matches!(class, SchedulingClass::Fifo | SchedulingClass::RoundRobin);
        match lane.scheduling {
            LaneScheduling::Class(class)
                if real_time(class) && !real_time(shared.options.realtime.class) =>
            {
                wrong(
                    "a lane in SCHED_FIFO or SCHED_RR needs native priorities: choose one of these for the ORB, too \
                     (-ORBSchedPolicy)",
                )
            }
            LaneScheduling::Reserved(_) if self.cpu(&shared.options, id, at).is_some() => wrong(
                "the kernel moves threads with reserved time between processors: remove the lane's processor (cpu, \
                 -ORBLaneCPU), or its reservation",
            ),
            LaneScheduling::Reserved(_)
                if lane.dynamic_threads > 0 || self.serving.starts_threads() =>
            {
                wrong(
                    "time can be reserved only for threads that exist from the start: remove dynamic threads and \
                     threads for each request or connection, or the lane's reservation",
                )
            }
            _ => Ok(()),
        }
    }

    /// Returns the processor of a lane's threads.
    pub(super) fn cpu(&self, options: &Options, id: ThreadpoolId, at: usize) -> Option<usize> {
        let cpus = &options.realtime.lane_cpus;
        let named = || LaneNumber::of(cpus, id.0, at as u32).map(usize::from);
        self.lanes[at].cpu.or_else(named)
    }

    /// Returns the DSCP of a lane's packets, if the plan or the configuration sets one.
    pub(super) fn mark(&self, options: &Options, id: ThreadpoolId, at: usize) -> Option<u8> {
        let named = || LaneNumber::of(&options.realtime.lane_dscps, id.0, at as u32);
        self.lanes[at].dscp.or_else(|| named().map(|dscp| dscp as u8))
    }

    /// Reports, once, if priorities of lanes do not reach the scheduler.
    pub(super) fn warn_of_priorities(&self, shared: &Shared, id: ThreadpoolId) {
        let unscheduled = shared.options.realtime.class == SchedulingClass::Other
            && self.lanes.len() > 1
            && self.lanes.iter().all(|lane| lane.scheduling == LaneScheduling::AsOrb);
        if unscheduled {
            let pool = || format!("threadpool {}", id.0);
            shared.watch.note_once(Incident::PrioritiesNotScheduled, pool, String::new);
        }
    }

    /// Checks that polling threads leave processors to other threads.
    pub(super) fn check_reactor(
        &self,
        shared: &Shared,
        id: ThreadpoolId,
    ) -> Result<(), ThreadpoolError> {
        let wrong = |why| Err(ThreadpoolError::BadParameter(why));
        let options = &shared.options;
        if self.reactor.unwrap_or(options.reactor) == ReactorChoice::Epoll {
            return Ok(());
        }
        if self.serving == Serving::ThreadPerConnection {
            return wrong("a thread with one connection does not use a reactor; remove busy-poll");
        }
        if options.realtime.class == SchedulingClass::Other {
            return Ok(());
        }
        let cpus = (0..self.lanes.len()).filter_map(|at| self.cpu(&shared.options, id, at));
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
                "busy-poll under SCHED_FIFO or SCHED_RR would block all other threads on the processor: give each lane \
                 one thread that reads and serves, and its own processor (cpu), or use epoll or SCHED_OTHER",
            );
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        if cpus.len() >= processors {
            return wrong(
                "busy-poll under SCHED_FIFO or SCHED_RR on every processor would leave no processor for the rest of \
                 the system: keep one free, or use epoll or SCHED_OTHER",
            );
        }
        Ok(())
    }
}
