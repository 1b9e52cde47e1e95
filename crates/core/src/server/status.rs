//! State shared by the threads that serve a connection and the registry.
//!
//! One thread reads a connection and runs its requests. While a request runs, another thread can take the connection
//! over and continue to read it. `phase`, which contains the request that runs, decides between the two threads: the
//! thread that runs the request takes the connection back before it writes the answer, and a thread that takes over
//! puts a mark into `phase`. Exactly one of them succeeds. Meanwhile the messages that arrived after the request are in
//! `behind`.

use std::sync::{Arc, OnceLock, Weak};

use oxorb_giop::{Inbox, MessageLimits, Reading, Wire};
use oxorb_object::Version;
use oxorb_transport::Link;

use super::client::Client;
use super::connection_owner::WeakConnectionOwner;
use super::lane::Lane;
use super::session::Session;
use crate::Options;
use crate::conn::{Calls, Turn};
use crate::interceptor::Visited;
use crate::policy::LargePayloads;
use crate::scheduler::budget::{Account, Ledger};
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// State of a connection, independent of the thread that serves it.
pub(crate) struct Status {
    /// Time since which it is idle, in milliseconds since the registry's origin, plus one; 0 while
    /// it is busy.
    pub(super) idle_since: AtomicU64,
    /// Time of the last KiB of an incomplete message; 0 while none is incomplete.
    pub(super) stalls_since: AtomicU64,
    /// Whether a message was received over it.
    pub(super) used: AtomicBool,
    /// Whether the connection has to end, in order.
    pub(super) told: AtomicBool,
    /// Whether the connection carries requests both ways, so that closing it costs more than a connection.
    pub(crate) keep: AtomicBool,
    /// Number of requests received over it that are to be answered later.
    pub(super) unanswered: AtomicUsize,
    pub(crate) client: Option<Arc<Client>>,
    /// Access rules that concern its peer; set with the first request, if there are rules, and again after the rules
    /// were replaced.
    pub(super) visited: Visited,
    /// Budget of the connection's client; set with the first request, if there are budgets.
    pub(super) account: OnceLock<Arc<Account>>,
    /// Number of threads that serve it, plus requests to be answered later.
    servers: AtomicUsize,
    /// Phase of the connection's reader: see [`Phase`].
    phase: AtomicU64,
    /// Phase at the last look.
    looked: AtomicU64,
    /// Lower half of the phase at the last look, which counts the requests begun by then.
    counted: AtomicU32,
    /// Phase for which input wakes the watching thread.
    watched: AtomicU64,
    /// Messages after the request that runs.
    pub(super) behind: Mutex<Option<Inbox>>,
    /// Session after the last request, for the thread that takes over.
    pub(super) session: Mutex<Session>,
    /// Write lock; `None` while a single thread uses the connection.
    turn: OnceLock<Arc<Turn>>,
    /// Calls of this side, on a bidirectional connection.
    calls: OnceLock<Arc<dyn Calls>>,
    /// State for reading messages, if their protocol is not GIOP.
    reading: OnceLock<Reading>,
    /// Policy about large payloads of the endpoint that accepted the connection; unset: the policy of the ORB.
    payloads: OnceLock<LargePayloads>,
    /// Data for a takeover; set if another thread may take it over.
    origin: OnceLock<ConnectionOrigin>,
    /// Number of requests that run, or are about to, in threads that no longer read it.
    under_way: AtomicUsize,
    /// Number of requests that were read and may not have begun yet; counted while it carries calls of this side.
    announced: AtomicUsize,
    /// Time until which it must not be read, because a budget is exhausted, in nanoseconds of the monotonic clock; 0 if
    /// it may be read.
    paused: AtomicU64,
    /// Whether several requests were outstanding at a time.
    shared: AtomicBool,
    /// Number of successive requests that came alone.
    alone: AtomicU32,
    /// Approximate duration of its requests in nanoseconds; `u32::MAX` if unknown.
    duration: AtomicU32,
}

/// Data of a connection for a takeover.
pub(super) struct ConnectionOrigin {
    /// Threadpool whose port accepted the connection.
    pub(super) pool: Option<u32>,
    pub(super) owner: WeakConnectionOwner,
    /// Lane whose own watching thread handles takeovers; `None` if the ORB's watching thread handles them.
    pub(super) watched: Option<Weak<Lane>>,
}

/// States of `phase`, in its lowest bits. Above them are a count of requests and, in the upper half, the id of the
/// request that runs.
struct Phase;

