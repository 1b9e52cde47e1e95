//! Lanes: threads shared by connections. A thread stays with a connection while the connection is busy.
//!
//! A lane owns its threads, its reactor and the connections that wait there; the ORB's default pool is one, and each
//! lane of a threadpool is another. All threads wait at the same reactor, and the kernel wakes one for each connection
//! with input: it leads, the others follow. The leader reads, serves and writes and, instead of returning to the
//! reactor after each request, waits for a moment on the connection itself. A request on a busy connection thus costs
//! one read and one write, as with a thread per connection.
//!
//! This applies if [`Serving`] is `Reader`, which with one thread is a single-threaded reactor. Otherwise one thread
//! reads and others serve (`assign.rs`), or each connection has a thread of its own at the lane's priority.
//!
//! `lending.rs` handles the case that all threads of a lane are busy.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_sys::poll::Token;
use oxorb_sys::thread::ThreadPurpose;
use oxorb_transport::Link;

use super::connection::Connection;
use super::connection_owner::ConnectionOwner;
use super::handed_on::Handed;
use super::lane::{Alive, Lane, Plan, TICK};
use super::lane_memory::Memory;
use super::per_connection;
use super::reactor::Armed;
use super::registry::AdmittedConnection;
use super::reserve::Reserve;
use super::serve::ServingEnd;
use crate::conn::place;
use crate::threads::clock;
use crate::threads::sync::atomic::Ordering;
use crate::threads::sync::thread;
use crate::{Concurrency, LaneScheduling, Orb, Serving};

/// Shortest time that a waiting thread of a lane with a short idle time sleeps.
const SHORTEST_TICK: Duration = Duration::from_millis(10);

/// Outcome of a wait at a reactor.
enum WaitResult {
    Served,
    Nothing,
}

impl Lane {
    /// Returns the default pool of an ORB, whose threads have no priority of their own. `None` if each connection has a
    /// thread.
    pub(crate) fn of_orb(orb: &Orb) -> io::Result<Option<Arc<Lane>>> {
        let options = orb.options();
        let concurrency = options.concurrency;
        let Some((serving, threads)) = concurrency.serving() else {
            return Ok(None);
        };
        let max_octets = options.realtime.max_buffered_octets;
        let plan = Plan {
            name: "oxorb-worker".to_owned(),
            serving,
            reactor: options.reactor,
            queue: match concurrency {
                Concurrency::WorkerPool { queue, .. } => Some((queue, max_octets)),
                _ => None,
            },
            static_threads: threads.max(1),
            ..Plan::default()
        };
        let lane = Arc::new(Lane::new(plan, Reserve::default())?);
        lane.start(orb)?;
        Ok(Some(lane))
    }

    /// Starts the static threads.
    pub(super) fn start(self: &Arc<Self>, orb: &Orb) -> io::Result<()> {
        let threads = self.plan.static_threads;
        let (workers, readers) = match self.plan.serving {
            Serving::Reader => (0, threads),
            Serving::Queue => (threads, 1),
            Serving::ThreadPerRequest => (0, 1),
            Serving::ThreadPerConnection => (0, 0),
        };
        for _ in 0..workers {
            self.spawn(orb, |lane, orb| lane.work_queue(orb))?;
        }
        for _ in 0..readers {
            self.spawn(orb, |lane, orb| lane.work(orb, None))?;
        }
        Ok(())
    }

    /// Starts one thread of the lane, which counts as alive until `work` returns.
    pub(super) fn spawn(
        self: &Arc<Self>,
        orb: &Orb,
        work: impl FnOnce(&Arc<Lane>, &Orb) + Send + 'static,
    ) -> io::Result<()> {
        let purpose = match self.plan.pool {
            0 => ThreadPurpose::Worker,
            _ => ThreadPurpose::Lane,
        };
        let mut builder = self.builder(orb.shared(), purpose, &self.plan.name);
        if let Some(octets) = self.plan.stack_size {
            builder = builder.stack_size(octets);
        }
        if self.plan.serving != Serving::ThreadPerConnection {
            builder = builder.places(&self.places);
        }
        if let LaneScheduling::Reserved(reservation) = self.plan.scheduling {
            builder = builder.reserve(reservation);
        }
        *self.alive() += 1;
        let alive = Alive(Arc::clone(self));
        let orb = orb.clone();
        builder.spawn(move || {
            let Alive(lane) = &alive;
            crate::threads::within::mark_server_thread();
            lane.mark(orb.shared());
            if let Some(priority) = lane.plan.priority {
                orb.shared().priorities().enter_lane(priority, lane.plan.scheduling);
            }
            if lane.plan.prefault {
                oxorb_sys::memory::prefault_stack(lane.plan.stack_size.unwrap_or(STACK) / 4);
            }
            if let Some(octets) = lane.plan.value_arena {
                crate::servant::arena::prepare(octets);
            }
            work(lane, &orb);
        })?;
        Ok(())
    }

