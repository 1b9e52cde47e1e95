//! State of a lane: its reactor, the connections that wait there, and its queues. `lane_threads.rs` serves them.

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use oxorb_rt::Priority;
use oxorb_sys::poll::Token;
use oxorb_sys::thread::{Places, ThreadPurpose};
use oxorb_transport::{Link, Properties};

use super::assigned::LaneWork;
use super::connection::Connection;
use super::followers::Followers;
use super::handed_on::{Handed, HandedOn};
use super::lane_memory::{Memory, MessageBuffers};
use super::queue::Queue;
use super::reactor::{self, Armed, Reactor};
use super::reserve::Reserve;
use super::side::ServerSide;
use super::takeover::Takeover;
use super::threadpool::{DropRules, QueueOrder};
use crate::Incident;
use crate::LaneScheduling;
use crate::ReactorChoice;
use crate::Serving;
use crate::monitoring::metrics::LaneState;
use crate::reference::LaneOf;
use crate::shared::Shared;
use crate::threads::lock::Mutex;
use crate::threads::sync::{
    Condvar, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    attributed,
};
use crate::threads::{Confines, clock};

/// Time between two checks of a lane's threads for stalled connections, and for the end of the
/// lane.
pub(super) const TICK: Duration = Duration::from_millis(500);

/// Configuration of a lane.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    /// Name of the lane's threads.
    pub(crate) name: String,
    /// Threadpool of the lane; 0 for the ORB's own.
    pub(crate) pool: u32,
    /// Index in the threadpool, from 0.
    pub(crate) lane: u32,
    /// CORBA priority of its threads; `None` for none.
    pub(crate) priority: Option<Priority>,
    /// Scheduling of the lane's threads in the kernel.
    pub(crate) scheduling: LaneScheduling,
    /// Rule that determines which thread serves a request.
    pub(crate) serving: Serving,
    /// Reactor at which the lane's threads wait.
    pub(crate) reactor: ReactorChoice,
    /// Order in which requests leave the queue.
    pub(crate) order: QueueOrder,
    /// Rules by which oneways may be dropped from the queue.
    pub(crate) drops: DropRules,
    /// Maximum numbers of queued requests and of their octets; `None` for a lane without a queue.
    pub(crate) queue: Option<(usize, usize)>,
    /// Number of threads that exist from the start; with a thread for each request, the maximum number of threads.
    pub(crate) static_threads: usize,
    /// Maximum number of further threads, which are started on demand.
    pub(crate) dynamic_threads: usize,
    /// Time that a dynamic thread is idle before it ends, if another thread waits; `None` for no limit.
    pub(crate) dynamic_idle: Option<Duration>,
    /// Stack size of each thread in octets; `None` for the system's default.
    pub(crate) stack_size: Option<usize>,
    /// Processor of the lane's threads; `None` for any.
    pub(crate) cpu: Option<usize>,
    /// Whether the lane's threads touch their stack before they serve.
    pub(crate) prefault: bool,
    /// DSCP of the packets of the lane's connections.
    pub(crate) dscp: Option<u8>,
    /// Queue of the network device for its connections' packets.
    pub(crate) socket_priority: Option<u8>,
    /// Time for which reads of its connections poll the network device.
    pub(crate) busy_poll: Option<Duration>,
    /// Maximum send rate of each of its connections, in octets per second.
    pub(crate) pacing: Option<u64>,
    /// Buffers allocated before connections are accepted.
    pub(crate) buffers: Option<MessageBuffers>,
    /// Size of the arena for decoded values that each thread has from its start, in octets.
    pub(crate) value_arena: Option<usize>,
}

thread_local! {
    /// ORB number and lane of a lane's thread.
    static SERVING: Cell<Option<(u32, LaneOf)>> = const { Cell::new(None) };
}

/// Returns the calling thread's lane of the ORB with this number.
#[inline]
pub(crate) fn serving_lane(orb: u32) -> Option<LaneOf> {
    let (number, lane) = SERVING.get()?;
    (number == orb).then_some(lane)
}