impl Phase {
    const RUNNING: u64 = 1;
    const TAKEN: u64 = 2;
    const STATES: u64 = 3;
    const NEXT: u32 = 4;
}

/// Number of successive requests that must come alone before the client counts as one that waits for each answer.
const ALONE: u32 = 32;

/// Number of requests between two looks that counts as a stream.
const STREAM: u32 = 8;

/// Duration in nanoseconds below which requests are served one after another by the thread that reads them, because
/// handing the connection on would take longer.
const SHORT: u32 = 50_000;

impl Status {
    /// Returns the account of its client.
    #[inline]
    pub(super) fn account(&self, ledger: &Ledger, link: &Arc<dyn Link>) -> &Arc<Account> {
        self.account.get_or_init(|| ledger.client(link.identity()))
    }

    /// Returns the account of its client, once it was set.
    #[inline]
    pub(super) fn known_account(&self) -> Option<&Arc<Account>> {
        self.account.get()
    }

    pub(super) fn new(now: u64, client: Option<Arc<Client>>) -> Status {
        Status {
            idle_since: AtomicU64::new(now),
            stalls_since: AtomicU64::new(0),
            used: AtomicBool::new(false),
            told: AtomicBool::new(false),
            keep: AtomicBool::new(false),
            unanswered: AtomicUsize::new(0),
            client,
            visited: Visited::default(),
            account: OnceLock::new(),
            servers: AtomicUsize::new(1),
            phase: AtomicU64::new(0),
            looked: AtomicU64::new(0),
            counted: AtomicU32::new(0),
            watched: AtomicU64::new(0),
            behind: Mutex::default(),
            session: Mutex::default(),
            turn: OnceLock::new(),
            calls: OnceLock::new(),
            reading: OnceLock::new(),
            payloads: OnceLock::new(),
            origin: OnceLock::new(),
            under_way: AtomicUsize::new(0),
            announced: AtomicUsize::new(0),
            paused: AtomicU64::new(0),
            shared: AtomicBool::new(false),
            alone: AtomicU32::new(0),
            duration: AtomicU32::new(u32::MAX),
        }
    }

    /// Forbids reading the connection until `time`, in nanoseconds of the monotonic clock.
    #[cold]
    pub(super) fn pause_until(&self, time: u64) {
        if self.can_wait() {
            self.paused.fetch_max(time, Ordering::Relaxed);
        }
    }

    /// Reports whether the connection may be paused. One that also carries calls of this side is read nevertheless,
    /// because their replies must not wait; one that has to end is read up to its end.
    fn can_wait(&self) -> bool {
        self.calls().is_none() && !self.was_told_to_end()
    }