    /// Adopts a new connection, with the octets that were read from it.
    pub(crate) fn adopt(
        self: &Arc<Self>,
        orb: &Orb,
        admitted: AdmittedConnection,
        link: Arc<dyn Link>,
        octets: &[u8],
    ) -> io::Result<()> {
        let id = admitted.id;
        link.set_read_timeout(Some(orb.options().worker_stay))?;
        link.set_write_timeout(Some(orb.options().stall_timeout))?;
        let place = self.places.add(place(link.local()));
        orb.registry().assign(id, self.plan.pool, place);
        if self.is_stopping() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        self.steer(orb.shared(), &*link)?;
        let mut connection =
            Connection::new(orb.options(), admitted, Arc::clone(&link), Some(self.plan.pool));
        let buffers = self.memory.as_ref().and_then(Memory::take);
        let has_buffers = buffers.is_some();
        if let Some(buffers) = buffers {
            connection = connection.with_buffers(buffers);
        }
        if self.plan.serving == Serving::ThreadPerConnection {
            let owner = ConnectionOwner::Thread(Some(Arc::clone(self)));
            connection.can_be_taken_over(orb, &owner);
            connection.received(orb.server(), octets);
            let started = self.spawn(orb, move |_, orb| {
                per_connection::begin(orb, &owner, connection);
            });
            if started.is_err()
                && has_buffers
                && let Some(memory) = &self.memory
            {
                // They were dropped with the connection.
                memory.replace_lost();
            }
            return started;
        }
        if self.plan.serving == Serving::Reader && !self.polls_alone() {
            connection.can_be_taken_over(orb, &ConnectionOwner::Lane(Arc::clone(self)));
        }
        connection.received(orb.server(), octets);
        // The reactor does not report octets that were already read, so a thread must serve the connection at once.
        let is_given = link.pending() || !octets.is_empty();
        connection.armed = !is_given;
        self.put(connection);
        // Reports of a connection that is served already would keep a thread busy that polls alone.
        let armed = if is_given { Armed::Once } else { self.arming() };
        let added = self.reactor.add(&link, Token(id), armed);
        if added.is_err()
            && let Some(connection) = self.take(id)
        {
            connection.give_back_buffers();
        }
        added?;
        if is_given && let Some(connection) = self.take(id) {
            self.give_received(connection, octets.len());
        }
        Ok(())
    }

    /// Runs a thread of the lane: serves until the lane or the ORB ends. A dynamic thread, which is idle since `since`,
    /// also ends after its idle time, unless no other thread waits for requests.
    pub(super) fn work(self: &Arc<Self>, orb: &Orb, mut since: Option<Instant>) {
        let owner = ConnectionOwner::Lane(Arc::clone(self));
        let _confines = self.confine_here(orb.shared());
        self.comes_back();
        let mut stays = true;
        while stays && !self.is_over(orb.server()) {
            match self.turn(orb, &owner) {
                Ok(WaitResult::Served) => since = since.map(|_| clock::now()),
                Ok(WaitResult::Nothing) if self.is_idle(since) && self.handed_on.is_empty() => {
                    stays = !self.leaves_to_others();
                }
                Ok(WaitResult::Nothing) => {}
                Err(_) => thread::sleep(TICK),
            }
            // The check is also made while the reactor always has reports; otherwise stalled connections would stay
            // open.
            if self.is_time_to_look() {
                self.look_after_parked(orb.server());
            } else if self.until_resume().is_some_and(|left| left.is_zero()) {
                self.resume_paused(orb.server());
            }
        }
        match stays {
            true => self.goes(orb),
            // The wake-up that ended the wait may have been for a request in the queue.
            false => self.reactor.wake(),
        }
        if self.is_over(orb.server()) {
            self.end_jobs();
        }
        if self.is_stopping() {
            // Each thread that ends wakes the next one, so that all threads end.
            self.reactor.wake();
        }
    }

