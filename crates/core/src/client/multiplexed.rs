//! One connection that many asynchronous calls share, and the thread that reads it.

use std::collections::HashMap;
use std::io;
use std::mem;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use oxorb_cdr::{ByteOrder, Dialect, Encoded};
use oxorb_giop::{
    CodeSetContext, CompletionStatus, Inbox, MessageType, Response, ServiceContext,
    SystemException, SystemExceptionKind, Version, context_id, minor,
};
use oxorb_transport::{Link, WriteError};

use super::asynchronous::Unpark;
use super::call::{CANCEL_LIMIT, Request, exception_of, write_request};
use super::leader::Lead;
use super::link::dialect;
use super::{Args, Peer, Timing};
use crate::failure::Attempt;
use crate::lock::Mutex;
use crate::route::RouteProfile;
use crate::server::{Turn, start_both_ways, write_message};
use crate::sync::{MutexGuard, thread};
use crate::{Options, Orb, WeakOrb, raise};

/// An idle connection is closed after so many ticks.
const IDLE_TICKS: u32 = 200;

/// Longest request, in octets, that is kept until its answer is there.
const KEPT_REQUEST: usize = 64 << 10;

/// Most calls outstanding on one connection; one more is TRANSIENT.
const MAX_OUTSTANDING: usize = 1024;

/// A connection shared by asynchronous calls, and by all calls where it carries
/// requests both ways.
///
/// Whoever reads it never waits for the writer: a server that reads nothing
/// before its replies are taken would otherwise stop both for good.
pub(crate) struct Multiplexed {
    /// Told when the connection breaks: their other ones may have, too.
    peers: Mutex<Vec<Weak<Peer>>>,
    pub(super) link: Arc<dyn Link>,
    writer: Mutex<Writer>,
    waiting: Mutex<Waiting>,
    both_ways: Option<BothWays>,
    /// Where the callers read it themselves.
    pub(super) lead: Option<Lead>,
}

/// What is special about a connection that carries requests both ways. A
/// server's connection thread reads it.
struct BothWays {
    orb: WeakOrb,
    /// Replies of this side are written, too.
    turn: Arc<Turn>,
    /// This side opened the connection and tells where it listens.
    opened_here: bool,
    /// The data of the service context that tells it: ours or the client's.
    offer: Mutex<Vec<u8>>,
}

/// The calls that wait for an answer.
#[derive(Default)]
struct Waiting {
    slots: HashMap<u32, Arc<Slot>>,
    /// No further call is taken. What was answered may still have to be read.
    closed: bool,
}

struct Writer {
    out: Vec<u8>,
    next_id: u32,
    code_sets: Option<CodeSetContext>,
}

/// One asynchronous call that was sent.
pub(crate) struct Slot {
    id: u32,
    pub(super) deadline: Option<Instant>,
    version: Version,
    /// The server is not told when nobody waits any more.
    untold: bool,
    /// What both sides had agreed on when it was sent.
    code_sets: Option<CodeSetContext>,
    /// The message, in case it has to go elsewhere; empty when it is long.
    request: Vec<u8>,
    state: Mutex<State>,
}

enum State {
    Waiting(Option<Waker>),
    Done(Result<Answer, SystemException>),
    Taken,
}

/// A whole reply message, and how its text is encoded.
pub(crate) struct Answer {
    pub(crate) message: Vec<u8>,
    pub(crate) dialect: Dialect,
}

impl Multiplexed {
    /// How late a time-out may be noticed, at most.
    pub(crate) const TICK: Duration = Duration::from_millis(50);