    /// Reports whether a pause was begun whose end was not noticed yet.
    #[inline]
    pub(super) fn may_be_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed) != 0
    }

    /// Returns the end of the present pause, in nanoseconds of the monotonic clock; `None` if the connection may be
    /// read.
    pub(super) fn paused_until(&self) -> Option<u64> {
        let until = self.paused.load(Ordering::Relaxed);
        if until == 0 {
            return None;
        }
        // The connection may have begun to carry calls, or to end, during the pause.
        if until > clock::monotonic_nanoseconds() && self.can_wait() {
            return Some(until);
        }
        // Another thread may begin the next pause meanwhile.
        let _ = self.paused.compare_exchange(until, 0, Ordering::Relaxed, Ordering::Relaxed);
        None
    }

    /// Sets the protocol of the messages, before the first one. The default is GIOP.
    pub(super) fn speak(&self, wire: Wire) {
        if let Some(reading) = Reading::of(wire) {
            let _ = self.reading.set(reading);
        }
    }

    /// Sets the policy about large payloads, before the first message.
    pub(super) fn set_payloads(&self, payloads: LargePayloads) {
        let _ = self.payloads.set(payloads);
    }

    /// Returns the policy about large payloads for objects without one.
    pub(super) fn payloads(&self, options: &Options) -> LargePayloads {
        *self.payloads.get().unwrap_or(&options.large_payloads)
    }

    /// Returns the wire format of the messages, with this version of GIOP.
    pub(super) fn wire(&self, version: Version) -> Wire {
        let reading = self.reading.get();
        Wire::of(reading.map(Reading::messaging), version)
    }

    /// Returns an empty inbox for further messages.
    pub(super) fn inbox(&self, limits: &MessageLimits) -> Inbox {
        Inbox::new(limits).continuing(self.reading.get())
    }

    /// Records input after a silence.
    pub(crate) fn wakes(&self) {
        // `SeqCst` orders this before the check whether the watching thread sleeps.
        self.idle_since.swap(0, Ordering::SeqCst);
        self.used.store(true, Ordering::Relaxed);
    }

    /// Reports whether the connection has to end in order while the ORB runs.
    pub(crate) fn was_told_to_end(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    pub(super) fn may_end(&self) -> bool {
        !self.told.load(Ordering::Relaxed)
            && !self.keep.load(Ordering::Relaxed)
            && self.kept() == 0
            && !self.awaits_answer()
    }

    /// Reports whether a call of this side over the connection waits for its answer.
    pub(super) fn awaits_answer(&self) -> bool {
        self.calls().is_some_and(|calls| calls.is_awaited())
    }

    /// Makes further calls of this side use another connection, unless a call waits for its answer. Returns
    /// whether none does.
    pub(super) fn retires_calls(&self) -> bool {
        self.calls().is_none_or(|calls| calls.retire())
    }

    /// Returns the rank of the connection among those that may be closed for new ones, lowest first, if it has been
    /// idle since `latest` at least. `None` for a connection in use.
    pub(super) fn use_since(&self, latest: u64) -> Option<(u8, u64)> {
        let since = |at: &AtomicU64| {
            let since = at.load(Ordering::Relaxed);
            (1..=latest).contains(&since).then_some(since)
        };
        if let Some(since) = since(&self.idle_since) {
            return Some((u8::from(self.used.load(Ordering::Relaxed)), since));
        }
        let runs = self.running().is_some() || self.under_way() > 0;
        since(&self.stalls_since).filter(|_| !runs).map(|since| (2, since))
    }

    /// Counts one more thread that serves the connection.
    pub(crate) fn share(&self) {
        self.servers.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a request to be answered later: the connection counts as served, and not as idle.
    pub(crate) fn share_unanswered(&self) {
        self.share();
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a thread's share; returns whether it was the last, which has to close the connection
    /// and then [remove](super::Registry::remove) it.
    pub(crate) fn leave(&self) -> bool {
        self.servers.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Reports whether the connection is served, and no thread has closed it.
    pub(super) fn is_served(&self) -> bool {
        self.servers.load(Ordering::SeqCst) > 0
    }

    /// Returns the write lock, if several threads may write.
    #[inline]
    pub(crate) fn turn(&self) -> Option<&Arc<Turn>> {
        self.turn.get()
    }

    /// Returns the write lock, which all writers use from now on.
    pub(crate) fn turns(&self) -> &Arc<Turn> {
        self.turn.get_or_init(Arc::default)
    }

    /// Returns the calls of this side.
    pub(crate) fn calls(&self) -> Option<&Arc<dyn Calls>> {
        self.calls.get()
    }

    /// Records that the connection also carries calls of this side, whose writers use the same
    /// write lock.
    pub(crate) fn use_both_ways(&self, calls: Arc<dyn Calls>) {
        let _ = self.calls.set(calls);
    }

    /// Sets the write lock of calls that this side has made already.
    pub(super) fn set_turns(&self, turn: Arc<Turn>) {
        let _ = self.turn.set(turn);
    }

    pub(super) fn set_origin(&self, origin: ConnectionOrigin) {
        let _ = self.origin.set(origin);
    }

    pub(super) fn origin(&self) -> Option<&ConnectionOrigin> {
        self.origin.get()
    }

    /// Records that a request runs in the reading thread; returns the phase for
    /// [`ends`](Self::ends).
    #[inline]
    pub(super) fn begins(&self, request: u32) -> u64 {
        let count = (self.phase.load(Ordering::Relaxed) as u32).wrapping_add(Phase::NEXT);
        let count = u64::from(count) & !Phase::STATES;
        let word = u64::from(request) << 32 | count | Phase::RUNNING;
        self.phase.store(word, Ordering::Release);
        word
    }

    /// Takes the connection back; returns false if another thread has taken it over.
    #[inline]
    pub(super) fn ends(&self, word: u64) -> bool {
        let free = word & !Phase::STATES;
        let (set, get) = (Ordering::AcqRel, Ordering::Acquire);
        self.phase.compare_exchange(word, free, set, get).is_ok()
    }

    /// Reports whether the request still runs in the reading thread.
    pub(super) fn reads(&self, word: u64) -> bool {
        self.phase.load(Ordering::Acquire) == word
    }

    /// Returns the phase of a request that runs in the reading thread.
    fn running(&self) -> Option<u64> {
        let word = self.phase.load(Ordering::Acquire);
        (word & Phase::STATES == Phase::RUNNING).then_some(word)
    }

    /// Returns the phase of the running request, and whether it is that of the last call.
    pub(super) fn look(&self) -> Option<(u64, bool)> {
        self.origin.get()?;
        let word = self.running()?;
        Some((word, self.looked.swap(word, Ordering::Relaxed) == word))
    }

    /// Reports whether many requests have begun since the last call.
    pub(super) fn streams(&self) -> bool {
        let now = self.phase.load(Ordering::Relaxed) as u32;
        let before = self.counted.swap(now, Ordering::Relaxed);
        now.wrapping_sub(before) >= STREAM * Phase::NEXT
    }

    /// Records that the request is watched; returns whether it was not yet.
    pub(super) fn is_watched_first(&self, word: u64) -> bool {
        self.watched.swap(word, Ordering::Relaxed) != word
    }

    /// Returns the lane whose own watching thread handles takeovers.
    pub(super) fn watched_lane(&self) -> Option<Arc<Lane>> {
        self.origin.get()?.watched.as_ref()?.upgrade()
    }

    /// Reports whether the watching thread of this lane (`None` for the ORB's) handles takeovers.
    pub(super) fn is_watched_by(&self, lane: Option<&Arc<Lane>>) -> bool {
        let watched = self.origin.get().and_then(|origin| origin.watched.as_ref());
        watched.map(Weak::as_ptr) == lane.map(Arc::as_ptr)
    }

    /// Takes the connection from the thread that runs a request; returns false if the request has ended. The caller has
    /// a share of the connection already.
    pub(super) fn take_over(&self, word: u64) -> bool {
        let turn = self.turns();
        turn.begin(request_of(word));
        self.counts_beside();
        let taken = word & !Phase::STATES | Phase::TAKEN;
        let (set, get) = (Ordering::AcqRel, Ordering::Acquire);
        let took = self.phase.compare_exchange(word, taken, set, get).is_ok();
        if took {
            self.shared.store(true, Ordering::Relaxed);
        } else {
            self.goes_no_more(request_of(word));
        }
        took
    }

    /// Records that the thread runs a request and no longer reads the connection.
    pub(super) fn goes_beside(&self, request: u32) {
        self.turns().begin(request);
        self.counts_beside();
    }

    fn counts_beside(&self) {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        if let Some(client) = &self.client {
            client.share.runs_beside();
        }
    }

    /// Reports whether one more request may run while another thread reads; such threads are limited for each client.
    pub(super) fn may_go_beside(&self, options: &Options) -> bool {
        let client = self.client.as_ref();
        self.under_way() + 1 < options.max_requests_per_connection
            && client.is_none_or(|client| client.share.may_run_beside())
    }

    /// Records the end of a request that ran while another thread read the connection.
    pub(super) fn goes_no_more(&self, request: u32) {
        // `Release` orders this after the phase of a request that runs in the reading thread again.
        self.under_way.fetch_sub(1, Ordering::Release);
        if let Some(client) = &self.client {
            client.share.runs_no_more();
        }
        self.turns().finish(request);
    }

    /// Returns the number of requests that run, or are about to, in threads that no longer read it.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Acquire)
    }

    /// Returns the number of requests in threads that no longer read the connection, plus those that wait for a later
    /// answer.
    pub(super) fn kept(&self) -> usize {
        self.under_way() + self.unanswered.load(Ordering::Relaxed)
    }

    /// Counts a request that was read, until the guard is dropped: replies may still be needed for it. To be called
    /// before [`serves_no_more`](Self::serves_no_more) decides on the request. `None` if the connection carries no calls
    /// of this side, which costs a comparison.
    #[inline]
    pub(super) fn announces(self: &Arc<Self>) -> Option<AnnouncedRequest> {
        self.calls()?;
        self.announced.fetch_add(1, Ordering::AcqRel);
        Some(AnnouncedRequest(Arc::clone(self)))
    }

    /// Reports whether a request of the connection was read, runs, or is to be answered later.
    pub(super) fn has_requests(&self) -> bool {
        // An exchange reads the last value of the counter: a thread that counts a request later also finds that the
        // connection has to end.
        if self.announced.fetch_add(0, Ordering::AcqRel) > 0 {
            return true;
        }
        let phase = self.phase.load(Ordering::Acquire);
        // A request is counted before it no longer runs in the reading thread, and until it runs there again. The phase
        // of such a request has changed.
        phase & Phase::STATES == Phase::RUNNING
            || self.kept() > 0
            || self.phase.load(Ordering::Acquire) != phase
    }

    /// Reports whether no further request of the connection is served, although it is read: it has to end, as the ORB
    /// does if it is `closing`, and brings only replies to calls of this side until then.
    #[inline]
    pub(super) fn serves_no_more(&self, closing: bool) -> bool {
        (closing || self.was_told_to_end()) && self.calls().is_some()
    }

    /// Reports whether several requests were outstanding at a time recently.
    #[inline]
    pub(super) fn is_shared(&self) -> bool {
        self.shared.load(Ordering::Relaxed)
    }

    /// Records a request; `others` if others are outstanding.
    pub(super) fn comes(&self, others: bool) {
        if others {
            self.shared.store(true, Ordering::Relaxed);
            self.alone.store(0, Ordering::Relaxed);
        } else if self.alone.fetch_add(1, Ordering::Relaxed) >= ALONE {
            self.shared.store(false, Ordering::Relaxed);
        }
    }

    /// Reports whether requests of the connection end before another thread could take the connection over.
    pub(super) fn is_short(&self) -> bool {
        self.duration.load(Ordering::Relaxed) < SHORT
    }

    /// Records the duration of a request in nanoseconds.
    pub(super) fn took(&self, nanoseconds: u64) {
        // A model has no clock, so it records no durations.
        if cfg!(all(test, feature = "model")) {
            return;
        }
        let now = u32::try_from(nanoseconds).unwrap_or(u32::MAX - 1);
        let before = self.duration.load(Ordering::Relaxed);
        let about = match before {
            u32::MAX => now,
            _ => before / 4 * 3 + now / 4,
        };
        self.duration.store(about, Ordering::Relaxed);
    }
}

/// Guard of a request that was read over a connection which also carries calls of this side.
pub(super) struct AnnouncedRequest(Arc<Status>);

impl Drop for AnnouncedRequest {
    fn drop(&mut self) {
        self.0.announced.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Returns the request id of a phase.
fn request_of(word: u64) -> u32 {
    (word >> 32) as u32
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::conn::ConnectionEnd;

    /// Calls that never wait for a reply.
    struct NoCalls;

    impl Calls for NoCalls {
        fn complete(&self, _: &mut Inbox) -> Result<(), ConnectionEnd> {
            Ok(())
        }

        fn is_awaited(&self) -> bool {
            false
        }

        fn retire(&self) -> bool {
            true
        }

        fn expire(&self, _: Instant, _: Option<std::time::Duration>) {}

        fn end(&self, _: ConnectionEnd) {}
    }

    /// Returns the status of a connection that is paused for an hour, and the end of the pause.
    fn paused() -> (Status, u64) {
        let status = Status::new(0, None);
        let until = clock::monotonic_nanoseconds() + 3_600_000_000_000;
        status.pause_until(until);
        assert_eq!(status.paused_until(), Some(until));
        (status, until)
    }

    #[test]
    fn a_pause_can_be_prolonged_and_ends_at_its_time() {
        let (status, until) = paused();
        status.pause_until(until - 1);
        assert_eq!(status.paused_until(), Some(until));
        status.pause_until(until + 1);
        assert_eq!(status.paused_until(), Some(until + 1));
        let over = Status::new(0, None);
        over.pause_until(1);
        assert!(over.may_be_paused());
        assert_eq!(over.paused_until(), None);
        assert!(!over.may_be_paused(), "further reads need no clock");
    }

    #[test]
    fn a_connection_that_begins_to_carry_calls_is_read_at_once() {
        let (status, until) = paused();
        status.use_both_ways(Arc::new(NoCalls));
        assert_eq!(status.paused_until(), None, "replies must not wait");
        status.pause_until(until);
        assert!(!status.may_be_paused());
    }

    #[test]
    fn a_connection_that_has_to_end_is_read_up_to_its_end() {
        let (status, until) = paused();
        status.told.store(true, Ordering::Relaxed);
        assert_eq!(status.paused_until(), None);
        status.pause_until(until);
        assert!(!status.may_be_paused());
    }
}
