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
use super::connection::{Ahead, Connection, Piece};
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
                Ahead::Message(Some(header)) if is_piece(&header, &connection) => {
                    match connection.take_piece() {
                        Ok(Piece::Taken) => {}
                        Ok(Piece::Joined) => {
                            match self.buffer_joined(orb, &owner, queue, connection) {
                                Some(back) => connection = back,
                                None => return,
                            }
                        }
                        // The thread that serves the connection reports the violation.
                        Ok(Piece::Invalid) => {
                            queue.reserve_anyway(0);
                            queue.push(LaneWork::Connection(connection), 0, None);
                            return self.wake_somebody();
                        }
                        Err(over) => {
                            connection.over = over;
                            connection.ended(orb.is_closing());
                            return self.end(orb.server(), connection);
                        }
                    }
                }
                Ahead::Message(header) => {
                    let status = &connection.common.status;
                    let announced = header.is_some_and(|header| is_upcall(header.kind));
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
                    let refusable =
                        header.is_some_and(|header| header.kind == MessageType::REQUEST);
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

    /// Queues or refuses the message that the inbox announces, which had arrived in fragments. Returns the connection
    /// if it is to be read on.
    #[cold]
    fn buffer_joined(
        self: &Arc<Self>,
        orb: &Orb,
        owner: &ConnectionOwner,
        queue: &Queue<LaneWork>,
        mut connection: Connection,
    ) -> Option<Connection> {
        let header = connection.inbox.frame().header;
        let status = &connection.common.status;
        let announced = is_upcall(header.kind).then(|| status.announces()).flatten();
        if announced.is_some() && status.serves_no_more(orb.is_closing()) {
            let (usable, _) = serving(orb, owner, &mut connection, |_, connection| {
                connection.turn_away(orb, owner)
            });
            return self.read_on(orb, connection, usable);
        }
        let octets = header.total();
        let refusable = header.kind == MessageType::REQUEST;
        if !refusable {
            queue.reserve_anyway(octets);
        } else if self.make_room(octets).is_err() {
            let detail = || format!("a request of {octets} octets");
            orb.shared().note(Incident::BufferFull, || connection.link.peer(), detail);
            serving(orb, owner, &mut connection, |context, connection| {
                connection.see_to_announced(orb, context);
            });
            let usable = connection.refuse_joined(orb.shared(), raise::REQUESTS_BUFFERED);
            return self.read_on(orb, connection, usable);
        }
        let (urgency, dropping) = connection.joined_place(self.plan.order, &self.plan.drops);
        if refusable && let Some(request) = connection.detached_joined(orb, owner, dropping) {
            request.wait_in(queue, octets, urgency);
            self.wake_somebody();
            return Some(connection);
        }
        connection.held = true;
        queue.push(LaneWork::Connection(connection), octets, urgency);
        self.wake_somebody();
        None
    }

    /// Returns a connection if it is still usable; otherwise ends it.
    fn read_on(&self, orb: &Orb, connection: Connection, usable: bool) -> Option<Connection> {
        if usable {
            return Some(connection);
        }
        self.end(orb.server(), connection);
        None
    }
}