    /// The connection of `peer`, opened if need be.
    pub(crate) fn of(
        orb: &Orb,
        peer: &Arc<Peer>,
        timing: Timing,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Arc<Multiplexed>, SystemException> {
        Multiplexed::first_of(orb, &[peer], timing, attempts).map(|(_, shared)| shared)
    }

    /// The connection of the first of several peers that has one open, or else of the first that answers; and which.
    pub(crate) fn first_of(
        orb: &Orb,
        peers: &[&Arc<Peer>],
        timing: Timing,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(usize, Arc<Multiplexed>), SystemException> {
        let open = |(at, peer): (usize, &&Arc<Peer>)| Some((at, Multiplexed::open_to(peer)?));
        if let Some(open) = peers.iter().enumerate().find_map(open) {
            return Ok(open);
        }
        // Connecting may take long: nobody else shall wait for it.
        let (won, link, _) = Peer::connect_first(peers, timing, attempts)?;
        let shared = Multiplexed::share(orb, peers[won], link)?;
        Ok((won, shared))
    }

    /// Has `link` shared, unless another one came first.
    fn share(
        orb: &Orb,
        peer: &Arc<Peer>,
        link: Arc<dyn Link>,
    ) -> Result<Arc<Multiplexed>, SystemException> {
        let mut current = peer.multiplexed.lock().expect(UNPOISONED);
        if let Some(open) = usable(&current) {
            link.close();
            return Ok(open);
        }
        let opened = if orb.offers_bidirectional() {
            Multiplexed::open_both_ways(orb, peer, link)?
        } else {
            let opened = Arc::new(Multiplexed::new(Arc::downgrade(peer), link));
            let reader = Arc::clone(&opened);
            let inbox = Inbox::new(&peer.options().limits);
            thread::Builder::new()
                .name("oxorb-reader".to_owned())
                .spawn(move || reader.read(inbox))
                .map_err(|_| raise::NO_THREAD)?;
            opened
        };
        *current = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// The connection of `peer`, if there is one that takes calls.
    pub(crate) fn open_to(peer: &Peer) -> Option<Arc<Multiplexed>> {
        usable(&peer.multiplexed.lock().expect(UNPOISONED))
    }

    fn open_both_ways(
        orb: &Orb,
        peer: &Arc<Peer>,
        link: Arc<dyn Link>,
    ) -> Result<Arc<Multiplexed>, SystemException> {
        let admitted = orb.registry().join(&link).ok_or(raise::ORB_SHUT_DOWN)?;
        let id = admitted.id;
        // The tick is the reading thread's business, the patience of writes is
        // that of a server: replies are written, too.
        let _ = link.set_write_timeout(Some(orb.options().stall_timeout));
        let _ = link.set_keep_alive(orb.options().keep_alive);
        let turn = Arc::<Turn>::default();
        let opened = Arc::new(Multiplexed {
            both_ways: Some(BothWays {
                orb: orb.downgrade(),
                turn: Arc::clone(&turn),
                opened_here: true,
                offer: Mutex::default(),
            }),
            ..Multiplexed::new(Arc::downgrade(peer), Arc::clone(&link))
        });
        start_both_ways(orb, admitted, link, turn, Arc::clone(&opened)).map_err(|_| {
            orb.registry().remove(id);
            raise::NO_THREAD
        })?;
        Ok(opened)
    }

    /// The way back over a connection that a client opened and offers.
    pub(crate) fn accepted(orb: &Orb, link: Arc<dyn Link>, turn: Arc<Turn>) -> Arc<Multiplexed> {
        let mut accepted = Multiplexed::new(Weak::new(), link);
        accepted.both_ways = Some(BothWays {
            orb: orb.downgrade(),
            turn,
            opened_here: false,
            offer: Mutex::default(),
        });
        // Odd: the even numbers are those of the side that opened it.
        accepted.writer.lock().expect(UNPOISONED).next_id = 1;
        Arc::new(accepted)
    }

    pub(super) fn new(peer: Weak<Peer>, link: Arc<dyn Link>) -> Multiplexed {
        Multiplexed {
            peers: Mutex::new(vec![peer]),
            link,
            writer: Mutex::new(Writer {
                out: Vec::with_capacity(512),
                next_id: 0,
                code_sets: None,
            }),
            waiting: Mutex::default(),
            both_ways: None,
            lead: None,
        }
    }

    /// Whether it carries requests both ways.
    pub(crate) fn is_both_ways(&self) -> bool {
        self.both_ways.is_some()
    }

    /// Whether the client has made that offer before.
    pub(crate) fn has_offer(&self, offer: &[u8]) -> bool {
        let known = |both: &BothWays| *both.offer.lock().expect(UNPOISONED) == offer;
        self.both_ways.as_ref().is_some_and(known)
    }

    /// The client made an offer.
    pub(crate) fn set_offer(&self, offer: &[u8]) {
        if let Some(both) = &self.both_ways {
            *both.offer.lock().expect(UNPOISONED) = offer.to_vec();
        }
    }

    /// From now on calls to `peer` go over this connection; false when another
    /// one is in use for it. A client that comes back from the same host is
    /// believed: its earlier connection may be dead without anybody knowing.
    pub(crate) fn serves(self: &Arc<Self>, peer: &Arc<Peer>) -> bool {
        let mut current = peer.multiplexed.lock().expect(UNPOISONED);
        if let Some(other) = usable(&current)
            && !Arc::ptr_eq(&other, self)
            && other.link.peer_address() != self.link.peer_address()
        {
            return false;
        }
        *current = Some(Arc::clone(self));
        peer.set_both_ways(true);
        drop(current);
        self.peers
            .lock()
            .expect(UNPOISONED)
            .push(Arc::downgrade(peer));
        true
    }

    /// Whether a call waits for its answer.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.waiting().slots.is_empty()
    }

    /// Sends a request; its slot is completed by the reader thread. Without
    /// a slot when no answer is expected.
    pub(crate) fn send<'a>(
        &self,
        profile: &RouteProfile,
        request: &Request<'_>,
        args: Args<'_, 'a>,
        timing: Timing,
    ) -> Result<Arc<Slot>, SystemException> {
        let offer = self.offer();
        let mut writer = self.writer.lock().expect(UNPOISONED);
        let tell = request.code_sets.filter(|_| writer.code_sets.is_none());
        let code_sets = writer.code_sets.or(tell);
        let dialect = dialect(code_sets, request.version.minor);
        let id = writer.next_id;
        let options = profile.remote().options();
        let mut e = options.encoder(mem::take(&mut writer.out), dialect);
        let offer = (!offer.is_empty()).then_some(ServiceContext {
            id: context_id::BI_DIR_IIOP,
            data: &offer,
        });
        let written = write_request(&mut e, id, request, tell, offer, args, &options.limits);
        let encoded = e.finish();
        let slot = Arc::new(Slot {
            id,
            deadline: timing.deadline(),
            version: request.version,
            untold: profile.trips_over_cancel && self.is_both_ways(),
            code_sets,
            request: match encoded.len() {
                0..=KEPT_REQUEST => encoded.to_vec(),
                _ => Vec::new(),
            },
            state: Mutex::new(State::Waiting(None)),
        });
        let sent = written.and_then(|()| {
            if request.op.response != Response::None {
                self.register(id, &slot)?;
            }
            self.write(&encoded, request.version, options, timing)
                .map_err(|failed| self.not_sent(id, &failed))
        });
        writer.out = options.keep(encoded.into_buffer());
        sent?;
        writer.code_sets = code_sets;
        writer.next_id = id.wrapping_add(2);
        Ok(slot)
    }

    fn write(
        &self,
        message: &Encoded<'_>,
        version: Version,
        options: &Options,
        timing: Timing,
    ) -> Result<(), WriteError> {
        let Some(both) = &self.both_ways else {
            let _ = self.link.set_write_timeout(timing.write_limit());
            return write_message(&*self.link, message, version, options.fragment_size);
        };
        let _ours = both.turn.to_write();
        let patience = options.stall_timeout;
        let limit = timing
            .write_limit()
            .map_or(patience, |limit| limit.min(patience));
        let _ = self.link.set_write_timeout(Some(limit));
        let written = write_message(&*self.link, message, version, options.fragment_size);
        let _ = self.link.set_write_timeout(Some(patience));
        written
    }

    /// Nobody waits for an answer any more: forgets the call, and tells the
    /// other side if that can be done at once.
    pub(crate) fn cancel(&self, slot: &Slot, options: &Options) {
        let known = {
            let slots = &mut self.waiting().slots;
            let ours = slots
                .get(&slot.id)
                .is_some_and(|known| std::ptr::eq(&**known, slot));
            ours && slots.remove(&slot.id).is_some()
        };
        if known {
            self.tell_cancelled(slot, Some(options.stall_timeout));
        }
    }

    /// CancelRequest, unless somebody is writing: nobody waits for that.
    fn tell_cancelled(&self, slot: &Slot, patience: Option<Duration>) {
        if slot.untold {
            return;
        }
        let turn = self.both_ways.as_ref().map(|both| both.turn.to_write_now());
        let writer = turn.is_none().then(|| self.writer.try_lock().ok());
        if matches!(turn, Some(None)) || matches!(writer, Some(None)) {
            return;
        }
        let message = oxorb_giop::cancel_request(slot.version, ByteOrder::NATIVE, slot.id);
        let _ = self.link.set_write_timeout(Some(CANCEL_LIMIT));
        let sent = self.link.write(&mut [io::IoSlice::new(&message)]);
        let _ = self.link.set_write_timeout(patience);
        if sent.is_err_and(|failed| failed.written != 0) {
            self.fail_all(raise::CONNECTION_LOST);
            self.link.close();
        }
    }

    /// What to tell of where this side listens; empty when nothing is.
    fn offer(&self) -> Vec<u8> {
        let Some(both) = self.both_ways.as_ref().filter(|both| both.opened_here) else {
            return Vec::new();
        };
        let mut offer = both.offer.lock().expect(UNPOISONED);
        if offer.is_empty()
            && let Some(points) = both.orb.upgrade().and_then(|orb| orb.listen_points())
        {
            *offer = oxorb_giop::listen_points(&points);
        }
        offer.clone()
    }

    fn register(&self, id: u32, slot: &Arc<Slot>) -> Result<(), SystemException> {
        let Waiting { slots, closed } = &mut *self.waiting();
        if *closed {
            return Err(raise::CONNECTION_CLOSED);
        }
        if slots.len() >= MAX_OUTSTANDING {
            // Slots nobody awaits any more make room for new ones.
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        if slots.len() >= MAX_OUTSTANDING {
            return Err(raise::TOO_MANY_OUTSTANDING);
        }
        slots.insert(id, Arc::clone(slot));
        Ok(())
    }

    /// A request that did not go out, or not whole. A stream that was cut in
    /// the middle of a message is of no use to the other calls either; one that
    /// takes nothing more may still bring their answers, or CloseConnection.
    fn not_sent(&self, id: u32, failed: &WriteError) -> SystemException {
        self.waiting().slots.remove(&id);
        let completed = if failed.written == 0 {
            CompletionStatus::No
        } else {
            CompletionStatus::Maybe
        };
        let exception = exception_of(&failed.error, minor::comm_failure::SEND_FAILED, completed);
        if failed.written != 0 {
            self.fail_all(raise::CONNECTION_LOST);
            self.link.close();
        } else if exception.kind != SystemExceptionKind::Timeout {
            self.waiting().closed = true;
        }
        exception
    }

    /// The reader thread: completes slots until the connection ends.
    fn read(self: Arc<Self>, inbox: Inbox) {
        let end = self.receive(inbox);
        self.end(end);
        self.link.close();
    }

    /// The connection has ended: it takes no more calls; those outstanding end
    /// with `exception`.
    pub(crate) fn end(self: &Arc<Self>, exception: SystemException) {
        // Given up because nobody used it: no reason to doubt the others.
        let retired = exception == raise::CONNECTION_CLOSED && self.waiting().closed;
        self.fail_all(exception);
        let peers = mem::take(&mut *self.peers.lock().expect(UNPOISONED));
        for peer in peers.iter().filter_map(Weak::upgrade) {
            if !retired {
                peer.lost();
            }
            for shared in [&peer.multiplexed, &peer.led] {
                let mut current = shared.lock().expect(UNPOISONED);
                current.take_if(|current| Arc::ptr_eq(current, self));
            }
        }
    }

    /// Receives until the connection ends, and says what that means for the
    /// calls that are still outstanding.
    fn receive(&self, mut inbox: Inbox) -> SystemException {
        // Without it deadlines would go unnoticed.
        if self.link.set_read_timeout(Some(Self::TICK)).is_err() {
            return raise::CONNECTION_LOST;
        }
        let mut idle_ticks = 0;
        let mut last_look = Instant::now();
        loop {
            match inbox.poll() {
                Ok(Some(header)) => match header.kind {
                    MessageType::REPLY if self.complete(&mut inbox) => continue,
                    MessageType::REPLY => return raise::BAD_REPLY,
                    MessageType::CLOSE_CONNECTION => return raise::CONNECTION_CLOSED,
                    MessageType::MESSAGE_ERROR => return raise::MESSAGE_ERROR,
                    _ => return raise::CONNECTION_LOST,
                },
                Ok(None) => {}
                Err(_) => return raise::BAD_REPLY,
            }
            // On a busy connection, too, time passes.
            let now = Instant::now();
            if now.saturating_duration_since(last_look) >= Self::TICK {
                last_look = now;
                self.expire(now, None);
            }
            let (buffer, room) = inbox.room();
            match self.link.read(buffer, room) {
                Ok(0) => return raise::CONNECTION_LOST,
                Ok(_) => idle_ticks = 0,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        idle_ticks += 1;
                        if idle_ticks >= IDLE_TICKS && self.retire() {
                            return raise::CONNECTION_CLOSED;
                        }
                    }
                    _ => return raise::CONNECTION_LOST,
                },
            }
        }
    }

