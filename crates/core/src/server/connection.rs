//! One client's connection: octets in, answered messages out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_giop::{Frame, Header, Inbox, Message, Request, Response, Wire};
use oxorb_object::{Qos, SystemException, Urgency, Version};
use oxorb_transport::Link;

use super::assign::assign;
use super::dispatch::{Next, Session, refuse};
use super::gather::Gather;
use super::home::Home;
use super::lane_memory::{Memory, Pair};
use super::owed;
use super::registry::Admitted;
use super::share::{Buffer, Claim, Limits, SMALL};
use super::stand_in::{self, Desk, UNPOISONED};
use super::status::{Origin, Status};
use super::{Sink, per_connection};
use crate::conn::{self, Calls, Ended, Read, Receiver, Turn, Wait};
use crate::probe::{self, Stage};
use crate::sync::atomic::Ordering;
use crate::sync::thread;
use crate::{Incident, Options, Orb};

/// A connection that was accepted, and what belongs to it alone.
pub(crate) struct Connection {
    /// Its number in the registry.
    pub(super) id: u64,
    pub(crate) link: Arc<dyn Link>,
    /// On the desk of the thread that serves it, while one does.
    pub(super) inbox: Option<Inbox>,
    sink: Sink,
    pub(super) session: Session,
    pub(super) lines: Lines,
    /// Of the last message; what the client certainly understands.
    version: Version,
    /// The time the client has for its next octets of a message in pieces.
    pace: Option<Pace>,
    /// What its messages take of the client's share.
    claim: Claim,
    /// What the memory of its inbox takes of it between messages.
    kept: Buffer,
    /// Nothing came for a while; the registry knows since when.
    silent: bool,
    /// Not read until other messages of the client leave room.
    pub(super) throttled: bool,
    /// The reactor of its lane reports what comes over it.
    pub(super) armed: bool,
    /// Holds one request that was taken off its connection, and reads nothing.
    detached: bool,
    /// Why it is over, once it is.
    over: Ended,
    /// Whose memory its buffers are.
    memory: Option<Arc<Memory>>,
}

/// What all threads that serve a connection share.
#[derive(Clone)]
pub(crate) struct Lines {
    pub(crate) status: Arc<Status>,
    /// The threadpool whose port it came to, 0: the ORB's own. `None`: this side opened it, or a filter has picked who
    /// serves the request.
    pub(crate) pool: Option<u32>,
}

/// How a message that arrives in pieces gets on.
struct Pace {
    since: Instant,
    /// Octets since then.
    octets: usize,
}

/// What to do before the next read.
#[derive(PartialEq, Eq)]
enum Before {
    Read,
    /// Other messages of this client take all the memory it may have.
    Pause,
}

/// So many octets of a message are due in each `stall_timeout`: one that comes
/// octet by octet stalls, too.
const PACE: usize = 1024;

/// So many reads from one connection, then it is the others' turn, if there
/// are any and no other worker looks after them.
const TURN: usize = 4;

/// How often a thread that must not read, or run a request, looks whether it may again.
pub(super) const PAUSE: Duration = Duration::from_millis(10);

/// Why [`Connection::serve`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// Nothing more to read within the read timeout.
    Idle,
    /// Not to be read for a while.
    Throttled,
    /// The connection is at its end, in order or not.
    Ended,
    /// A stand-in has taken it over.
    HandedOver,
}

/// What [`Connection::read_ahead`] found.
pub(super) enum Ahead {
    /// All of the next message, or (`None`) something that is none.
    Message(Option<Header>),
    /// Not all of it yet.
    Nothing,
    /// Not to be read for a while.
    Throttled,
    End,
}

impl Connection {
    pub(crate) fn new(
        options: &Options,
        admitted: Admitted,
        link: Arc<dyn Link>,
        pool: Option<u32>,
    ) -> Connection {
        let inbox = admitted.status.inbox(&options.limits);
        let lines = Lines {
            status: admitted.status,
            pool,
        };
        let session = match inbox.messaging() {
            None => Session::default(),
            Some(messaging) => Session::speaking(messaging.dialect()),
        };
        let silent = true; // until the first octet
        Connection::of(admitted.id, link, inbox, session, lines, silent)
    }