/// Threads of a lane, and the connections that none of them serves at the moment.
pub(crate) struct Lane {
    pub(super) plan: Plan,
    pub(super) reactor: Box<dyn Reactor>,
    /// Connections that wait at the reactor; a thread removes the one it serves.
    parked: Mutex<HashMap<u64, Connection>>,
    /// Number of parked connections, for threads that do not take the lock.
    pub(super) parked_count: AtomicUsize,
    /// Number of threads that wait at the reactor: while there is one, others may stay with their
    /// connections.
    pub(super) waiting: AtomicUsize,
    /// Number of threads started on demand.
    pub(super) dynamic: AtomicUsize,
    /// Connections whose threads are still running a request, and jobs.
    pub(super) handed_on: HandedOn<Handed<Connection>>,
    /// Threads that take over connections, if each connection has a thread.
    pub(super) followers: Followers<Connection>,
    /// Takeover of the lane's connections, if its threads have native priorities.
    pub(super) takeover: Takeover,
    /// Work that waits for a thread.
    pub(super) queue: Option<Queue<LaneWork>>,
    /// Time of the next check for stalled connections, in nanoseconds of the monotonic clock.
    next_look: AtomicU64,
    /// Time at which the pause of a parked connection ends, the earliest of all, in nanoseconds of the monotonic clock;
    /// `u64::MAX` if none is paused.
    next_resume: AtomicU64,
    /// Number of threads at the reactor that wait until that time at most.
    resuming: AtomicUsize,
    pub(super) reserve: Reserve,
    /// Lane of the threadpool that serves requests beyond their budgets, if it is another one and has a queue.
    pub(super) lowest: OnceLock<Weak<Lane>>,
    /// Set if this is the lane for requests beyond their budgets.
    pub(super) is_lowest: OnceLock<()>,
    /// Buffers for connections.
    pub(super) memory: Option<Arc<Memory>>,
    /// Names of the lane's connections, for the list of threads.
    pub(super) places: Arc<Places>,
    /// Whether the system's refusal of busy polling was reported.
    polls_in_vain: AtomicBool,
    stopping: AtomicBool,
    alive: Mutex<usize>,
    changed: Condvar,
}

impl Lane {
    /// Returns a lane without threads; [`start`](Self::start) starts them.
    pub(super) fn new(plan: Plan, reserve: Reserve) -> io::Result<Lane> {
        let queue = |(requests, octets)| match plan.order {
            QueueOrder::Arrival => Queue::new(requests, octets),
            QueueOrder::Urgency | QueueOrder::Rate => Queue::new(requests, octets).with_urgency(),
        };
        Ok(Lane {
            reactor: reactor::make(plan.reactor)?,
            memory: plan.buffers.map(|planned| Arc::new(Memory::new(planned))),
            queue: plan.queue.map(queue),
            plan,
            places: Arc::default(),
            handed_on: HandedOn::default(),
            followers: Followers::default(),
            takeover: Takeover::default(),
            parked: Mutex::default(),
            parked_count: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            dynamic: AtomicUsize::new(0),
            next_look: AtomicU64::new(0),
            next_resume: AtomicU64::new(u64::MAX),
            resuming: AtomicUsize::new(0),
            reserve,
            polls_in_vain: AtomicBool::new(false),
            lowest: OnceLock::new(),
            is_lowest: OnceLock::new(),
            stopping: AtomicBool::new(false),
            alive: Mutex::new(0),
            changed: Condvar::new(),
        })
    }

    /// Returns the priority of its threads, if they have one of their own.
    pub(crate) fn priority(&self) -> Option<Priority> {
        self.plan.priority
    }

    /// Returns the state of the lane at this moment. Takes no lock.
    pub(super) fn state(&self) -> LaneState {
        LaneState {
            pool: self.plan.pool,
            lane: self.plan.lane,
            priority: self.plan.priority.map(Priority::get),
            waiting: self.waiting.load(Ordering::Relaxed),
            dynamic: self.dynamic.load(Ordering::Relaxed),
            parked: self.parked_count.load(Ordering::Relaxed),
            queue: self.queue.as_ref().map(Queue::occupancy),
            memory: self.memory.as_ref().map(|memory| memory.report()),
        }
    }

    /// Makes the lane with the lowest priority of a threadpool serve requests beyond their budgets.
    pub(super) fn find_lowest(lanes: &[Arc<Lane>]) {
        let lowest = lanes.iter().min_by_key(|lane| lane.plan.priority);
        let Some(lowest) = lowest.filter(|_| lanes.len() > 1) else {
            return;
        };
        // Other lanes of the lowest priority leave such requests to the thread that reads them.
        let less = |lane: &&Arc<Lane>| lane.plan.priority > lowest.plan.priority;
        let _ = lowest.is_lowest.set(());
        if lowest.queue.is_some() {
            for lane in lanes.iter().filter(less) {
                let _ = lane.lowest.set(Arc::downgrade(lowest));
            }
        }
    }

