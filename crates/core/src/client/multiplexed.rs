//! Connections that many calls share: how requests are sent over them.
//!
//! `shared.rs` opens them, `replies.rs` delivers the answers; `receive.rs` and `leader.rs` read them.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_cdr::{ByteOrder, Encoded};
use oxorb_giop::{Inbox, RequestIds, Response, Told};
use oxorb_object::{
    CompletionStatus, ServiceContexts, SystemException, SystemExceptionKind, minor,
};
use oxorb_transport::{Link, Oversized, PeerId, Unanswered, WriteError};

use super::buffers::{put_buffer, take_buffer};
use super::cancelling::CANCEL_LIMIT;
use super::draft::{Draft, First};
use super::given_up::GivenUp;
use super::level::Level;
use super::link::exception_of;
use super::replies::{AnswerResult, Outstanding, Replies, Waiter};
use super::slot::CallSlot;
use super::writer::{self, Left, Writers};
use super::{Args, Peer, Timing, leader};
use crate::Options;
use crate::conn::{
    Calls, CancelWatch, ConnectionEnd, MAX_OFFERS, NestedCall, Offer, Turn, watch_for_cancel,
    write_message_within,
};
use crate::error::{failure, raise};
use crate::reference::RouteProfile;
use crate::shared::Shared;
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::threads::sync::{MutexGuard, thread};

/// Time limit of calls that have none, over a link that may lose answers.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Longest request, in octets, that is kept until its answer arrives.
const KEPT_REQUEST: usize = 64 << 10;

/// Connection shared by asynchronous calls, and by all calls if it carries requests both ways or the ORB is configured
/// so.
///
/// Its reader never waits for the writer: a server that reads nothing before its replies are read would otherwise block
/// both forever.
pub(crate) struct Multiplexed {
    /// Peers to be notified when the connection breaks, because their other connections may have broken, too.
    pub(super) peers: Mutex<Vec<Weak<Peer>>>,
    pub(super) link: Arc<dyn Link>,
    writers: Writers,
    pub(super) replies: Replies,
    both_ways: Option<BothWays>,
    /// Whether the callers read the connection themselves.
    pub(super) led: bool,
    /// Register of connections on which requests were cut off; `None` if such connections are closed at once.
    pub(super) given_up: Option<Arc<GivenUp>>,
    /// Time, in nanoseconds of the monotonic clock, of the last read or of the moment when a leader stopped reading.
    pub(super) quiet_since: AtomicU64,
    /// Size in octets of the largest request that the link carries.
    most: usize,
    /// Time limit of calls that have none, if answers may be lost.
    longest: Option<Duration>,
}

/// Call that forwards a request over a shared connection, and ends when that request is cancelled.
struct SharedCall {
    over: Arc<Multiplexed>,
    id: u32,
    /// Time limit of other writes to the connection.
    patience: Duration,
}

/// State of a connection that carries requests both ways. A connection thread of the server reads it.
struct BothWays {
    /// State of the ORB whose addresses this side announces; `None` if the other side opened the connection.
    announces: Option<Arc<Shared>>,
    /// Turn to write, which is needed because replies of this side are written, too.
    turn: Arc<Turn>,
    /// Level of the calls that the connection carries. `None` for all levels, because there is no other connection to a
    /// client.
    level: Option<Option<Level>>,
    /// Provides a reader for the answer that a call now waits for, if the threads that read the connection may
    /// themselves wait for an answer.
    provide_reader: Option<Box<dyn Fn() + Send + Sync>>,
    /// Addresses of the side that opened the connection, if they are known.
    offer: Mutex<Option<Arc<Offer>>>,
    /// Number of offers that the other side has made.
    offers: AtomicU32,
}

impl Multiplexed {
    /// Returns the connection of `peer` for calls of a level, if there is one that accepts calls.
    pub(crate) fn open_to(peer: &Peer, level: Option<Level>) -> Option<Arc<Multiplexed>> {
        let both_ways = peer.shared.both_ways.usable();
        if let Some(open) = both_ways.filter(|open| open.takes(level)) {
            return Some(open);
        }
        let open = peer.shared.of(level).multiplexed.usable()?;
        (!open.died_idle(peer.options())).then_some(open)
    }

    /// Reports whether the connection carries calls of a level. A connection that this side opened for requests both
    /// ways carries only calls of the level for which it was opened, so that urgent calls do not wait behind others.
    pub(super) fn takes(&self, level: Option<Level>) -> bool {
        let of = self.both_ways.as_ref().and_then(|both| both.level);
        of.is_none_or(|of| of == level)
    }