    /// A connection that this side opened, over which requests may come, too.
    pub(crate) fn both_ways(
        options: &Options,
        admitted: Admitted,
        link: Arc<dyn Link>,
        turn: Arc<Turn>,
        calls: Arc<dyn Calls>,
    ) -> Connection {
        let mut connection = Connection::new(options, admitted, link, None);
        connection.session = Session::of_our_own();
        *connection.lines.status.session.lock().expect(UNPOISONED) = connection.session;
        connection.lines.status.set_turns(turn);
        connection.lines.status.use_both_ways(calls);
        connection.version = Version::V1_2;
        connection
    }

    /// A connection that somebody has served before.
    pub(super) fn of(
        id: u64,
        link: Arc<dyn Link>,
        inbox: Inbox,
        session: Session,
        lines: Lines,
        silent: bool,
    ) -> Connection {
        Connection {
            id,
            inbox: Some(inbox),
            sink: Sink::to_link(Arc::clone(&link)).of(lines.status.client.clone()),
            session,
            version: Version::V1_0,
            pace: None,
            claim: Claim::of(lines.status.client.as_ref()),
            kept: Buffer::of(lines.status.client.as_ref()),
            silent,
            throttled: false,
            armed: false,
            detached: false,
            over: Ended::Here,
            memory: None,
            lines,
            link,
        }
    }

    /// Another thread may take it over while a request runs, and it then belongs there.
    pub(super) fn can_be_taken_over(&self, orb: &Orb, home: &Home) {
        if orb.options().max_requests_per_connection > 1 {
            let watched = home.watched_lane(orb.shared());
            self.lines.status.set_origin(Origin {
                pool: self.lines.pool,
                home: home.downgrade(),
                watched: watched.map(Arc::downgrade),
            });
            match watched {
                Some(lane) => lane.takeover.start(orb, Some(Arc::clone(lane))),
                None => orb.takeover().start(orb, None),
            }
        }
    }

    /// With buffers of a lane.
    pub(super) fn with_buffers(self, buffers: Pair) -> Connection {
        let mut kept = Buffer::of(self.lines.status.client.as_ref());
        kept.planned(buffers.read.capacity());
        Connection {
            kept,
            inbox: self.inbox.map(|inbox| inbox.reading_into(buffers.read)),
            sink: Sink::to_link_with(Arc::clone(&self.link), buffers.write).of(self
                .lines
                .status
                .client
                .clone()),
            memory: Some(buffers.memory),
            ..self
        }
    }

    /// Gives them back: it reads and answers nothing any more.
    pub(super) fn give_back_buffers(&mut self) {
        if let Some(memory) = self.memory.take() {
            let read = self.inbox.take().map(Inbox::into_buffer);
            memory.put([read.unwrap_or_default(), self.sink.take_memory()]);
        }
    }

    /// Serves requests until none comes within the link's read timeout. While
    /// `may_wait` says no, until none is there or it had its turn.
    pub(crate) fn serve(&mut self, orb: &Orb, home: &Home, may_wait: impl Fn() -> bool) -> Served {
        let (served, handed_over) = stand_in::at_desk(orb, home, self, |desk, connection| {
            connection.serve_at(desk, orb, home, may_wait)
        });
        if handed_over {
            return Served::HandedOver;
        }
        match served {
            Ok(served) => {
                if served == Served::Idle {
                    self.falls_silent(orb, home);
                }
                served
            }
            Err(over) => {
                self.over = over;
                self.ended();
                Served::Ended
            }
        }
    }