    /// Returns a builder of a thread of the lane, with its priority and processor, but without a reservation.
    pub(super) fn builder(
        &self,
        shared: &Shared,
        purpose: ThreadPurpose,
        name: &str,
    ) -> attributed::Builder {
        let threads = &shared.threads;
        let mut schedule = shared.scheduling.declared(self.plan.priority);
        if let (LaneScheduling::Class(class), Some(priority)) =
            (self.plan.scheduling, self.plan.priority)
        {
            schedule = shared.scheduling.declared_in(class, priority);
        }
        let builder = threads.builder_at(purpose, name, schedule);
        match self.plan.cpu {
            Some(cpu) => builder.cpu(cpu),
            None => builder,
        }
    }

    /// Makes the calling thread the owner of the servants confined to the lane, if it is the lane's
    /// only serving thread.
    pub(super) fn confine_here(&self, shared: &Shared) -> Option<Confines> {
        if self.plan.pool == 0 || self.is_one_thread().is_err() {
            return None;
        }
        let lane = LaneOf { pool: self.plan.pool, lane: self.plan.lane };
        Some(Confines::begin(shared.scheduling.number(), lane))
    }

    /// Records that the calling thread belongs to the lane.
    pub(super) fn mark(&self, shared: &Shared) {
        if self.plan.pool != 0 {
            let lane = LaneOf { pool: self.plan.pool, lane: self.plan.lane };
            SERVING.set(Some((shared.scheduling.number(), lane)));
        }
    }

    /// Makes the calling thread work at the lane's priority. The lane's reservation applies only to its own threads.
    pub(super) fn enter_unreserved(&self, shared: &Shared) {
        self.mark(shared);
        let scheduling = match self.plan.scheduling {
            LaneScheduling::Reserved(_) => LaneScheduling::AsOrb,
            other => other,
        };
        if let Some(priority) = self.plan.priority {
            shared.priorities().enter_lane(priority, scheduling);
        }
    }

    /// Queues a connection from which `octets` octets were read. In the lane's queue, threads that other lanes lend can
    /// take the connection, too: the reactor, at which they look otherwise, does not report these octets.
    pub(super) fn give_received(&self, mut connection: Connection, octets: usize) {
        let is_queued = octets > 0 && self.plan.serving == Serving::Reader;
        match self.queue.as_ref().filter(|_| is_queued) {
            None => self.give(connection),
            Some(queue) => {
                let (urgency, _) = connection.next_place(self.plan.order, &self.plan.drops);
                queue.reserve_anyway(octets);
                queue.push(LaneWork::Connection(connection), octets, urgency);
                self.wake_somebody();
            }
        }
    }

    /// Applies the lane's packet properties to a connection. A refusal of busy polling is not an error; it is reported
    /// once for each lane.
    pub(super) fn steer(&self, shared: &Shared, link: &dyn Link) -> io::Result<()> {
        let properties = Properties {
            dscp: self.plan.dscp,
            queue_priority: self.plan.socket_priority,
            busy_poll: self.plan.busy_poll,
            ..Properties::default()
        };
        if properties == Properties::default() {
            return Ok(());
        }
        match link.apply(&properties) {
            Err(error)
                if properties.busy_poll.is_some()
                    && error.kind() == io::ErrorKind::PermissionDenied =>
            {
                if !self.polls_in_vain.swap(true, Ordering::Relaxed) {
                    let why = || {
                        format!(
                            "busy_poll is more than net.core.busy_read and needs CAP_NET_ADMIN ({error}); its reads wait for \
                             the device"
                        )
                    };
                    shared.note(Incident::LaneNotSteered, || self.plan.name.clone(), why);
                }
                Ok(())
            }
            other => other,
        }
    }

    /// Waits for a report of the reactor, at most until the first pause of a parked connection ends.
    pub(super) fn wait_for_report(&self, limit: Duration) -> io::Result<Option<Token>> {
        let Some(left) = self.until_resume() else {
            return self.reactor.wait_one(limit);
        };
        self.resuming.fetch_add(1, Ordering::SeqCst);
        let report = self.reactor.wait_one(left.min(limit));
        self.resuming.fetch_sub(1, Ordering::SeqCst);
        report
    }