    /// Gives the reply just received to its call, if that is still known;
    /// false when it is not readable as a reply.
    pub(crate) fn complete(&self, inbox: &mut Inbox) -> bool {
        let (id, minor) = {
            let frame = inbox.frame();
            match oxorb_giop::Reply::parse(&frame) {
                Ok(reply) => (reply.id, frame.header.version.minor),
                Err(_) => return false,
            }
        };
        let slot = self.waiting().slots.remove(&id);
        if let Some(slot) = slot {
            slot.finish(Ok(Answer {
                message: inbox.take(),
                dialect: dialect(slot.code_sets, minor),
            }));
        }
        true
    }

    /// Takes no more calls if none is outstanding.
    fn retire(&self) -> bool {
        let mut waiting = self.waiting();
        let idle = waiting.slots.is_empty();
        waiting.closed |= idle;
        idle
    }

    /// Fails the calls whose time is over, and tells the other side. `patience`:
    /// how long other writes to this connection may take.
    pub(crate) fn expire(&self, now: Instant, patience: Option<Duration>) {
        let mut expired = Vec::new();
        self.waiting().slots.retain(|_, slot| {
            let late = slot.deadline.is_some_and(|deadline| deadline <= now);
            if late {
                expired.push(Arc::clone(slot));
            }
            !late
        });
        for slot in expired {
            self.tell_cancelled(&slot, patience);
            slot.finish(Err(raise::timeout(CompletionStatus::Maybe)));
        }
    }

