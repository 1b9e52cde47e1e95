//! Reserves of a lane, for times when all its threads are busy.
//!
//! | then | what it costs the thread that was the last to wait |
//! |---|---|
//! | a dynamic thread is started, up to the limit | starting a thread |
//! | a thread of a lower lane is *borrowed*: raised for one connection's turn, then restored | two system calls |
//! | requests are *buffered*: read and queued up to a limit, then rejected with TRANSIENT | two system calls |
//! | requests wait in the sockets | nothing |
//! | a call goes out over a connection of the lane: a *takeover thread* reads that until it is answered | starting a thread |
//!
//! Lanes use nested epoll: one epoll descriptor is registered in another. A lane whose threads are all busy arms its
//! poller in that of the next lower lane; a thread of the lower lane, woken by it, takes the upper lane's connection;
//! if that lane's threads are busy as well, its own poller is armed one lane further down. With buffering a reader
//! thread of the lane watches the lane's poller instead, and wakes a thread that may be lent.

use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use oxorb_giop::{Header, MessageType};
use oxorb_sys::poll::Token;
use oxorb_sys::thread::Purpose;

use super::assign::LaneWork;
use super::connection::{Ahead, Connection};
use super::connection_owner::ConnectionOwner;
use super::host::{Host, Keeper};
use super::lane::Lane;
use super::queue::Queue;
use super::reactor::{self, Reactor, ReactorCommand};
use super::takeover_thread;
use crate::Incident;
use crate::ReactorChoice;
use crate::Serving;
use crate::error::raise;
use crate::shared::Shared;
use crate::threads::clock;
use crate::threads::sync::atomic::Ordering;
use crate::threads::sync::thread;

/// First token of lanes whose threads are all busy; lower tokens are connections.
const BORROWERS: u64 = 1 << 63;

/// Time between two checks of a reader for the end of its lane.
const TICK: Duration = Duration::from_millis(500);

/// Help for a lane without waiting threads. None by default.
#[derive(Default)]
pub(super) struct Reserve {
    /// Lane that lends threads to this one, and the token of this lane in its reactor.
    lender: OnceLock<(Arc<Lane>, Token)>,
    /// Lanes that this lane lends threads to.
    borrowers: OnceLock<Vec<Weak<Lane>>>,
    /// Reactor at which the reader waits until all threads are busy: it then reads requests into
    /// the lane's queue.
    reader: Option<Box<dyn Reactor>>,
}

impl Reserve {
    /// Returns a reserve with a reader, for a lane with a queue.
    pub(super) fn buffering() -> io::Result<Reserve> {
        Ok(Reserve { reader: Some(reactor::make(ReactorChoice::Epoll)?), ..Reserve::default() })
    }

    /// Reports whether only the lane's own threads wait at its reactor.
    pub(super) fn is_empty(&self) -> bool {
        self.reader.is_none() && self.lender.get().is_none()
    }

    /// Returns the lane that a token of this lane's reactor stands for.
    #[inline]
    pub(super) fn borrower(&self, token: u64) -> Option<Arc<Lane>> {
        let at = token.checked_sub(BORROWERS)?;
        self.borrowers.get()?.get(at as usize)?.upgrade()
    }
}

/// Makes each lane borrow threads from those below it.
pub(super) fn lend(lanes: &[Arc<Lane>]) -> io::Result<()> {
    for lower in lanes {
        let above = |upper: &&Arc<Lane>| upper.plan.priority > lower.plan.priority;
        let mut uppers: Vec<_> = lanes.iter().filter(above).collect();
        uppers.sort_by_key(|upper| upper.plan.priority);
        for (at, upper) in uppers.iter().enumerate() {
            let between = |lane: &Arc<Lane>| {
                lane.plan.priority > lower.plan.priority && lane.plan.priority < upper.plan.priority
            };
            if lanes.iter().any(between) || upper.reserve.lender.get().is_some() {
                continue;
            }
            let token = Token(BORROWERS + at as u64);
            if upper.reserve.reader.is_none() {
                lower.reactor.watch(&*upper.reactor, token, ReactorCommand::Begin)?;
            }
            let _ = upper.reserve.lender.set((Arc::clone(lower), token));
        }
        let uppers = uppers.into_iter().map(Arc::downgrade).collect();
        let _ = lower.reserve.borrowers.set(uppers);
    }
    Ok(())
}

impl Lane {
    /// Records that a thread leaves the reactor; calls for help if it was the last to wait.
    #[inline]
    pub(super) fn goes(self: &Arc<Self>, orb: &impl Host) {
        if self.waiting.fetch_sub(1, Ordering::SeqCst) == 1 && !self.grow(orb) {
            self.call_for_help();
        }
    }