    /// Wakes another waiting thread, for a thread that leaves the reactor, if a connection is paused and no thread
    /// waits for the end of the pause. Costs a comparison while none is paused.
    #[inline]
    pub(super) fn leave_pauses(&self) {
        if self.next_resume.load(Ordering::Relaxed) != u64::MAX
            && self.resuming.load(Ordering::SeqCst) == 0
            && self.waiting.load(Ordering::SeqCst) > 0
        {
            self.reactor.wake();
        }
    }

    /// Parks a connection until it has a request and a thread is free.
    pub(super) fn park(&self, side: &ServerSide, mut connection: Connection) {
        if connection.armed {
            return self.put(connection);
        }
        connection.armed = true;
        let id = connection.id;
        let link = Arc::clone(&connection.link);
        self.put(connection);
        if self.reactor.rearm(&link, Token(id), self.arming()).is_err()
            && let Some(connection) = self.take(id)
        {
            self.end(side, connection);
        }
    }

    /// Parks a connection that must not be read, even if it has input, until the next check.
    pub(super) fn put_off(&self, mut connection: Connection) {
        connection.intake.throttled = true;
        if std::mem::take(&mut connection.armed) {
            self.disarm(&connection.link, connection.id);
        }
        let until = connection.intake.paused_until;
        self.put(connection);
        // A thread that waits already does not know this time, so it is woken to wait for a shorter time.
        if until != 0 && self.next_resume.fetch_min(until, Ordering::Relaxed) > until {
            self.wake_somebody();
        }
    }

    /// Returns the time until the first pause of a parked connection ends; `None` if none is paused.
    pub(super) fn until_resume(&self) -> Option<Duration> {
        match self.next_resume.load(Ordering::Relaxed) {
            u64::MAX => None,
            at => Some(Duration::from_nanos(at.saturating_sub(clock::monotonic_nanoseconds()))),
        }
    }

    /// Takes up the parked connections whose pauses have ended.
    pub(super) fn resume_paused(&self, side: &ServerSide) {
        // Connections that are put off from now on set the time again, so it is reset before the others are checked.
        self.next_resume.store(u64::MAX, Ordering::Relaxed);
        let mut next = u64::MAX;
        let mut parked = self.parked.lock();
        let now = clock::monotonic_nanoseconds();
        let resumed: Vec<Connection> = parked
            .extract_if(|_, connection| match connection.intake.paused_until {
                0 => false,
                until if until <= now => true,
                until => {
                    next = next.min(until);
                    false
                }
            })
            .map(|(_, connection)| connection)
            .collect();
        self.parked_count.store(parked.len(), Ordering::Relaxed);
        drop(parked);
        self.next_resume.fetch_min(next, Ordering::Relaxed);
        for mut connection in resumed {
            connection.intake.resume();
            self.take_up(side, connection);
        }
    }

    /// Takes up a connection that was put off.
    fn take_up(&self, side: &ServerSide, connection: Connection) {
        // The reactor does not report octets that the link has already read, or a message that is held. It reports an
        // armed connection to another thread, so that connection stays parked.
        match !connection.armed && (connection.held || connection.link.pending()) {
            true => self.give(connection),
            false => self.park(side, connection),
        }
    }

    /// Disarms a connection, which another thread reads until the connection is parked again.
    pub(super) fn disarm(&self, link: &Arc<dyn Link>, id: u64) {
        // If the connection stayed armed, the reactor would report it, but the woken thread would not find it parked.
        let _ = self.reactor.disarm(link, Token(id));
    }

    /// Re-arms the connection after a failed takeover.
    pub(super) fn rearm(&self, link: &Arc<dyn Link>, id: u64) {
        let _ = self.reactor.rearm(link, Token(id), self.arming());
    }

    /// Returns the number of reports for which its connections are armed.
    pub(super) fn arming(&self) -> Armed {
        match self.polls_alone() {
            true => Armed::Always,
            false => Armed::Once,
        }
    }

    /// Reports whether only a single thread ever waits at its reactor.
    pub(super) fn polls_alone(&self) -> bool {
        let pollers = match self.plan.serving {
            Serving::Reader => self.plan.static_threads,
            Serving::Queue | Serving::ThreadPerRequest => 1,
            Serving::ThreadPerConnection => 0,
        };
        pollers == 1 && self.plan.dynamic_threads == 0 && self.reserve.is_empty()
    }