    fn serve_at(
        &mut self,
        desk: &Desk,
        orb: &Orb,
        home: &Home,
        may_wait: impl Fn() -> bool,
    ) -> Result<Served, Ended> {
        let mut reads = 0;
        // Nothing more was there when it was read last.
        let mut drained = false;
        let mut gather = Gather::default();
        loop {
            loop {
                let polled = desk.inbox().poll();
                match polled {
                    Ok(None) => break,
                    Ok(Some(header)) => {
                        self.version = header.version;
                        let large = owed::any();
                        let next = match large {
                            true => self.admit(orb.shared(), home, desk).err(),
                            false => None,
                        };
                        let next = match (next, desk.assigns.get()) {
                            (Some(refused), _) => refused,
                            (None, true) => assign(orb, home, desk, self),
                            (None, false) => desk.run(orb, &self.lines.status, &mut self.sink),
                        };
                        if large {
                            self.sink.expect(None);
                        }
                        match next {
                            Next::Message => {
                                gather.served(desk.assigns.get() || self.sink.answered());
                            }
                            Next::Close => return Err(Ended::Here),
                            Next::Reply => desk.complete()?,
                            Next::Over(kind) => return Err(Ended::by(kind)),
                        }
                    }
                    Err(violation) => {
                        let peer = || self.link.peer();
                        orb.note(Incident::of(&violation), peer, || violation.to_string());
                        refuse(&violation, self.wire(), &mut self.sink);
                        return Err(Ended::Malformed(violation));
                    }
                }
                if orb.is_closing() {
                    break;
                }
            }
            if orb.is_closing() {
                return Err(Ended::Here);
            }
            match self.before_reading(orb, &mut desk.inbox())? {
                Before::Read => {}
                Before::Pause if matches!(home, Home::Lane(_)) => return Ok(Served::Throttled),
                Before::Pause => {
                    thread::sleep(PAUSE);
                    continue;
                }
            }
            let may_wait = may_wait();
            if !may_wait && (drained || reads >= TURN) {
                return Ok(Served::Idle);
            }
            let wait = match may_wait {
                true => Wait::Limited,
                false => Wait::Now,
            };
            if may_wait {
                gather.before_read();
            }
            let mut receiver = Receiver {
                link: &*self.link,
                inbox: &mut desk.inbox(),
            };
            match receiver.read(wait)? {
                Read::Octets { octets, all } => {
                    probe::stamp(Stage::RequestArrived);
                    reads += 1;
                    drained = if may_wait { drained } else { !all };
                    gather.read(all);
                    if let Some(pace) = &mut self.pace {
                        pace.octets += octets;
                    }
                    if self.silent {
                        self.silent = false;
                        self.wakes(orb);
                    }
                }
                Read::Interrupted => {}
                Read::TimedOut => return Ok(Served::Idle),
            }
        }
    }

    /// The request that `inbox` announces, taken off this connection, and what its messages take of the client's share.
    pub(super) fn detached(&mut self, inbox: Inbox, session: Session, lines: Lines) -> Connection {
        let claim = Claim::of(lines.status.client.as_ref());
        let link = Arc::clone(&self.link);
        let mut detached = Connection {
            version: self.version,
            claim: std::mem::replace(&mut self.claim, claim),
            detached: true,
            ..Connection::of(self.id, link, inbox, session, lines, false)
        };
        detached.sink.expect(self.sink.take_expected());
        detached
    }

    pub(super) fn is_detached(&self) -> bool {
        self.detached
    }

    /// Serves the request that was taken off its connection.
    pub(super) fn serve_detached(&mut self, orb: &Orb, home: &Home) {
        stand_in::at_desk(orb, home, self, |desk, connection| {
            // It was announced before; whether the connection goes on is for who reads it.
            desk.run(orb, &connection.lines.status, &mut connection.sink);
        });
        if self.sink.broken() {
            self.link.close();
        }
    }

    /// Answers it with an exception instead.
    pub(super) fn refuse_detached(&mut self, options: &Options, exception: SystemException) {
        if let Some(inbox) = self.inbox.take() {
            let turn = self.lines.status.turn().cloned();
            // Whoever reads the connection takes the turn with each message that is sent.
            let reads = stand_in::turn().zip(turn.as_ref());
            let reads = reads.is_some_and(|(desk, turn)| Arc::ptr_eq(&desk, turn));
            let _ours = turn.as_ref().filter(|_| !reads).map(|turn| turn.to_write());
            self.refuse(options, &inbox.frame(), exception);
            if let (Some(turn), Ok(request)) = (&turn, Request::parse(&inbox.frame())) {
                turn.finish(request.id);
            }
        }
    }

    /// Returns how the client certainly understands a message.
    fn wire(&self) -> Wire {
        self.lines.status.wire(self.version)
    }

    pub(super) fn sink(&mut self) -> &mut Sink {
        &mut self.sink
    }

    /// Reads what has come, at most once, and says whether the next message is there; serves nothing.
    pub(super) fn read_ahead(&mut self, orb: &Orb) -> Ahead {
        let Some(mut inbox) = self.inbox.take() else {
            return Ahead::End;
        };
        let ahead = self.read_into(orb, &mut inbox);
        self.inbox = Some(inbox);
        ahead.unwrap_or_else(|over| {
            self.over = over;
            Ahead::End
        })
    }