    fn turn(self: &Arc<Self>, orb: &Orb, owner: &ConnectionOwner) -> io::Result<WaitResult> {
        if self.lend_to_queues(orb) {
            return Ok(WaitResult::Served);
        }
        if let Some(handed) = self.handed_on.pop() {
            self.goes(orb);
            self.wake_for_the_rest();
            self.leave_pauses();
            match handed {
                Handed::Connection(connection) => self.serve_own(orb, owner, connection),
                Handed::Job(job) => Self::run_job(job),
            }
            self.comes_back();
            return Ok(WaitResult::Served);
        }
        if self.plan.serving == Serving::Reader
            && let Some(queue) = &self.queue
            && let Some(work) = queue.pop()
        {
            self.goes(orb);
            self.wake_for_the_rest();
            self.leave_pauses();
            self.serve_work(orb, owner, work);
            self.comes_back();
            // At a shared port, clients of other lanes can keep the queue filled. The connections of this lane must not
            // wait until it is empty.
            if orb.options().realtime.lanes_on_one_port {
                self.serve_report(orb, owner, Duration::ZERO)?;
            }
            return Ok(WaitResult::Served);
        }
        // A thread that waits alone stays, so a short idle time must not make it spin.
        let tick = self.plan.dynamic_idle.map_or(TICK, |idle| idle.clamp(SHORTEST_TICK, TICK));
        self.serve_report(orb, owner, tick)
    }

    /// Waits for a report of the reactor, and serves the connection that it names.
    fn serve_report(
        self: &Arc<Self>,
        orb: &Orb,
        owner: &ConnectionOwner,
        limit: Duration,
    ) -> io::Result<WaitResult> {
        let Some(Token(id)) = self.wait_for_report(limit)? else {
            return Ok(WaitResult::Nothing);
        };
        self.goes(orb);
        self.leave_pauses();
        match self.reserve.borrower(id) {
            Some(upper) => upper.lent(orb),
            None => {
                if let Some(connection) = self.take(id) {
                    self.serve_own(orb, owner, connection);
                }
            }
        }
        self.comes_back();
        Ok(WaitResult::Served)
    }

    pub(super) fn serve_own(&self, orb: &Orb, owner: &ConnectionOwner, connection: Connection) {
        // A thread stays with a connection only in quiet times. If no thread waits to lead, other connections must not
        // wait for this connection's next request.
        let may_stay = || {
            !self.reactor.is_awake()
                && (self.waiting.load(Ordering::Relaxed) > 0
                    || self.parked_count.load(Ordering::Relaxed) == 0 && self.nothing_waits())
        };
        self.serve(orb, owner, connection, may_stay);
    }

    /// Serves a connection's requests; `may_stay` decides whether to wait for further ones.
    pub(super) fn serve(
        &self,
        orb: &Orb,
        owner: &ConnectionOwner,
        mut connection: Connection,
        may_stay: impl Fn() -> bool,
    ) {
        // A panic outside of a servant is a fault of the ORB. It costs this connection, but not the thread.
        let served =
            panic::catch_unwind(AssertUnwindSafe(|| connection.serve(orb, owner, may_stay)));
        match served {
            Ok(ServingEnd::Idle) => self.park(orb.server(), connection),
            Ok(ServingEnd::Throttled) => self.put_off(connection),
            Ok(ServingEnd::HandedOver) => connection.leave(orb.server()),
            Ok(ServingEnd::Ended) => self.end(orb.server(), connection),
            Err(_) => {
                // CloseConnection would state that the request did not run, so the connection is closed without it.
                connection.link.close();
                self.end(orb.server(), connection);
            }
        }
    }

    /// Starts a follower, which takes over connections that have a thread each.
    pub(super) fn start_follower(self: &Arc<Self>, orb: &Orb) -> io::Result<()> {
        self.spawn(orb, |lane, orb| {
            per_connection::follow(orb, &ConnectionOwner::Thread(Some(Arc::clone(lane))));
        })
    }
}

impl ConnectionOwner {
    /// Reserves a thread that could read a connection, if there is one; the connection is then
    /// [handed on](Self::hand_on), or the thread [released](Self::release_thread).
    pub(super) fn reserve_thread(&self, orb: &Orb) -> bool {
        match self {
            ConnectionOwner::Thread(None) => {
                orb.server().followers.reserve(|| per_connection::start_follower(orb))
            }
            ConnectionOwner::Thread(Some(lane)) => {
                lane.followers.reserve(|| lane.start_follower(orb))
            }
            ConnectionOwner::Lane(lane) => lane.has_follower(),
        }
    }
}