    /// Reports whether a check is due; returns true to one thread in each tick.
    pub(super) fn is_time_to_look(&self) -> bool {
        let now = clock::monotonic_nanoseconds();
        let due = self.next_look.load(Ordering::Relaxed);
        let next = now + TICK.as_nanos() as u64;
        let (set, load) = (Ordering::Relaxed, Ordering::Relaxed);
        now >= due && self.next_look.compare_exchange(due, next, set, load).is_ok()
    }

    pub(super) fn look_after_parked(&self, side: &ServerSide) {
        let mut parked = self.parked.lock();
        let ended: Vec<Connection> = parked
            .extract_if(|_, connection| connection.is_overdue(side))
            .map(|(_, connection)| connection)
            .collect();
        let put_off: Vec<Connection> = parked
            .extract_if(|_, connection| connection.intake.throttled)
            .map(|(_, connection)| connection)
            .collect();
        self.parked_count.store(parked.len(), Ordering::Relaxed);
        drop(parked);
        for connection in ended {
            self.end(side, connection);
        }
        for connection in put_off {
            self.take_up(side, connection);
        }
    }

    pub(super) fn end(&self, side: &ServerSide, connection: Connection) {
        let _ = self.reactor.remove(&connection.link);
        connection.leave(side);
    }

    pub(super) fn put(&self, connection: Connection) {
        let mut parked = self.parked.lock();
        parked.insert(connection.id, connection);
        self.parked_count.store(parked.len(), Ordering::Relaxed);
    }

    pub(super) fn take(&self, id: u64) -> Option<Connection> {
        let mut parked = self.parked.lock();
        let mut taken = parked.remove(&id);
        self.parked_count.store(parked.len(), Ordering::Relaxed);
        if let Some(connection) = &mut taken {
            connection.armed &= self.polls_alone();
        }
        taken
    }

    pub(super) fn is_idle(&self, since: Option<Instant>) -> bool {
        let limit = self.plan.dynamic_idle;
        since.zip(limit).is_some_and(|(since, limit)| clock::since(since) >= limit)
    }

    /// Wakes another thread if more requests wait: several wake-ups may have been merged into the one that woke this
    /// thread.
    pub(super) fn wake_for_the_rest(&self) {
        if !self.nothing_waits() {
            self.wake_somebody();
        }
    }

    /// Reports whether no request waits for one of its threads.
    pub(super) fn nothing_waits(&self) -> bool {
        self.handed_on.is_empty() && self.queue.as_ref().is_none_or(Queue::is_idle)
    }

    /// Reports whether a thread waits that could read a connection while another thread runs its
    /// request.
    pub(super) fn has_follower(&self) -> bool {
        self.plan.serving == Serving::Reader
            && !self.polls_alone()
            && self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Queues a connection for the next free thread.
    pub(super) fn give(&self, connection: Connection) {
        self.handed_on.push(Handed::Connection(connection));
        self.wake_somebody();
    }

    /// Reports whether the lane's threads must end.
    pub(super) fn is_over(&self, side: &ServerSide) -> bool {
        side.registry.has_ended()
            || (self.is_stopping()
                && self.nothing_waits()
                && side.registry.is_empty_of(self.plan.pool))
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Stops accepting connections; the threads end after the last connection.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.followers.end();
        self.takeover.wake();
        if let Some(queue) = &self.queue {
            queue.close();
        }
        self.reactor.wake();
    }

    /// Waits until all its threads have ended; returns false if `until` passes before.
    pub(super) fn wait_ended(&self, until: Instant) -> bool {
        let mut alive = self.alive();
        while *alive > 0 {
            let Some(left) = until.checked_duration_since(clock::now()) else {
                return false;
            };
            alive = self.changed.wait_timeout(alive, left).0;
        }
        true
    }

    /// Waits until all its threads have ended.
    #[cfg(all(test, feature = "model"))]
    pub(crate) fn join(&self) {
        let mut alive = self.alive();
        while *alive > 0 {
            alive = self.changed.wait(alive);
        }
    }

    pub(super) fn alive(&self) -> MutexGuard<'_, usize> {
        self.alive.lock()
    }
}

/// Count of a running or starting thread of a lane.
pub(super) struct Alive(pub(super) Arc<Lane>);

impl Drop for Alive {
    fn drop(&mut self) {
        *self.0.alive() -= 1;
        self.0.changed.notify_all();
    }
}