    /// How urgent the request is that was read ahead, if it says so.
    pub(super) fn next_urgency(&mut self) -> Option<Urgency> {
        let frame = self.inbox.as_mut()?.peek_frame()?;
        let request = Request::parse(&frame).ok()?;
        Some(Qos::of(&request.contexts)?.urgency())
    }

    fn read_into(&mut self, orb: &Orb, inbox: &mut Inbox) -> Result<Ahead, Ended> {
        if let Some(header) = inbox.peek() {
            return Ok(Ahead::Message(header.ok()));
        }
        match self.before_reading(orb, inbox)? {
            Before::Read => {}
            Before::Pause => return Ok(Ahead::Throttled),
        }
        let mut receiver = Receiver {
            link: &*self.link,
            inbox,
        };
        match receiver.read(Wait::Now)? {
            Read::Octets { octets, .. } => {
                if let Some(pace) = &mut self.pace {
                    pace.octets += octets;
                }
                if std::mem::take(&mut self.silent) {
                    self.wakes(orb);
                }
            }
            Read::TimedOut | Read::Interrupted => return Ok(Ahead::Nothing),
        }
        Ok(match inbox.peek() {
            Some(header) => Ahead::Message(header.ok()),
            None => Ahead::Nothing,
        })
    }

    /// Answers the request that [`read_ahead`](Self::read_ahead) found with an exception; false when the connection
    /// is of no more use.
    pub(super) fn refuse_next(&mut self, options: &Options, exception: SystemException) -> bool {
        let turn = self.lines.status.turn().cloned();
        let _ours = turn.as_ref().map(|turn| turn.to_write());
        let Some(inbox) = &mut self.inbox else {
            return false;
        };
        let Ok(Some(_)) = inbox.poll() else {
            return false;
        };
        let inbox = self.inbox.take();
        let goes_on = inbox
            .as_ref()
            .is_some_and(|inbox| self.refuse(options, &inbox.frame(), exception));
        self.inbox = inbox;
        goes_on
    }

    /// Answers the request of a frame with an exception; false when the connection is of no more use.
    pub(super) fn refuse(
        &mut self,
        options: &Options,
        frame: &Frame<'_>,
        exception: SystemException,
    ) -> bool {
        let Ok(Message::Request(request)) = frame.message() else {
            return false;
        };
        if request.response != Response::None {
            let wire = frame.wire();
            self.sink.begin();
            self.sink
                .send_exception(options, wire, request.id, wire.dialect(), exception);
        }
        !self.sink.broken()
    }

    /// Whether a connection that waits has to end: it stalls in mid-message, or
    /// has been idle for too long. To be asked now and then while it waits.
    pub(crate) fn is_overdue(&mut self, orb: &Orb) -> bool {
        let Some(inbox) = self.inbox.take() else {
            return false;
        };
        let stalled = self.has_stalled(orb, &inbox);
        self.inbox = Some(inbox);
        if stalled {
            return true;
        }
        if let Some(calls) = self.lines.status.calls() {
            calls.expire(Instant::now(), Some(orb.options().stall_timeout));
        }
        let idle = orb
            .registry()
            .is_overdue(&self.lines.status, orb.options().idle_timeout);
        if idle {
            orb.note(Incident::IdleClosed, || self.link.peer(), String::new);
        }
        idle
    }

    /// How long to wait for the next octets before looking after time-outs.
    pub(crate) fn tick(&self, usual: Duration) -> Duration {
        match self.lines.status.calls() {
            Some(calls) if calls.is_awaited() => conn::TICK.min(usual),
            _ => usual,
        }
    }

    /// Reports whether what comes next over it may be what a thread waits for: a request runs beside, or a call is
    /// outstanding. All threads of its lane may be such threads, so that none would read it there.
    pub(super) fn is_needed(&self) -> bool {
        let status = &self.lines.status;
        status.under_way() > 0 || status.calls().is_some_and(|calls| calls.is_awaited())
    }

    /// Blocks until something comes over it, or it may be read again; at most until time-outs are to be looked after.
    pub(super) fn pause(&self) {
        match self.link.poll_fd() {
            _ if self.throttled => thread::sleep(PAUSE),
            Some(own) if oxorb_sys::poll::readable(own, Some(conn::TICK)).is_ok() => {}
            _ => thread::yield_now(),
        }
    }