    /// Records that an idle thread leaves the reactor, unless no other thread waits there; reports whether it leaves.
    pub(super) fn leaves_to_others(&self) -> bool {
        let others = |threads: usize| threads.checked_sub(1).filter(|others| *others > 0);
        self.waiting.fetch_update(Ordering::SeqCst, Ordering::SeqCst, others).is_ok()
    }

    /// Records that a thread waits at the reactor; dismisses help if it is the first.
    #[inline]
    pub(super) fn comes_back(&self) {
        if self.waiting.fetch_add(1, Ordering::SeqCst) == 0 {
            self.dismiss_help();
        }
    }

    /// Starts a dynamic thread, unless their limit is reached.
    fn grow(self: &Arc<Self>, orb: &impl Host) -> bool {
        let limit = self.plan.dynamic_threads;
        let one_more = |threads| (threads < limit).then_some(threads + 1);
        if limit == 0
            || self.is_over(orb)
            || self.dynamic.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more).is_err()
        {
            return false;
        }
        let started = self.spawn(orb, |lane, orb| {
            lane.work(orb, Some(clock::now()));
            lane.dynamic.fetch_sub(1, Ordering::SeqCst);
            // The last other thread may have left before this one was no longer counted, and have started none.
            if lane.waiting.load(Ordering::SeqCst) == 0 {
                lane.grow(orb);
            }
        });
        if started.is_err() {
            self.dynamic.fetch_sub(1, Ordering::SeqCst);
        }
        started.is_ok()
    }

    /// Records that an answer is awaited over a connection. If the connection waits for a thread of the lane, but all
    /// of these run requests, which may wait for such answers themselves, a takeover thread reads the connection.
    pub(crate) fn awaits_answer(self: &Arc<Self>, orb: &Arc<dyn Keeper>, id: u64) {
        let runs_out = self.waiting.load(Ordering::SeqCst) == 0;
        if !runs_out || self.plan.serving != Serving::Reader || !takeover_thread::take_room() {
            return;
        }
        let Some(mut connection) = self.take(id) else {
            return takeover_thread::give_room();
        };
        connection.armed = false;
        self.disarm(&connection.link, id);
        let builder = self.builder(orb.shared(), Purpose::Takeover, "oxorb-stand-in");
        let owner = ConnectionOwner::Lane(Arc::clone(self));
        let started =
            Arc::clone(orb).take_over(builder, owner, connection, takeover_thread::give_room);
        if let Err(back) = started {
            takeover_thread::give_room();
            if let Some(connection) = back {
                self.park(&**orb, *connection);
            }
        }
    }

    fn call_for_help(&self) {
        if let Some(reader) = &self.reserve.reader {
            let _ = reader.watch(&*self.reactor, Token(0), ReactorCommand::Arm);
        } else if let Some((lender, token)) = self.reserve.lender.get() {
            let _ = lender.reactor.watch(&*self.reactor, *token, ReactorCommand::Arm);
        }
    }

    fn dismiss_help(&self) {
        if let Some(reader) = &self.reserve.reader {
            let _ = reader.watch(&*self.reactor, Token(0), ReactorCommand::Disarm);
        } else if let Some((lender, token)) = self.reserve.lender.get() {
            let _ = lender.reactor.watch(&*self.reactor, *token, ReactorCommand::Disarm);
        } else {
            return;
        }
        self.still_needs_help();
    }

    /// Calls for help again, because threads may have left meanwhile.
    fn still_needs_help(&self) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            self.call_for_help();
        }
    }

    /// Serves one connection of this lane in a thread of a lower lane, at this lane's priority.
    pub(super) fn lent(self: &Arc<Self>, orb: &impl Host) {
        let _raised = self.raise(orb.shared());
        let token = self.reactor.wait_one(Duration::ZERO);
        // This comes first, because there may be more work, and more threads that can be lent.
        self.still_needs_help();
        let Ok(Some(Token(id))) = token else { return };
        match self.reserve.borrower(id) {
            Some(upper) => upper.lent(orb),
            None => {
                if let Some(connection) = self.take(id) {
                    self.serve_lent(orb, connection);
                }
            }
        }
    }

    /// Serves a buffered request of a higher lane, if there is any, in a thread of this lane.
    pub(super) fn lend_to_queues(self: &Arc<Self>, orb: &impl Host) -> bool {
        let Some(uppers) = self.reserve.borrowers.get() else {
            return false;
        };
        let waits = |upper: Arc<Lane>| Some((upper.queue.as_ref()?.pop()?, upper));
        let most_urgent = uppers.iter().rev().filter_map(Weak::upgrade).find_map(waits);
        let Some((work, upper)) = most_urgent else {
            return false;
        };
        self.goes(orb);
        self.wake_for_the_rest();
        self.leave_pauses();
        upper.wake_for_the_rest();
        {
            let _raised = upper.raise(orb.shared());
            match work {
                LaneWork::Connection(connection) => upper.serve_lent(orb, connection),
                LaneWork::Request(request) => {
                    request.serve(orb, &ConnectionOwner::Lane(Arc::clone(&upper)))
                }
            }
        }
        self.comes_back();
        true
    }

    fn raise(&self, shared: &Shared) -> Option<crate::Raised> {
        shared.priorities().raise(self.plan.priority?, None).ok()
    }

    fn serve_lent(self: &Arc<Self>, orb: &impl Host, connection: Connection) {
        let owner = ConnectionOwner::Lane(Arc::clone(self));
        self.serve(orb, &owner, connection, || false);
    }

    /// Starts the thread that reads requests while all others are busy, if the lane buffers.
    pub(super) fn start_reader(self: &Arc<Self>, orb: &impl Host) -> io::Result<()> {
        let Some(reader) = &self.reserve.reader else {
            return Ok(());
        };
        reader.watch(&*self.reactor, Token(0), ReactorCommand::Begin)?;
        self.spawn(orb, |lane, orb| {
            while let (Some(reader), Some(queue)) = (&lane.reserve.reader, &lane.queue)
                && !lane.is_over(orb)
            {
                match reader.wait_one(TICK) {
                    Ok(Some(_)) => lane.read_ahead(orb, queue),
                    Ok(None) => {}
                    Err(_) => thread::sleep(TICK),
                }
            }
        })
    }

    fn read_ahead(self: &Arc<Self>, orb: &impl Host, queue: &Queue<LaneWork>) {
        while self.waiting.load(Ordering::SeqCst) == 0
            && let Ok(Some(Token(id))) = self.reactor.wait_one(Duration::ZERO)
        {
            match (self.reserve.borrower(id), self.take(id)) {
                // A token of a lane above means that its threads are busy, too; its own reader handles this. A
                // connection that is no longer parked has a thread.
                (Some(_), _) | (None, None) => {}
                (None, Some(connection)) => self.buffer(orb, queue, connection),
            }
        }
        self.still_needs_help();
        // This thread may have taken the wake-up for a queued request.
        if !queue.is_idle() {
            self.wake_somebody();
        }
    }

    /// Reports whether the lane can queue requests while all its threads are busy.
    pub(super) fn buffers(&self) -> bool {
        self.reserve.reader.is_some() && self.queue.is_some()
    }

    /// Queues the requests of a connection whose thread runs another one. Must not be called by threads that serve.
    pub(super) fn buffer_taken(self: &Arc<Self>, orb: &impl Host, connection: Connection) {
        if let Some(queue) = &self.queue {
            self.buffer(orb, queue, connection);
        }
    }

    /// Queues the buffered requests of a connection, each separately if they may run concurrently, or refuses them.
    fn buffer(
        self: &Arc<Self>,
        orb: &impl Host,
        queue: &Queue<LaneWork>,
        mut connection: Connection,
    ) {
        let owner = ConnectionOwner::Lane(Arc::clone(self));
        loop {
            match connection.read_ahead(orb) {
                Ahead::Message(header) => {
                    let octets = header.map_or(0, |header| header.total());
                    let refusable = header.is_some_and(|header| is_request(&header));
                    if !refusable {
                        queue.reserve_anyway(octets);
                    }
                    if !refusable || self.make_room(octets).is_ok() {
                        let (urgency, dropping) =
                            connection.next_place(self.plan.order, &self.plan.drops);
                        if refusable
                            && let Some(mut request) = connection.next_detached(orb, &owner)
                        {
                            // The connection is read further, because more of its requests may be queued.
                            request.dropping = dropping;
                            request.wait_in(queue, octets, urgency);
                            self.wake_somebody();
                            continue;
                        }
                        queue.push(LaneWork::Connection(connection), octets, urgency);
                        return self.wake_somebody();
                    }
                    let detail = || format!("a request of {octets} octets");
                    orb.shared().note(Incident::BufferFull, || connection.link.peer(), detail);
                    if !connection.refuse_next(orb.shared(), raise::REQUESTS_BUFFERED) {
                        return self.end(orb, connection);
                    }
                }
                Ahead::Nothing => return self.park(orb, connection),
                Ahead::Throttled => return self.put_off(connection),
                Ahead::End => return self.end(orb, connection),
            }
        }
    }

    /// Wakes a thread for a queued request: one that returned to the reactor meanwhile, or one that may be lent.
    pub(super) fn wake_somebody(&self) {
        let mut lane = self;
        loop {
            if lane.waiting.load(Ordering::SeqCst) > 0 {
                return lane.reactor.wake();
            }
            match lane.reserve.lender.get() {
                Some((lender, _)) => lane = lender,
                None => return,
            }
        }
    }
}

/// Reports whether a message can be refused, which is true of complete requests only.
fn is_request(header: &Header) -> bool {
    header.kind == MessageType::REQUEST && !header.more_fragments
}
