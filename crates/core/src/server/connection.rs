//! Connections of clients, and what their threads need of them. `serve.rs` serves their requests.

use std::sync::Arc;
use std::time::Duration;

use oxorb_giop::{Frame, Header, Inbox, Message, MessageType, Request, Response, Wire};
use oxorb_object::{SystemException, Urgency, Version};
use oxorb_transport::Link;

use super::Sink;
use super::dropping::Dropping;
use super::intake::Intake;
use super::lane::serving_lane;
use super::lane_memory::{BufferPair, Memory};
use super::registry::AdmittedConnection;
use super::serving_context::{self, ServingContext};
use super::session::{Caller, Session};
use super::side::ServerSide;
use super::status::Status;
use super::threadpool::{DropRules, QueueOrder};
use crate::conn::{self, Calls, ConnectionEnd, Event, LinkReceiver, Turn, Wait};
use crate::error::raise;
use crate::policy::LargePayloads;
use crate::shared::Shared;
use crate::threads::clock;
use crate::threads::sync::thread;
use crate::{Incident, Options};

/// Connection of a client, with the state that belongs to it alone.
pub(crate) struct Connection {
    /// Number of the connection in the registry.
    pub(super) id: u64,
    pub(crate) link: Arc<dyn Link>,
    pub(super) inbox: Inbox,
    pub(super) sink: Sink,
    pub(super) session: Session,
    pub(super) common: ConnectionShared,
    /// Version of the last message, which the client certainly supports.
    pub(super) version: Version,
    pub(super) intake: Intake,
    /// Whether the connection has been silent for a while; the registry records since when.
    pub(super) silent: bool,
    /// Whether the lane's reactor reports input of the connection.
    pub(super) armed: bool,
    /// Whether the inbox announces a message that is still to be served. Nothing is read meanwhile.
    pub(super) held: bool,
    /// Whether this is one request taken off its connection, which reads nothing.
    detached: bool,
    /// Time of the next check of the time limits of this side's calls, in nanoseconds of the monotonic clock.
    next_expiry: u64,
    /// Reason for the end of the connection.
    pub(super) over: ConnectionEnd,
    /// Lane memory that its buffers belong to.
    memory: Option<Arc<Memory>>,
}

/// State shared by all threads that serve a connection.
#[derive(Clone)]
pub(crate) struct ConnectionShared {
    pub(crate) status: Arc<Status>,
    /// Threadpool whose port accepted the connection, or whose lane received it at a shared port; 0 for the ORB's own.
    /// `None` if this side opened the connection, or if a filter or the object has chosen the request's threads.
    pub(crate) pool: Option<u32>,
    /// Policy about large payloads, for objects without one.
    pub(crate) payloads: LargePayloads,
}

/// Time between two checks of a thread that must not read, or run a request.
pub(super) const PAUSE: Duration = Duration::from_millis(10);

/// Result of [`Connection::read_ahead`].
pub(super) enum Ahead {
    /// The complete next message, or `None` if it is malformed.
    Message(Option<Header>),
    /// The next message is not complete yet.
    Nothing,
    /// The connection must not be read for a while.
    Throttled,
    End,
}

/// Result of [`Connection::take_piece`].
pub(super) enum Piece {
    /// The inbox announces no message.
    Taken,
    /// The inbox announces a message that arrived in fragments.
    Joined,
    /// A violation, which each further thread that polls the inbox finds, too.
    Invalid,
}

impl Connection {
    pub(crate) fn new(
        options: &Options,
        admitted: AdmittedConnection,
        link: Arc<dyn Link>,
        pool: Option<u32>,
    ) -> Connection {
        let inbox = admitted.status.inbox(&options.limits);
        let common = ConnectionShared {
            payloads: admitted.status.payloads(options),
            status: admitted.status,
            pool,
        };
        let session = match inbox.messaging() {
            None => Session::default(),
            Some(messaging) => Session::speaking(messaging.dialect()),
        };
        let silent = true; // until the first octet
        Connection::of(admitted.id, link, inbox, session, common, silent)
    }