    /// Creates the state of a connection that this side opened, and over which requests may also arrive. `announces`:
    /// state of the ORB that serves them.
    pub(super) fn opened_both_ways(
        announces: &Arc<Shared>,
        peer: &Arc<Peer>,
        level: Option<Level>,
        link: Arc<dyn Link>,
        turn: Arc<Turn>,
    ) -> Multiplexed {
        Multiplexed {
            both_ways: Some(BothWays {
                announces: Some(Arc::clone(announces)),
                turn,
                level: Some(level),
                provide_reader: None,
                offer: Mutex::default(),
                offers: AtomicU32::new(0),
            }),
            ..Multiplexed::new(Arc::downgrade(peer), link, RequestIds::OF_OPENER)
        }
    }

    /// Returns the connection for calls to a client, over the link that the client opened and offers.
    pub(crate) fn accepted(
        link: Arc<dyn Link>,
        turn: Arc<Turn>,
        provide_reader: Option<Box<dyn Fn() + Send + Sync>>,
    ) -> Arc<Multiplexed> {
        // This side uses odd request ids, because the even ones belong to the side that opened the connection.
        let mut accepted = Multiplexed::new(Weak::new(), link, RequestIds::OF_ACCEPTOR);
        accepted.both_ways = Some(BothWays {
            announces: None,
            turn,
            level: None,
            provide_reader,
            offer: Mutex::default(),
            offers: AtomicU32::new(0),
        });
        Arc::new(accepted)
    }

    /// Creates a connection that a dedicated thread, or one of the server, reads.
    pub(super) fn new(peer: Weak<Peer>, link: Arc<dyn Link>, ids: RequestIds) -> Multiplexed {
        let facts = link.facts();
        Multiplexed {
            most: facts.mtu.unwrap_or(usize::MAX),
            longest: (!facts.reliable).then_some(LONGEST_WAIT),
            peers: Mutex::new(vec![peer]),
            link,
            writers: Writers::default(),
            replies: Replies::new(ids, None),
            both_ways: None,
            led: false,
            given_up: None,
            quiet_since: AtomicU64::new(leader::now()),
        }
    }

    /// Reports whether the connection carries requests both ways.
    pub(crate) fn is_both_ways(&self) -> bool {
        self.both_ways.is_some()
    }

    /// Sends calls to `peer` over this connection from now on; returns false if another connection to the peer is in
    /// use. A new connection from the same remote host replaces the earlier one, which may be dead unnoticed. A client
    /// on this host is identified by its process, so another process has to wait for the end of the earlier connection.
    pub(super) fn serves(self: &Arc<Self>, peer: &Arc<Peer>) -> bool {
        let current = peer.shared.both_ways.change();
        if !self.may_replace(current.usable().as_ref()) {
            return false;
        }
        current.set(Some(Arc::clone(self)));
        peer.set_both_ways(true);
        drop(current);
        let mut peers = self.peers.lock();
        let new = Arc::downgrade(peer);
        if !peers.iter().any(|known| known.ptr_eq(&new)) {
            peers.push(new);
        }
        true
    }

    /// Reports whether calls may go over this connection from now on instead of another one.
    fn may_replace(self: &Arc<Self>, other: Option<&Arc<Self>>) -> bool {
        other.is_none_or(|other| {
            Arc::ptr_eq(other, self)
                || is_one_process(&other.link.identity(), &self.link.identity())
                || other.link.is_dead()
        })
    }

    /// Reports whether the client's last offer had the same contexts.
    pub(crate) fn has_offer(&self, contexts: &ServiceContexts<'_>) -> bool {
        let known = |both: &BothWays| {
            let offer = both.offer.lock();
            offer.as_ref().is_some_and(|offer| offer.is(contexts))
        };
        self.both_ways.as_ref().is_some_and(known)
    }

    /// Records an offer of the client; returns false if the client has made too many different ones ([`MAX_OFFERS`]).
    pub(crate) fn set_offer(&self, offer: Offer) -> bool {
        let Some(both) = &self.both_ways else {
            return false;
        };
        let mut known = both.offer.lock();
        // The lock also protects the count of offers, because two threads may serve requests of the connection.
        let made = both.offers.load(Ordering::Relaxed);
        let takes = made < MAX_OFFERS;
        if takes {
            both.offers.store(made + 1, Ordering::Relaxed);
            *known = Some(Arc::new(offer));
        }
        takes
    }

