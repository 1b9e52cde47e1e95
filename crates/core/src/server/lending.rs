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
use std::sync::{Arc, Weak};
use std::time::Duration;

use oxorb_giop::{Header, MessageType};
use oxorb_sys::poll::Token;
use oxorb_sys::thread::ThreadPurpose;

use super::assigned::LaneWork;
use super::connection::{Ahead, Connection};
use super::connection_owner::ConnectionOwner;
use super::lane::Lane;
use super::queue::Queue;
use super::reactor::ReactorCommand;
use super::serve::{is_upcall, serving};
use super::takeover_thread;
use crate::error::raise;
use crate::threads::clock;
use crate::threads::sync::atomic::Ordering;
use crate::threads::sync::thread;
use crate::{Incident, Orb, Serving};

/// Time between two checks of a reader for the end of its lane.
const TICK: Duration = Duration::from_millis(500);

impl Lane {
    /// Records that a thread leaves the reactor; calls for help if it was the last to wait.
    #[inline]
    pub(super) fn goes(self: &Arc<Self>, orb: &Orb) {
        if self.waiting.fetch_sub(1, Ordering::SeqCst) == 1 && !self.grow(orb) {
            self.call_for_help();
        }
    }

    /// Starts a dynamic thread, unless their limit is reached.
    fn grow(self: &Arc<Self>, orb: &Orb) -> bool {
        let limit = self.plan.dynamic_threads;
        let one_more = |threads| (threads < limit).then_some(threads + 1);
        if limit == 0
            || self.is_over(orb.server())
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
    pub(crate) fn awaits_answer(self: &Arc<Self>, orb: &Orb, id: u64) {
        if self.has_no_reader() {
            self.read_answer(orb, id);
        }
    }

    /// Reports whether all threads that read the lane's connections run requests.
    pub(super) fn has_no_reader(&self) -> bool {
        self.plan.serving == Serving::Reader && self.waiting.load(Ordering::SeqCst) == 0
    }

    /// Does what [`awaits_answer`](Self::awaits_answer) does for calls that were made while a thread still waited for
    /// input of their connections.
    #[cold]
    pub(super) fn read_answers(self: &Arc<Self>, orb: &Orb) {
        for id in orb.registry().awaited_of(self.plan.pool) {
            self.read_answer(orb, id);
        }
    }

    /// Starts a takeover thread that reads a parked connection.
    fn read_answer(self: &Arc<Self>, orb: &Orb, id: u64) {
        if !takeover_thread::take_room() {
            return;
        }
        let Some(mut connection) = self.take(id) else {
            return takeover_thread::give_room();
        };
        connection.armed = false;
        self.disarm(&connection.link, id);
        let builder = self.builder(orb.shared(), ThreadPurpose::Takeover, "oxorb-stand-in");
        let owner = ConnectionOwner::Lane(Arc::clone(self));
        let started =
            takeover_thread::start(builder, orb, owner, connection, takeover_thread::give_room);
        if let Err(back) = started {
            takeover_thread::give_room();
            if let Some(connection) = back {
                self.park(orb.server(), *connection);
            }
        }
    }

    /// Serves one connection of this lane in a thread of a lower lane, at this lane's priority.
    pub(super) fn lent(self: &Arc<Self>, orb: &Orb) {
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
    pub(super) fn lend_to_queues(self: &Arc<Self>, orb: &Orb) -> bool {
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

    fn serve_lent(self: &Arc<Self>, orb: &Orb, connection: Connection) {
        let owner = ConnectionOwner::Lane(Arc::clone(self));
        self.serve(orb, &owner, connection, || false);
    }

    /// Starts the thread that reads requests while all others are busy, if the lane buffers.
    pub(super) fn start_reader(self: &Arc<Self>, orb: &Orb) -> io::Result<()> {
        let Some(reader) = &self.reserve.reader else {
            return Ok(());
        };
        reader.watch(&*self.reactor, Token(0), ReactorCommand::Begin)?;
        self.spawn(orb, |lane, orb| {
            while let (Some(reader), Some(queue)) = (&lane.reserve.reader, &lane.queue)
                && !lane.is_over(orb.server())
            {
                match reader.wait_one(TICK) {
                    Ok(Some(_)) => lane.read_ahead(orb, queue),
                    Ok(None) => {}
                    Err(_) => thread::sleep(TICK),
                }
            }
        })
    }

    fn read_ahead(self: &Arc<Self>, orb: &Orb, queue: &Queue<LaneWork>) {
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

    /// Queues the requests of a connection whose thread runs another one. Must not be called by threads that serve.
    pub(super) fn buffer_taken(self: &Arc<Self>, orb: &Orb, connection: Connection) {
        if let Some(queue) = &self.queue {
            self.buffer(orb, queue, connection);
        }
    }

    /// Queues the buffered requests of a connection, each separately if they may run concurrently, or refuses them.
    fn buffer(self: &Arc<Self>, orb: &Orb, queue: &Queue<LaneWork>, mut connection: Connection) {
        let owner = ConnectionOwner::Lane(Arc::clone(self));
        loop {
            match connection.read_ahead(orb.server()) {
                Ahead::Message(header) => {
                    let status = &connection.common.status;
                    let announced = header.is_some_and(|header| is_complete_upcall(&header));
                    let announced = announced.then(|| status.announces()).flatten();
                    if announced.is_some() && status.serves_no_more(orb.is_closing()) {
                        let (refused, _) =
                            serving(orb, &owner, &mut connection, |_, connection| {
                                matches!(connection.inbox.poll(), Ok(Some(_)))
                                    && connection.turn_away(orb, &owner)
                            });
                        if !refused {
                            return self.end(orb.server(), connection);
                        }
                        continue;
                    }
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
                        return self.end(orb.server(), connection);
                    }
                    serving(orb, &owner, &mut connection, |context, connection| {
                        connection.see_to_announced(orb, context);
                    });
                }
                Ahead::Nothing => return self.park(orb.server(), connection),
                Ahead::Throttled => return self.put_off(connection),
                Ahead::End => return self.end(orb.server(), connection),
            }
        }
    }
}

/// Reports whether a message is a request or LocateRequest that is complete.
fn is_complete_upcall(header: &Header) -> bool {
    is_upcall(header.kind) && !header.more_fragments
}

/// Reports whether a message can be refused, which is true of complete requests only.
fn is_request(header: &Header) -> bool {
    header.kind == MessageType::REQUEST && !header.more_fragments
}