    /// Returns a connection that this side opened, over which requests may also arrive.
    pub(crate) fn both_ways(
        options: &Options,
        admitted: AdmittedConnection,
        link: Arc<dyn Link>,
        turn: Arc<Turn>,
        calls: Arc<dyn Calls>,
    ) -> Connection {
        let mut connection = Connection::new(options, admitted, link, None);
        connection.session = Session::of_our_own();
        *connection.common.status.session.lock() = connection.session;
        connection.common.status.set_turns(turn);
        connection.common.status.use_both_ways(calls);
        connection.version = Version::V1_2;
        connection
    }

    /// Returns a connection that was served before.
    pub(super) fn of(
        id: u64,
        link: Arc<dyn Link>,
        inbox: Inbox,
        session: Session,
        common: ConnectionShared,
        silent: bool,
    ) -> Connection {
        Connection {
            id,
            inbox,
            sink: Sink::to_link(Arc::clone(&link)).of(&common.status),
            session,
            version: Version::V1_0,
            intake: Intake::of(common.status.client.as_ref()),
            silent,
            armed: false,
            held: false,
            detached: false,
            next_expiry: 0,
            over: ConnectionEnd::Here,
            memory: None,
            common,
            link,
        }
    }

    /// Returns the connection with buffers of a lane.
    pub(super) fn with_buffers(self, buffers: BufferPair) -> Connection {
        let mut intake = Intake::of(self.common.status.client.as_ref());
        intake.planned(buffers.read.capacity());
        Connection {
            intake,
            inbox: self.inbox.reading_into(buffers.read),
            sink: Sink::to_link_with(Arc::clone(&self.link), buffers.write).of(&self.common.status),
            memory: Some(buffers.memory),
            ..self
        }
    }

    /// Takes over octets that were read from the link before the connection had a thread.
    pub(super) fn received(&mut self, side: &ServerSide, octets: &[u8]) {
        let mut rest = octets;
        while !rest.is_empty() {
            let (buffer, room) = self.inbox.room();
            let (now, later) = rest.split_at(room.min(rest.len()));
            buffer.extend_from_slice(now);
            rest = later;
        }
        if !octets.is_empty() {
            self.came(side, octets.len());
        }
    }

    /// Returns the buffers to the lane; the connection reads and answers nothing more.
    pub(super) fn give_back_buffers(mut self) {
        if let Some(memory) = self.memory {
            memory.put([self.inbox.into_buffer(), self.sink.take_memory()]);
        }
    }