    /// Reports whether calls to an address, whose peers are these, may use this connection, because no other connection
    /// is in use for the address.
    pub(crate) fn may_lead_to(self: &Arc<Self>, peers: &[Arc<Peer>]) -> bool {
        peers.iter().any(|peer| {
            let current = peer.shared.both_ways.change();
            self.may_replace(current.usable().as_ref())
        })
    }

    /// Makes calls to an address, whose peers are these, use this connection from now on; returns false if another
    /// connection is in use for the address.
    pub(crate) fn lead_to(self: &Arc<Self>, peers: &[Arc<Peer>]) -> bool {
        // `count` calls `serves` for every peer, whereas `any` would stop at the first that returns true.
        peers.iter().filter(|peer| self.serves(peer)).count() > 0
    }

    /// Sends the request of an asynchronous call; the reader of the connection completes its slot.
    pub(crate) fn send<'a>(
        &self,
        profile: &RouteProfile,
        draft: &Draft<'_>,
        args: Args<'_, 'a>,
        timing: Timing,
    ) -> Result<Arc<CallSlot>, SystemException> {
        let slot = CallSlot::new();
        let waiter = Waiter::Slot(Arc::clone(&slot));
        self.send_for(Some(waiter), profile, draft, args, timing)?;
        Ok(slot)
    }

    /// Sends a request of this thread, and waits for the answer. Returns `None` if the request has no answer. If the
    /// call is `forwarding` the request that this thread serves, it ends when that request is cancelled.
    pub(super) fn call<'a>(
        self: &Arc<Self>,
        profile: &RouteProfile,
        draft: &Draft<'_>,
        args: Args<'_, 'a>,
        timing: Timing,
        forwarding: bool,
    ) -> Result<Option<AnswerResult>, SystemException> {
        let timing = timing.within(self.longest);
        let waiter = match (draft.op.response, self.led) {
            (Response::None, _) => None,
            // The caller is registered as awake, because it may have to read the connection itself.
            (_, true) => Some(Waiter::Awake),
            (_, false) => Some(Waiter::Thread(thread::current())),
        };
        let answered = waiter.is_some();
        let id = self.send_for(waiter, profile, draft, args, timing)?;
        if !answered {
            return Ok(None);
        }
        let _watch = match forwarding {
            true => self.watch(id, profile),
            false => None,
        };
        let answer = match self.led {
            true => self.follow_or_lead(id, timing.deadline()),
            false => self.wait(id, timing.deadline()),
        };
        answer.map(Some).ok_or_else(|| {
            if let Some(call) = self.replies.forget(id) {
                let patience = profile.remote().options().stall_timeout;
                self.tell_cancelled(id, &call, Some(patience));
            }
            raise::timeout(CompletionStatus::Maybe)
        })
    }

    /// Blocks until the answer has arrived; returns `None` if its time is over first.
    fn wait(&self, id: u32, deadline: Option<Instant>) -> Option<AnswerResult> {
        // The thread was registered before the request was sent, so an answer that has already arrived wakes it, too.
        // Only the wake-up at the end of the connection may be lost, if code that writes arguments sleeps itself; so an
        // ended connection is checked for an answer first.
        let mut look = self.replies.is_closed();
        loop {
            if look && let Some(answer) = self.replies.take(id) {
                return Some(answer);
            }
            look = true;
            sleep(deadline)?;
        }
    }

    /// Sends a request; returns its id. `waiter` is `None` if no answer is expected.
    fn send_for<'a>(
        &self,
        waiter: Option<Waiter>,
        profile: &RouteProfile,
        draft: &Draft<'_>,
        args: Args<'_, 'a>,
        timing: Timing,
    ) -> Result<u32, SystemException> {
        let offer = self.offer();
        let answered = waiter.is_some();
        let slot = match &waiter {
            Some(Waiter::Slot(slot)) => Some(Arc::clone(slot)),
            _ => None,
        };
        let mut shared = self.writers.shared();
        let telling = shared.told.yet_to_tell(draft.code_sets).is_some();
        // Only a caller that waits for the answer may leave its message to another thread, because only such a caller
        // is notified of a failed write.
        let waits = matches!(waiter, Some(Waiter::Awake | Waiter::Thread(_)));
        let may_leave = waits && !telling && self.both_ways.is_none();
        let mut timing = timing.within(self.longest);
        if !may_leave {
            shared = self.take_turn(shared, &mut timing)?;
        }
        let tell = shared.told.yet_to_tell(draft.code_sets);
        let told = match tell {
            None => shared.told,
            Some(_) => Told::of(tell),
        };
        let entered = match waiter {
            None => self.replies.pass(),
            Some(waiter) => {
                let call = Outstanding {
                    deadline: timing.deadline(),
                    wire: draft.wire,
                    untold: !profile.takes_cancel(),
                    told,
                };
                let room = match slot {
                    Some(_) => Vec::new(),
                    None => take_buffer(),
                };
                self.replies.enter(call, waiter, room)
            }
        };
        let options = profile.remote().options();
        let id = match entered {
            Ok(id) => id,
            Err(exception) => {
                drop(shared);
                if !may_leave {
                    self.leave(timing);
                }
                return Err(exception);
            }
        };
        let dialect = told.dialect(draft.wire.version().minor);
        let mut e = options.encoder(take_buffer(), dialect);
        let contexts = offer.as_ref().map_or([None; 2], |offer| offer.contexts());
        let first = First { code_sets: tell, contexts, alias: None };
        let written = panic::catch_unwind(AssertUnwindSafe(|| {
            draft.write(&mut e, id, &first, args, &options.limits)
        }));
        let written = match written {
            Ok(written) => written,
            Err(panicked) => {
                drop(shared);
                self.not_written(id, timing, !may_leave);
                panic::resume_unwind(panicked);
            }
        };
        let encoded = e.finish();
        if may_leave {
            let whole = draft.fragment_size.is_none_or(|size| encoded.len() <= size)
                && encoded.len() <= self.most;
            let left = written.is_ok()
                && whole
                && encoded.is_contiguous()
                && self.writers.leave_message(&mut shared, encoded.contiguous(), id);
            if left || written.is_err() {
                drop(shared);
                put_buffer(encoded.into_buffer());
                return written.map(|()| id).inspect_err(|_| {
                    self.replies.forget(id);
                });
            }
            shared = self.take_turn(shared, &mut timing).inspect_err(|_| {
                self.replies.forget(id);
            })?;
        }
        drop(shared);
        if let Some(slot) = slot {
            let kept = match encoded.len() {
                0..=KEPT_REQUEST => encoded.to_vec(),
                _ => Vec::new(),
            };
            slot.keep(id, kept);
        }
        let sent = match written {
            Ok(()) => self
                .write(&encoded, draft, options, timing)
                .map_err(|failed| self.not_sent(id, &failed)),
            Err(exception) => {
                self.replies.forget(id);
                Err(exception)
            }
        };
        put_buffer(encoded.into_buffer());
        if telling && sent.is_ok() {
            self.writers.shared().told = told;
        }
        self.leave(timing);
        if answered && sent.is_ok() {
            self.see_to_reader();
        }
        sent.map(|()| id)
    }

    /// Waits for the turn to write. If others wrote first, the time that is left is computed again.
    ///
    /// # Errors
    /// TIMEOUT, COMPLETED_NO, if the turn does not come in time.
    fn take_turn<'w>(
        &'w self,
        shared: MutexGuard<'w, writer::WriterShared>,
        timing: &mut Timing,
    ) -> Result<MutexGuard<'w, writer::WriterShared>, SystemException> {
        let late = || raise::timeout(CompletionStatus::No);
        let (shared, waited) =
            self.writers.take(shared, timing.deadline_to_send()).ok_or_else(late)?;
        if waited {
            match timing.resumed() {
                Ok(left) => *timing = left,
                Err(late) => {
                    drop(shared);
                    self.leave(*timing);
                    return Err(late);
                }
            }
        }
        Ok(shared)
    }

    /// Ends a call whose arguments panicked, and this thread's turn if it `has_turn`; otherwise all later calls over
    /// the connection would wait.
    #[cold]
    fn not_written(&self, id: u32, timing: Timing, has_turn: bool) {
        self.replies.forget(id);
        if has_turn {
            self.leave(timing);
        }
    }

    /// Finds a reader for the answer if all threads of the connection's lane may be waiting for answers.
    fn see_to_reader(&self) {
        if let Some(both) = &self.both_ways
            && let Some(provide_reader) = &both.provide_reader
        {
            provide_reader();
        }
    }

    /// Ends the turn to write, and sends the messages that other threads have left meanwhile.
    fn leave(&self, timing: Timing) {
        self.writers.leave(|left| {
            // The remaining time of this caller limits the write. If another caller's request is not sent in that time,
            // that caller is notified, and sends the request itself.
            let limit = timing.left_to_send();
            let limit = limit.unwrap_or(Some(CANCEL_LIMIT));
            let _ = self.link.set_write_timeout(limit);
            let mut slices = [io::IoSlice::new(&left.octets)];
            if let Err(failed) = self.link.write(&mut slices) {
                self.none_sent(left, &failed);
            }
        });
    }

    /// Handles requests that were left to this thread and were not sent, or were sent only in part.
    #[cold]
    fn none_sent(&self, left: &Left, failed: &WriteError) {
        if Unanswered::is(&failed.error) {
            // The link rejects only requests that need an answer, and has sent the oneways.
            return self.replies.fail_each(&left.ids, raise::ONEWAYS_ONLY);
        }
        let completed = CompletionStatus::No;
        let exception = match is_closed(failed) {
            true => raise::CONNECTION_CLOSED,
            false => SystemException::comm_failure(minor::comm_failure::SEND_FAILED, completed),
        };
        let over = exception_of(&failed.error, minor::comm_failure::SEND_FAILED, completed);
        if failed.written != 0 {
            self.cut_off(failed);
            return;
        }
        self.replies.fail_each(&left.ids, exception);
        if over.kind != SystemExceptionKind::Timeout {
            self.replies.close();
        }
    }

    fn write(
        &self,
        message: &Encoded<'_>,
        draft: &Draft<'_>,
        options: &Options,
        timing: Timing,
    ) -> Result<(), WriteError> {
        let (wire, fragment_size) = (draft.wire, draft.fragment_size);
        let Some(both) = &self.both_ways else {
            let _ = self.link.set_write_timeout(timing.write_limit());
            let left = || timing.time_to_send();
            return write_message_within(&*self.link, message, wire, fragment_size, &left);
        };
        let patience = options.stall_timeout;
        let left = || Some(timing.time_to_send().map_or(patience, |left| left.min(patience)));
        let mut limit = timing.write_limit().map_or(patience, |limit| limit.min(patience));
        let late = || WriteError { written: 0, error: io::ErrorKind::TimedOut.into() };
        let _ours = match (both.turn.to_write_now(), timing.deadline_to_send()) {
            (Some(ours), _) => ours,
            // A reply of this side, or a call's cancellation, is being written.
            (None, None) => both.turn.to_write(),
            (None, Some(until)) => {
                let ours = both.turn.to_write_until(until).ok_or_else(late)?;
                limit = left().filter(|left| !left.is_zero()).ok_or_else(late)?;
                ours
            }
        };
        let _ = self.link.set_write_timeout(Some(limit));
        let written = write_message_within(&*self.link, message, wire, fragment_size, &left);
        let _ = self.link.set_write_timeout(Some(patience));
        written
    }

    /// Forgets a call whose answer is no longer awaited, and notifies the other side if that can be done at once.
    pub(crate) fn cancel(&self, slot: &CallSlot, options: &Options) {
        if let Some((id, call)) = self.replies.forget_slot(slot) {
            self.tell_cancelled(id, &call, Some(options.stall_timeout));
        }
    }

    /// Registers a call to be cancelled with the request that this thread serves, until the guard is dropped. `None` if
    /// the thread serves no request that came over a connection.
    fn watch(self: &Arc<Self>, id: u32, profile: &RouteProfile) -> Option<CancelWatch> {
        let patience = profile.remote().options().stall_timeout;
        watch_for_cancel(Arc::new(SharedCall { over: Arc::clone(self), id, patience }))
    }

    /// Sends CancelRequest, unless another thread is writing; a cancellation does not wait for that thread. `patience`
    /// is the time limit of other writes to this connection.
    pub(super) fn tell_cancelled(&self, id: u32, call: &Outstanding, patience: Option<Duration>) {
        if call.untold {
            return;
        }
        let Some(message) = call.wire.cancel(ByteOrder::NATIVE, id) else {
            return;
        };
        let write = || {
            let _ = self.link.set_write_timeout(Some(CANCEL_LIMIT));
            let sent = self.link.write(&mut [io::IoSlice::new(&message)]);
            let _ = self.link.set_write_timeout(patience);
            if let Err(failed) = sent
                && failed.written != 0
            {
                self.cut_off(&failed);
            }
        };
        match &self.both_ways {
            Some(both) => {
                if let Some(_ours) = both.turn.to_write_now() {
                    write();
                }
            }
            None => self.writers.if_free(write),
        }
    }

    /// Returns the offer to be made over the connection, if this side opened the connection and already listens.
    fn offer(&self) -> Option<Arc<Offer>> {
        let both = self.both_ways.as_ref()?;
        let shared = both.announces.as_ref()?;
        let mut offer = both.offer.lock();
        if offer.is_none() {
            let published = shared.published.get()?;
            *offer = Some(Arc::new(Offer::to(&*self.link, published)));
        }
        offer.clone()
    }

    /// Handles a request that was not sent, or was sent only in part. A stream that was cut in the middle of a message
    /// is useless to the other calls, too. A stream that merely accepts no more octets may still bring their answers,
    /// or CloseConnection.
    fn not_sent(&self, id: u32, failed: &WriteError) -> SystemException {
        self.replies.forget(id);
        let completed =
            if failed.written == 0 { CompletionStatus::No } else { CompletionStatus::Maybe };
        if let Some(oversized) = Oversized::of(&failed.error) {
            let exception = raise::oversized(completed);
            return failure::noted(exception, self.link.peer(), oversized.to_string());
        }
        if Unanswered::is(&failed.error) {
            let cause = failed.error.to_string();
            return failure::noted(raise::ONEWAYS_ONLY, self.link.peer(), cause);
        }
        let exception = match is_closed(failed) {
            true => raise::CONNECTION_CLOSED,
            false => exception_of(&failed.error, minor::comm_failure::SEND_FAILED, completed),
        };
        let cause = format!("sending the request failed: {}", failed.error);
        let exception = failure::noted(exception, self.link.peer(), cause);
        if failed.written != 0 {
            self.cut_off(failed);
        } else if exception.kind != SystemExceptionKind::Timeout {
            self.replies.close();
        }
        exception
    }

    /// Ends the connection after a message was cut off, because the other side cannot read what follows.
    #[cold]
    fn cut_off(&self, failed: &WriteError) {
        let ended = ConnectionEnd::CutOff(failed.error.to_string());
        if let Some(given_up) = &self.given_up {
            given_up.keep(&self.link, || self.replies.fail_all(self.told(&ended)));
            return;
        }
        self.replies.fail_all(self.told(&ended));
        self.link.close();
    }
}