    /// Takes no more calls; those outstanding end with `exception`.
    fn fail_all(&self, exception: SystemException) {
        let slots = {
            let mut waiting = self.waiting();
            waiting.closed = true;
            mem::take(&mut waiting.slots)
        };
        for slot in slots.into_values() {
            slot.finish(Err(exception));
        }
    }

    /// Wakes one of those that wait for an answer, if any.
    pub(super) fn nudge_one(&self) {
        let waiting = self.waiting();
        let _ = waiting.slots.values().any(|slot| slot.nudge());
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect(UNPOISONED)
    }
}

/// The connection, if it takes calls.
pub(super) fn usable(current: &Option<Arc<Multiplexed>>) -> Option<Arc<Multiplexed>> {
    let open = current.as_ref()?;
    (!open.waiting().closed).then(|| Arc::clone(open))
}

impl Slot {
    /// Whether there is no answer yet.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(*self.state.lock().expect(UNPOISONED), State::Waiting(_))
    }

    /// Blocks until the answer is there, or its time is over: then `None`.
    pub(crate) fn wait(&self) -> Option<Result<Answer, SystemException>> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        loop {
            if let Poll::Ready(answer) = self.poll(&waker) {
                return Some(answer);
            }
            match self.deadline {
                None => thread::park(),
                Some(deadline) => {
                    let left = deadline.checked_duration_since(Instant::now())?;
                    thread::park_timeout(left);
                }
            }
        }
    }

    /// The request as it was sent, unless it was too long to keep.
    pub(crate) fn request(&self) -> &[u8] {
        &self.request
    }

    /// The answer, if it is there; otherwise `waker` is woken when it is.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Result<Answer, SystemException>> {
        let mut state = self.state.lock().expect(UNPOISONED);
        match mem::replace(&mut *state, State::Taken) {
            State::Done(answer) => Poll::Ready(answer),
            State::Waiting(_) => {
                *state = State::Waiting(Some(waker.clone()));
                Poll::Pending
            }
            State::Taken => panic!("an AsyncReply was polled after it had completed"),
        }
    }

    /// Nobody waits for the answer any more.
    pub(super) fn unwatch(&self) {
        let mut state = self.state.lock().expect(UNPOISONED);
        if let State::Waiting(watcher) = &mut *state {
            *watcher = None;
        }
    }

    /// Wakes who waits for the answer, before it is there; false when nobody does.
    pub(super) fn nudge(&self) -> bool {
        match &*self.state.lock().expect(UNPOISONED) {
            State::Waiting(Some(waker)) => {
                waker.wake_by_ref();
                true
            }
            _ => false,
        }
    }

    fn finish(&self, answer: Result<Answer, SystemException>) {
        let before = mem::replace(
            &mut *self.state.lock().expect(UNPOISONED),
            State::Done(answer),
        );
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }
}

const UNPOISONED: &str = "no panic while the lock is held";

#[cfg(test)]
mod tests {
    use super::*;

    fn slot() -> Arc<Slot> {
        Arc::new(Slot {
            id: 0,
            deadline: None,
            version: Version::V1_2,
            untold: false,
            code_sets: None,
            request: Vec::new(),
            state: Mutex::new(State::Waiting(None)),
        })
    }

    #[test]
    fn a_connection_with_a_call_outstanding_does_not_retire() {
        let (link, _other) = oxorb_transport::mem::pair(64);
        let shared = Multiplexed::new(Weak::new(), Arc::new(link));
        let outstanding = slot();
        shared.register(0, &outstanding).unwrap();
        assert!(!shared.retire());
        shared.waiting().slots.remove(&0);
        assert!(shared.retire());
        // Who comes too late has certainly sent nothing, and takes a new connection.
        assert_eq!(shared.register(2, &slot()), Err(raise::CONNECTION_CLOSED));
    }
}