/// Reports whether the reader itself handles a message: a fragment, which it joins with others, or a reply to a call of
/// this side, for which a thread of the lane may be waiting. Behind them, requests keep their order and their urgency.
fn is_piece(header: &Header, connection: &Connection) -> bool {
    header.more_fragments
        || header.kind == MessageType::FRAGMENT
        || header.kind == MessageType::REPLY && connection.common.status.calls().is_some()
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::io::IoSlice;
    use std::time::Instant;

    use oxorb_giop::Inbox;
    use oxorb_transport::Link;
    use oxorb_transport::mem::{self, MemLink};

    use super::super::assigned::PING;
    use super::super::lane::Plan;
    use super::super::reactor::Armed;
    use super::super::reserve::Reserve;
    use super::*;
    use crate::Options;
    use crate::conn::{Calls, ConnectionEnd};
    use crate::threads::sync::atomic::AtomicUsize;

    /// Reply to a request with id 2.
    const REPLY: &[u8] = b"GIOP\x01\x02\0\x01\0\0\0\x0c\0\0\0\x02\0\0\0\0\0\0\0\0";

    /// Calls that await replies, and count them.
    #[derive(Default)]
    struct CountedReplies(AtomicUsize);

    impl Calls for CountedReplies {
        fn complete(&self, _: &mut Inbox) -> Result<(), ConnectionEnd> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }

        fn is_awaited(&self) -> bool {
            true
        }

        fn retire(&self) -> bool {
            false
        }

        fn expire(&self, _: Instant, _: Option<Duration>) {}

        fn end(&self, _: ConnectionEnd) {}
    }

    /// [`PING`] in two fragments.
    fn fragmented() -> Vec<u8> {
        let (head, rest) = PING[12..].split_at(20);
        let mut octets = b"GIOP\x01\x02\x02\0\0\0\0\x14".to_vec();
        octets.extend_from_slice(head);
        let length = u32::try_from(rest.len() + 4).unwrap();
        octets.extend_from_slice(b"GIOP\x01\x02\0\x07");
        octets.extend_from_slice(&length.to_be_bytes());
        octets.extend_from_slice(&6_u32.to_be_bytes());
        octets.extend_from_slice(rest);
        octets
    }

    /// Lane that buffers, and a connection that has received these octets.
    struct Buffering {
        orb: Orb,
        lane: Arc<Lane>,
        id: u64,
        replies: Arc<CountedReplies>,
        client: MemLink,
    }

    impl Buffering {
        /// Buffers what a connection with calls of this side has received. `end`: whether the ORB ends first.
        fn of(options: Options, octets: &[u8], end: bool) -> Buffering {
            let orb = Orb::new(options);
            let plan = Plan { static_threads: 2, queue: Some((8, 1024)), ..Plan::default() };
            let lane = Arc::new(Lane::new(plan, Reserve::default()).unwrap());
            let (server, client) = mem::pair(4096);
            let link: Arc<dyn Link> = Arc::new(server);
            let admitted = orb.registry().admit(&link, orb.options()).ok().unwrap();
            let id = admitted.id;
            lane.reactor.add(&link, Token(id), Armed::Once).unwrap();
            let mut connection = Connection::new(orb.options(), admitted, link, Some(1));
            let replies = Arc::<CountedReplies>::default();
            connection.common.status.use_both_ways(Arc::clone(&replies) as Arc<dyn Calls>);
            client.write(&mut [IoSlice::new(octets)]).unwrap();
            if end {
                // Afterwards nothing is read from the link.
                assert!(matches!(connection.read_ahead(orb.server()), Ahead::Message(Some(_))));
                orb.shutdown(false).unwrap();
            }
            lane.buffer(&orb, lane.queue.as_ref().unwrap(), connection);
            Buffering { orb, lane, id, replies, client }
        }

        fn next(&self) -> Option<LaneWork> {
            self.lane.queue.as_ref().unwrap().pop()
        }

        /// Returns the id of the request that was answered.
        fn answered(&self) -> u8 {
            let mut octets = Vec::new();
            self.client.read(&mut octets, 4096).unwrap();
            assert_eq!(octets[7], 1, "{octets:?}");
            octets[15].max(octets[12])
        }

        fn end(self) {
            if let Some(connection) = self.lane.take(self.id) {
                self.lane.end(self.orb.server(), connection);
            }
            self.orb.shutdown(true).unwrap();
        }
    }

    /// The thread for which the reply is meant may be the only one that would take the connection out of the queue.
    #[test]
    fn replies_do_not_wait_for_a_thread_and_requests_behind_them_keep_their_places() {
        let buffering = Buffering::of(Options::default(), &[REPLY, PING, REPLY].concat(), false);
        assert_eq!(buffering.replies.0.load(Ordering::SeqCst), 2);
        assert!(matches!(buffering.next(), Some(LaneWork::Request(_))));
        assert!(buffering.next().is_none(), "the connection is read on");
        buffering.end();
    }

    #[test]
    fn a_fragmented_request_is_buffered_as_others_are() {
        let buffering = Buffering::of(Options::default(), &[&fragmented(), PING].concat(), false);
        for _ in 0..2 {
            assert!(matches!(buffering.next(), Some(LaneWork::Request(_))));
        }
        assert!(buffering.next().is_none(), "the connection is read on");
        buffering.end();
    }

    #[test]
    fn a_fragmented_request_that_stays_on_its_connection_is_served_once() {
        let options = Options { max_requests_per_connection: 1, ..Options::default() };
        let buffering = Buffering::of(options, &fragmented(), false);
        let Some(LaneWork::Connection(mut connection)) = buffering.next() else {
            panic!("the requests of the connection run one after another");
        };
        assert!(matches!(connection.read_ahead(buffering.orb.server()), Ahead::Throttled));
        let owner = ConnectionOwner::Lane(Arc::clone(&buffering.lane));
        connection.serve(&buffering.orb, &owner, || false);
        assert_eq!(buffering.answered(), 6);
        assert!(!connection.held);
        buffering.lane.end(buffering.orb.server(), connection);
        buffering.end();
    }

    #[test]
    fn a_oneway_that_is_not_served_before_its_connection_ends_is_counted() {
        let mut oneway = fragmented();
        oneway[16] = 0; // response_flags
        let options = Options { max_requests_per_connection: 1, ..Options::default() };
        let buffering = Buffering::of(options, &oneway, false);
        let Some(LaneWork::Connection(connection)) = buffering.next() else {
            panic!("the requests of the connection run one after another");
        };
        let lost = || buffering.orb.connection_statistics().count(Incident::OnewayDropped);
        assert_eq!(lost(), 0);
        buffering.lane.end(buffering.orb.server(), connection);
        assert_eq!(lost(), 1);
        buffering.end();
    }

    #[test]
    fn requests_at_the_end_of_the_orb_are_refused_and_replies_are_read_on() {
        for request in [PING.to_vec(), fragmented()] {
            let octets = [&request[..], REPLY].concat();
            let buffering = Buffering::of(Options::default(), &octets, true);
            assert_eq!(buffering.answered(), 6);
            assert!(buffering.next().is_none());
            assert_eq!(buffering.replies.0.load(Ordering::SeqCst), 1);
            buffering.end();
        }
    }
}