impl NestedCall for SharedCall {
    fn cancel(&self) {
        let late = raise::timeout(CompletionStatus::Maybe);
        if let Some(call) = self.over.replies.fail_one(self.id, late) {
            self.over.tell_cancelled(self.id, &call, Some(self.patience));
        }
    }
}

/// Reports whether two connections certainly come from the same process, or from the same remote host. Processes of PID
/// namespaces that are invisible from here all have the number 0.
fn is_one_process(one: &PeerId, other: &PeerId) -> bool {
    one == other && !matches!(one, PeerId::User { pid: 0, .. })
}

/// Reports whether the other side closed the connection before it accepted any written octets, as a server does when it
/// rejects a new connection with CloseConnection. Over UNIX sockets a write detects the close before that message was
/// read.
fn is_closed(failed: &WriteError) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
    failed.written == 0 && matches!(failed.error.kind(), BrokenPipe | ConnectionReset)
}

/// View of the connection for the threads of the server that read it.
impl Calls for Multiplexed {
    fn complete(&self, inbox: &mut Inbox) -> Result<(), ConnectionEnd> {
        self.replies.deliver_one(inbox)
    }

    fn is_awaited(&self) -> bool {
        self.replies.is_awaited()
    }

    fn retire(&self) -> bool {
        self.replies.retire()
    }

    fn expire(&self, now: Instant, patience: Option<Duration>) {
        self.expire(now, patience);
    }

    fn end(&self, ended: ConnectionEnd) {
        self.end(self.told(&ended));
    }
}

/// Sleeps until this thread is woken or the deadline comes. Returns `None` if the deadline has already passed.
pub(super) fn sleep(deadline: Option<Instant>) -> Option<()> {
    match deadline {
        None => thread::park(),
        Some(deadline) => {
            thread::park_timeout(deadline.checked_duration_since(clock::now())?);
        }
    }
    Some(())
}