/// Stack size of threads without a configured one, which is Rust's default.
const STACK: usize = 2 << 20;

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::io::IoSlice;
    use std::sync::OnceLock;

    use oxorb_transport::mem::{self, MemLink};

    use super::super::assigned::{LaneWork, PING};
    use super::super::lane_memory::MessageBuffers;
    use super::*;
    use crate::{ArrivingRequest, Options, PoolThread};

    /// Returns a connection, and the client's end of it.
    fn open(orb: &Orb) -> (Connection, MemLink) {
        let (server, client) = mem::pair(64);
        let link: Arc<dyn Link> = Arc::new(server);
        let admitted = orb.registry().admit(&link, orb.options()).ok().unwrap();
        (Connection::new(orb.options(), admitted, link, Some(1)), client)
    }

    /// Returns a connection whose client has closed it.
    fn ended(orb: &Orb) -> Connection {
        open(orb).0
    }

    /// A client repeats its requests after CloseConnection, so one during which the thread panicked would run twice.
    #[test]
    fn a_connection_whose_thread_panics_during_a_shutdown_is_closed_without_a_message() {
        let lane = Arc::new(Lane::new(Plan::default(), Reserve::default()).unwrap());
        for owner in [ConnectionOwner::Thread(None), ConnectionOwner::Lane(lane)] {
            let known = Arc::<OnceLock<Orb>>::default();
            let filter = {
                let known = Arc::clone(&known);
                move |_: &ArrivingRequest<'_>| -> Option<PoolThread> {
                    known.get().unwrap().shutdown(false).unwrap();
                    panic!("as it should")
                }
            };
            let mut options = Options::default();
            options.thread_filters.add(filter);
            let orb = Orb::new(options);
            assert!(known.set(orb.clone()).is_ok());
            let (server, client) = mem::pair(4096);
            let link: Arc<dyn Link> = Arc::new(server);
            let admitted = orb.registry().admit(&link, orb.options()).ok().unwrap();
            let connection = Connection::new(orb.options(), admitted, link, Some(1));
            client.write(&mut [IoSlice::new(PING)]).unwrap();
            let (serving, by) = (&orb, &owner);
            std::thread::scope(|scope| {
                scope.spawn(move || match by {
                    ConnectionOwner::Thread(_) => per_connection::begin(serving, by, connection),
                    ConnectionOwner::Lane(lane) => lane.serve(serving, by, connection, || false),
                });
            });
            let mut octets = Vec::new();
            assert_eq!(client.read(&mut octets, 4096).ok(), Some(0), "{octets:?}");
            orb.shutdown(true).unwrap();
        }
    }

    /// The client would take CloseConnection for the rest of the reply, or repeat a request that has run.
    #[test]
    fn nothing_follows_a_reply_that_was_cut_off() {
        let orb = Orb::new(Options::default());
        let (mut connection, client) = open(&orb);
        connection.link.set_write_timeout(Some(Duration::from_millis(1))).unwrap();
        connection.sink.send_octets(&[7; 100]);
        assert!(connection.sink.broken());
        orb.shutdown(false).unwrap();
        let mut octets = Vec::new();
        while octets.len() < 64 {
            assert_ne!(client.read(&mut octets, 4096).unwrap(), 0);
        }
        connection.leave(orb.server());
        assert_eq!(client.read(&mut octets, 4096).unwrap(), 0, "{octets:?}");
        orb.shutdown(true).unwrap();
    }

    #[test]
    fn a_lane_keeps_its_buffers_if_the_thread_of_a_connection_cannot_be_started() {
        let orb = Orb::new(Options::default());
        let planned = MessageBuffers { connections: 1, octets: 1024 };
        let plan = Plan {
            serving: Serving::ThreadPerConnection,
            buffers: Some(planned),
            // No address space has room for such a stack.
            stack_size: Some(1 << 60),
            ..Plan::default()
        };
        let lane = Arc::new(Lane::new(plan, Reserve::default()).unwrap());
        let free = || lane.memory.as_ref().unwrap().report().free;
        for _ in 0..2 {
            let (server, _client) = mem::pair(64);
            let link: Arc<dyn Link> = Arc::new(server);
            let admitted = orb.registry().admit(&link, orb.options()).ok().unwrap();
            let id = admitted.id;
            assert!(lane.adopt(&orb, admitted, link, &[]).is_err());
            orb.registry().remove(id);
            assert_eq!(free(), 2);
        }
        orb.shutdown(true).unwrap();
    }

    fn is_woken(lane: &Lane) -> bool {
        let reports = lane.reactor.poll_fd().unwrap();
        oxorb_sys::poll::readable(reports, Some(Duration::ZERO)).unwrap()
    }

    /// Wake-ups of threads that have not run yet are merged.
    #[test]
    fn a_thread_that_takes_work_off_the_queue_wakes_another_one_if_there_is_more() {
        let orb = Orb::new(Options::default());
        let plan = Plan { static_threads: 2, queue: Some((8, 1024)), ..Plan::default() };
        let lane = Arc::new(Lane::new(plan, Reserve::default()).unwrap());
        let owner = ConnectionOwner::Lane(Arc::clone(&lane));
        let queue = lane.queue.as_ref().unwrap();
        for _ in 0..2 {
            lane.comes_back();
            queue.reserve_anyway(0);
            queue.push(LaneWork::Connection(ended(&orb)), 0, None);
        }
        for is_more in [true, false] {
            assert!(!is_woken(&lane));
            assert!(matches!(lane.turn(&orb, &owner), Ok(WaitResult::Served)));
            assert_eq!(is_woken(&lane), is_more);
            if is_more {
                // The other thread forgets its wake-up when it returns from its wait.
                assert!(lane.reactor.wait_one(Duration::ZERO).unwrap().is_none());
            }
        }
        orb.shutdown(true).unwrap();
    }

    #[test]
    fn a_paused_connection_is_watched_again_when_its_pause_ends() {
        let orb = Orb::new(Options::default());
        let plan = Plan { static_threads: 2, ..Plan::default() };
        let lane = Lane::new(plan, Reserve::default()).unwrap();
        let (mut paused, client) = open(&orb);
        let id = paused.id;
        lane.reactor.add(&paused.link, Token(id), Armed::Once).unwrap();
        paused.armed = true;
        paused.intake.paused_until = 1;
        lane.put_off(paused);
        client.write(&mut [IoSlice::new(b"G")]).unwrap();
        assert_eq!(lane.reactor.wait_one(Duration::ZERO).unwrap(), None, "it is not watched");
        assert_eq!(lane.until_resume(), Some(Duration::ZERO));
        lane.resume_paused(orb.server());
        assert_eq!(lane.until_resume(), None);
        assert_eq!(lane.reactor.wait_one(Duration::ZERO).unwrap(), Some(Token(id)));
        let resumed = lane.take(id).unwrap();
        assert!(!resumed.intake.throttled, "further checks need not take it up");
        lane.end(orb.server(), resumed);
        orb.shutdown(true).unwrap();
    }

    /// A thread that waits for the end of a pause may get another connection to serve. Other threads that began to wait
    /// before the pause would sleep for a whole tick.
    #[test]
    fn a_thread_that_leaves_the_reactor_leaves_the_end_of_a_pause_to_another_one() {
        let orb = Orb::new(Options::default());
        let plan = Plan { static_threads: 2, queue: Some((8, 1024)), ..Plan::default() };
        let lane = Arc::new(Lane::new(plan, Reserve::default()).unwrap());
        let owner = ConnectionOwner::Lane(Arc::clone(&lane));
        let queue = lane.queue.as_ref().unwrap();
        for _ in 0..2 {
            lane.comes_back();
        }
        let is_woken_by_turn = || {
            queue.reserve_anyway(0);
            queue.push(LaneWork::Connection(ended(&orb)), 0, None);
            assert!(matches!(lane.turn(&orb, &owner), Ok(WaitResult::Served)));
            is_woken(&lane)
        };
        assert!(!is_woken_by_turn(), "no connection is paused");
        let (mut paused, _client) = open(&orb);
        let id = paused.id;
        paused.intake.paused_until = u64::MAX - 1;
        lane.put_off(paused);
        assert!(is_woken(&lane), "a thread that waits already does not know the time");
        assert!(lane.reactor.wait_one(Duration::ZERO).unwrap().is_none());
        assert!(is_woken_by_turn());
        lane.end(orb.server(), lane.take(id).unwrap());
        orb.shutdown(true).unwrap();
    }
}