    /// Octets came after a silence.
    fn wakes(&self, orb: &Orb) {
        self.lines.status.wakes();
        match self.lines.status.watched_lane() {
            Some(lane) => lane.takeover.wakes(),
            None => orb.takeover().wakes(),
        }
    }

    fn falls_silent(&mut self, orb: &Orb, home: &Home) {
        let between = self.inbox.as_ref().is_none_or(|inbox| !inbox.mid_message());
        if !self.silent && between {
            self.silent = true;
            // A thread of its own has waited for a whole tick by now.
            let waited = match home {
                Home::Thread(_) => self.tick(per_connection::tick(orb.options())),
                Home::Lane(_) => Duration::ZERO,
            };
            orb.registry().idles(&self.lines.status, waited);
        }
    }

    /// Costs nothing while messages come whole.
    #[inline]
    fn before_reading(&mut self, orb: &Orb, inbox: &mut Inbox) -> Result<Before, Ended> {
        if !inbox.mid_message() {
            self.gets_on();
            if !self.claim.is_empty() || !self.kept.covers(inbox.spare()) {
                self.between_large(orb.options(), inbox);
            }
            return Ok(Before::Read);
        }
        if self.has_stalled(orb, inbox) {
            return Err(Ended::Stalled);
        }
        let wanted = inbox.memory().max(inbox.awaited());
        // What was kept for it is counted already.
        let wanted = wanted.saturating_sub(self.kept.octets());
        if wanted <= SMALL || self.claim.grow(wanted, Limits::of(orb.options())) {
            self.throttled = false;
            return Ok(Before::Read);
        }
        if !self.throttled {
            self.throttled = true;
            let detail = || format!("a message of {wanted} octets waits");
            orb.note(Incident::TooManyOctets, || self.link.peer(), detail);
        }
        Ok(Before::Pause)
    }

    /// After a large message: its memory is kept where it fits among what the client's connections keep.
    #[cold]
    fn between_large(&mut self, options: &Options, inbox: &mut Inbox) {
        let octets = self.claim.release();
        let spare = inbox.spare();
        let same = self.kept.covers(spare) && self.kept.octets() <= spare;
        if !same && !self.kept.keep(spare, options) {
            inbox.shrink_to(SMALL);
            owed::freed(octets.max(spare));
        } else if octets > spare {
            owed::freed(octets - spare);
        }
    }

    /// Whether a message in pieces has not got on for `stall_timeout`.
    fn has_stalled(&mut self, orb: &Orb, inbox: &Inbox) -> bool {
        if !inbox.mid_message() {
            self.gets_on();
            return false;
        }
        match &mut self.pace {
            Some(pace) if pace.octets < PACE => {
                let limit = orb.options().stall_timeout;
                // Its client could not get on: those that stand in its way stall first.
                let limit = if self.throttled { 2 * limit } else { limit };
                let stalled = pace.since.elapsed() >= limit;
                if stalled {
                    orb.note(Incident::Stalled, || self.link.peer(), String::new);
                }
                stalled
            }
            pace => {
                *pace = Some(Pace {
                    since: Instant::now(),
                    octets: 0,
                });
                orb.registry().stalls(&self.lines.status);
                false
            }
        }
    }

    /// No message is awaited any more.
    #[inline]
    fn gets_on(&mut self) {
        if self.pace.take().is_some() {
            let stalls = &self.lines.status.stalls_since;
            stalls.store(0, Ordering::Relaxed);
        }
    }

    /// Nothing comes over it any more: whoever waits for that must know.
    fn ended(&mut self) {
        if let Some(turn) = self.lines.status.turn() {
            turn.end();
        }
        if let Some(calls) = self.lines.status.calls() {
            let told = self.lines.status.was_told_to_end();
            let over = std::mem::replace(&mut self.over, Ended::Here);
            calls.end(if told { Ended::Here } else { over });
        }
    }

    /// For the last thread that served it: closes it. A client that is left by
    /// an ORB that ends, or by a server that wants the connection back, is told
    /// that nothing it sent since was run.
    pub(crate) fn close(&mut self, orb: &Orb) {
        if orb.is_closing() || self.lines.status.was_told_to_end() {
            let wire = self.wire();
            self.sink.part(wire);
        }
        self.ended();
        self.link.close();
    }
}