    /// Returns the parts of the connection that serving the announced message needs.
    #[inline(always)]
    pub(super) fn parts<'c>(
        &'c mut self,
        context: &'c ServingContext,
    ) -> (Caller<'c>, &'c Inbox, &'c mut Sink) {
        let caller =
            Caller { link: &self.link, common: &self.common, session: &mut self.session, context };
        (caller, &self.inbox, &mut self.sink)
    }

    /// Takes the request that the inbox announces off the connection, which this thread continues
    /// to read. `picked` if a filter or the object has chosen the request's threads.
    pub(super) fn detach(&mut self, options: &Options, picked: bool) -> Connection {
        let status = &self.common.status;
        if let Ok(request) = Request::parse(&self.inbox.frame()) {
            status.turns().begin(request.id);
        }
        status.share_unanswered();
        let mut inbox = Inbox::new(&options.limits);
        self.inbox.split_to(&mut inbox);
        let common =
            ConnectionShared { pool: self.common.pool.filter(|_| !picked), ..self.common.clone() };
        self.detached(inbox, common)
    }

    /// Passes the reply that the inbox announces to the call that waits for it.
    ///
    /// # Errors
    /// [`ConnectionEnd::Malformed`] if the reply cannot be decoded.
    pub(super) fn complete(&mut self) -> Result<(), ConnectionEnd> {
        match self.common.status.calls().cloned() {
            Some(calls) => calls.complete(&mut self.inbox),
            None => Ok(()),
        }
    }

    /// Returns the request in `inbox` as a detached connection, with its messages' part of the client's share.
    fn detached(&mut self, inbox: Inbox, common: ConnectionShared) -> Connection {
        let link = Arc::clone(&self.link);
        let mut detached = Connection {
            version: self.version,
            detached: true,
            ..Connection::of(self.id, link, inbox, self.session, common, false)
        };
        std::mem::swap(&mut detached.intake.claim, &mut self.intake.claim);
        detached.sink.expect(self.sink.take_expected());
        detached
    }

    pub(super) fn is_detached(&self) -> bool {
        self.detached
    }

    /// Answers the detached request with an exception.
    pub(super) fn refuse_detached(&mut self, shared: &Shared, exception: SystemException) {
        let turn = self.common.status.turn().cloned();
        // If this thread reads the connection, its sink itself locks the right to write for each message, so it is not
        // locked here.
        let reads = serving_context::turn().zip(turn.as_ref());
        let reads = reads.is_some_and(|(served, turn)| Arc::ptr_eq(&served, turn));
        let _ours = turn.as_ref().filter(|_| !reads).map(|turn| turn.to_write());
        self.refuse(shared, exception);
        if let (Some(turn), Ok(request)) = (&turn, Request::parse(&self.inbox.frame())) {
            turn.finish(request.id);
        }
    }

    /// Ends the detached request during which its thread has panicked: answers it, unless that was done before. The
    /// request may have run.
    #[cold]
    pub(super) fn end_panicked(&mut self, shared: &Shared) {
        if !self.sink.answered() {
            return self.refuse_detached(shared, raise::SERVANT_PANICKED);
        }
        if let (Some(turn), Ok(request)) =
            (self.common.status.turn(), Request::parse(&self.inbox.frame()))
        {
            turn.finish(request.id);
        }
    }

    /// Returns the wire format that the client certainly supports.
    pub(super) fn wire(&self) -> Wire {
        self.common.status.wire(self.version)
    }

    /// Reads at most once, and reports whether the next message is complete; serves nothing.
    pub(super) fn read_ahead(&mut self, side: &ServerSide) -> Ahead {
        self.look_ahead(side).unwrap_or_else(|over| {
            self.over = over;
            self.ended(side.is_closing());
            Ahead::End
        })
    }

    /// Returns the queue position of the request that was read ahead, and whether it may be dropped there.
    pub(super) fn next_place(
        &mut self,
        order: QueueOrder,
        drops: &DropRules,
    ) -> (Option<Urgency>, Dropping) {
        if order == QueueOrder::Arrival && drops.is_empty() {
            return (None, Dropping::default());
        }
        let frame = self.inbox.peek_frame();
        place(frame.as_ref(), order, drops)
    }

    /// Returns what [`next_place`](Self::next_place) returns, for the request that the inbox announces.
    pub(super) fn joined_place(
        &self,
        order: QueueOrder,
        drops: &DropRules,
    ) -> (Option<Urgency>, Dropping) {
        place(Some(&self.inbox.frame()), order, drops)
    }

    /// Handles the Reply or the fragment that [`read_ahead`](Self::read_ahead) found: passes a reply to its call, and
    /// joins fragments.
    ///
    /// # Errors
    /// [`ConnectionEnd::Malformed`] if the reply cannot be decoded.
    pub(super) fn take_piece(&mut self) -> Result<Piece, ConnectionEnd> {
        match self.inbox.poll() {
            Ok(None) => Ok(Piece::Taken),
            Ok(Some(header)) if header.kind == MessageType::REPLY => {
                self.complete().map(|()| Piece::Taken)
            }
            Ok(Some(_)) => Ok(Piece::Joined),
            Err(_) => Ok(Piece::Invalid),
        }
    }

    /// Keeps the announced message for [`serve`](Self::serve), before which nothing is read.
    #[cold]
    pub(super) fn hold(&mut self, until: u64) {
        self.held = true;
        self.intake.throttled = true;
        self.intake.paused_until = until;
    }

    /// Reports the loss of a oneway that was still to be served when its connection ended.
    #[cold]
    fn lose_held(&mut self, side: &ServerSide) {
        self.held = false;
        let is_oneway = matches!(
            self.inbox.frame().message(),
            Ok(Message::Request(request)) if request.response == Response::None
        );
        if is_oneway {
            let why = || "its connection ended before a thread could take it".to_owned();
            side.shared.note(Incident::OnewayDropped, || self.link.peer(), why);
        }
    }

    fn look_ahead(&mut self, side: &ServerSide) -> Result<Ahead, ConnectionEnd> {
        if self.held {
            return Ok(Ahead::Throttled);
        }
        if let Some(header) = self.inbox.peek() {
            return Ok(Ahead::Message(header.ok()));
        }
        let mut receiver = LinkReceiver { link: &*self.link, inbox: &mut self.inbox };
        let (intake, status) = (&mut self.intake, &self.common.status);
        let mut may_read = true;
        let event = receiver.next(|inbox| {
            may_read = intake.may_read(side, &*self.link, status, inbox)?;
            Ok(if may_read { Wait::Now } else { Wait::Not })
        })?;
        let Event::Octets { octets, .. } = event else {
            let waits = if may_read { Ahead::Nothing } else { Ahead::Throttled };
            return Ok(waits);
        };
        self.came(side, octets);
        Ok(match self.inbox.peek() {
            Some(header) => Ahead::Message(header.ok()),
            None => Ahead::Nothing,
        })
    }

    /// Answers the request that [`read_ahead`](Self::read_ahead) found with an exception; returns false if the
    /// connection is no longer usable.
    pub(super) fn refuse_next(&mut self, shared: &Shared, exception: SystemException) -> bool {
        matches!(self.inbox.poll(), Ok(Some(_))) && self.refuse_joined(shared, exception)
    }

    /// Answers the request that the inbox announces, for a thread that does not serve the connection, with an
    /// exception; returns false if the connection is no longer usable.
    pub(super) fn refuse_joined(&mut self, shared: &Shared, exception: SystemException) -> bool {
        let turn = self.common.status.turn().cloned();
        let _ours = turn.as_ref().map(|turn| turn.to_write());
        self.refuse(shared, exception)
    }

    /// Answers the request or LocateRequest that the inbox announces with an exception; returns false if the connection
    /// is no longer usable.
    pub(super) fn refuse(&mut self, shared: &Shared, exception: SystemException) -> bool {
        let frame = self.inbox.frame();
        let (wire, options) = (frame.wire(), &shared.options);
        match frame.message() {
            Ok(Message::Request(request)) => {
                shared.count_refused(serving_lane(shared.scheduling.number()), exception);
                if request.response != Response::None {
                    self.sink.begin();
                    self.sink.send_exception(options, wire, request.id, wire.dialect(), exception);
                }
            }
            Ok(Message::LocateRequest(request)) => {
                self.sink.send_locate_exception(options, wire, request.id, exception);
            }
            _ => return false,
        }
        !self.sink.broken()
    }

    /// Reports whether a waiting connection has to be closed: it stalls within a message, has been idle for too long,
    /// or is not needed any more while the ORB ends. To be called periodically while it waits.
    pub(crate) fn is_overdue(&mut self, side: &ServerSide) -> bool {
        let Connection { intake, link, common, inbox, held, .. } = self;
        if *held {
            // The client cannot send on.
            intake.gets_on(&common.status);
        } else if intake.has_stalled(side, &**link, &common.status, inbox) {
            return true;
        }
        if let Some(calls) = self.common.status.calls() {
            calls.expire(clock::now(), Some(side.options().stall_timeout));
        }
        if side.is_closing() {
            return side.registry.becomes_unread(&self.common.status);
        }
        let idle = side.registry.is_overdue(&self.common.status, side.options().idle_timeout);
        if idle {
            side.shared.note(Incident::IdleClosed, || self.link.peer(), String::new);
        }
        idle
    }

    /// Ends the calls of this side whose time limits have expired, if the last check was some time ago. To be called
    /// before each read: a client that sends on and on leaves no silence in which they would be checked. Costs a
    /// comparison if the connection carries no calls.
    #[inline]
    pub(super) fn expire_calls(&mut self, options: &Options) {
        if let Some(calls) = self.common.status.calls() {
            let now = clock::monotonic_nanoseconds();
            if now >= self.next_expiry {
                self.next_expiry = now + conn::TICK.as_nanos() as u64;
                calls.expire(clock::now(), Some(options.stall_timeout));
            }
        }
    }

    /// Returns the time to wait for input before time-outs are checked.
    pub(crate) fn tick(&self, usual: Duration) -> Duration {
        match self.common.status.calls() {
            Some(calls) if calls.is_awaited() => conn::TICK.min(usual),
            _ => usual,
        }
    }

    /// Reports whether a thread may be waiting for the next input of the connection, because another request runs or a
    /// call is outstanding. If all threads of the lane wait in this way, none of them would read the connection at the
    /// reactor.
    pub(super) fn is_needed(&self) -> bool {
        let status = &self.common.status;
        status.under_way() > 0 || status.calls().is_some_and(|calls| calls.is_awaited())
    }

    /// Blocks until the connection has input or may be read again, at most until time-outs have to be checked.
    pub(super) fn pause(&self) {
        match self.link.poll_fd() {
            _ if self.intake.throttled => thread::sleep(PAUSE),
            _ if self.link.pending() => {}
            Some(own) if oxorb_sys::poll::readable(own, Some(conn::TICK)).is_ok() => {}
            _ => thread::yield_now(),
        }
    }

    /// Records received octets.
    #[inline]
    pub(super) fn came(&mut self, side: &ServerSide, octets: usize) {
        self.intake.came(octets);
        if std::mem::take(&mut self.silent) {
            self.wakes(side);
        }
    }

    /// Records the end of a silence.
    fn wakes(&self, side: &ServerSide) {
        self.common.status.wakes();
        match self.common.status.watched_lane() {
            Some(lane) => lane.takeover.wakes(),
            None => side.takeover.wakes(),
        }
    }

    /// Notifies all threads that wait for the connection that it has ended. `closing` if the ORB ends, which stops the
    /// reading of all connections. A connection that this side ends in order still carries the answers to running
    /// requests, so it has not ended for these.
    pub(super) fn ended(&mut self, closing: bool) {
        let told = self.common.status.was_told_to_end();
        if !told
            && !closing
            && let Some(turn) = self.common.status.turn()
        {
            let has_left = matches!(
                self.over,
                ConnectionEnd::Vanished | ConnectionEnd::Closed | ConnectionEnd::Unreadable(_)
            );
            turn.end(has_left);
        }
        if let Some(calls) = self.common.status.calls() {
            let over = std::mem::replace(&mut self.over, ConnectionEnd::Here);
            calls.end(if told { ConnectionEnd::Here } else { over });
        }
    }

    /// Closes the connection, for the last thread that served it. If the ORB ends or the server
    /// wants the connection back, the client is notified that nothing it sent since was run. After a reply that was cut
    /// off, the client would take this message for the rest of the reply, so it is not sent.
    pub(super) fn close(&mut self, side: &ServerSide) {
        let in_order = side.is_closing() || self.common.status.was_told_to_end();
        if in_order && !self.sink.broken() {
            let wire = self.wire();
            self.sink.part(wire);
        }
        self.ended(side.is_closing());
        self.link.close();
    }

    /// Releases a thread's share of the connection; the last share closes it.
    pub(super) fn leave(mut self, side: &ServerSide) {
        if self.held {
            self.lose_held(side);
        }
        if self.common.status.leave() {
            self.close(side);
            side.registry.remove(self.id);
        }
        self.give_back_buffers();
    }
}

/// Returns the queue position of a request, and whether it may be dropped there.
fn place(
    frame: Option<&Frame<'_>>,
    order: QueueOrder,
    drops: &DropRules,
) -> (Option<Urgency>, Dropping) {
    match frame.and_then(|frame| Request::parse(frame).ok()) {
        None => (None, Dropping::default()),
        Some(request) => (order.place(&request.contexts), Dropping::of(drops, &request)),
    }
}
