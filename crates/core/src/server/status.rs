//! State shared by the threads that serve a connection and the registry.
//!
//! One thread reads a connection and runs its requests. While a request runs, the connection can be taken over by
//! another thread, which reads on: `phase` says so to both. It holds the request that runs; who runs it takes it back
//! before the answer is written, who takes over puts a mark there. Either succeeds, never both. What had arrived behind
//! the request lies in `behind` meanwhile.

use std::sync::{Arc, OnceLock, Weak};

use oxorb_giop::{Inbox, Limits, Reading, Wire};
use oxorb_object::Version;
use oxorb_transport::Link;

use super::client::Client;
use super::home::WeakHome;
use super::lane::Lane;
use super::session::Session;
use crate::Options;
use crate::access_index::Visited;
use crate::budget::{Account, Ledger};
use crate::conn::{Calls, Turn};
use crate::lock::Mutex;
use crate::policy::LargePayloads;
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// State of a connection, whichever thread serves it.
pub(crate) struct Status {
    /// Milliseconds after the registry began, plus one; 0 while it is busy.
    pub(super) idle_since: AtomicU64,
    /// Time of the last KiB of an incomplete message; 0 while none is awaited.
    pub(super) stalls_since: AtomicU64,
    /// A message came over it.
    pub(super) used: AtomicBool,
    /// Flag: the connection has to end, in order.
    pub(super) told: AtomicBool,
    /// Flag: the connection carries requests both ways, so closing it costs more than a connection.
    pub(crate) keep: AtomicBool,
    /// Requests that came over it and are to be answered later.
    pub(super) unanswered: AtomicUsize,
    pub(crate) client: Option<Arc<Client>>,
    /// Access rules that concern its peer; set with the first request where there are some.
    pub(super) visited: Visited,
    /// Budget of its client; set with the first request where there are budgets.
    pub(super) account: OnceLock<Arc<Account>>,
    /// Threads that serve it, and requests to be answered later.
    servers: AtomicUsize,
    /// Reader of the connection: see [`Phase`].
    phase: AtomicU64,
    /// Phase at the last look.
    looked: AtomicU64,
    /// Lower half of the phase when somebody looked last: how many requests had begun by then.
    counted: AtomicU32,
    /// Phase for which input wakes the thread that has connections taken over.
    watched: AtomicU64,
    /// Messages behind the request that runs.
    pub(super) behind: Mutex<Option<Inbox>>,
    /// Session as the last request left it, for the thread that takes over.
    pub(super) session: Mutex<Session>,
    /// Write lock; `None` while a single thread uses the connection.
    turn: OnceLock<Arc<Turn>>,
    /// The calls that go the other way, on a bidirectional connection.
    calls: OnceLock<Arc<dyn Calls>>,
    /// Reader of messages, if their protocol is another than GIOP.
    reading: OnceLock<Reading>,
    /// Policy about large payloads of the endpoint that it came to; unset: the ORB's.
    payloads: OnceLock<LargePayloads>,
    /// Set where another thread may take it over.
    origin: OnceLock<Origin>,
    /// Requests that run, or are about to, in threads that do not read it any more.
    under_way: AtomicUsize,
    /// Several requests were there at a time.
    shared: AtomicBool,
    /// Number of requests in a row that came alone.
    alone: AtomicU32,
    /// About how long its requests take, in nanoseconds; nothing is known: `u32::MAX`.
    duration: AtomicU32,
}

/// Home of a connection, for a thread that takes it over.
pub(super) struct Origin {
    /// The threadpool whose port it came to.
    pub(super) pool: Option<u32>,
    pub(super) home: WeakHome,
    /// Lane whose own watching thread has the connection taken over; `None`: that of the ORB does.
    pub(super) watched: Option<Weak<Lane>>,
}

/// The states of `phase`, in its lowest bits. Above are a count of requests and, in the upper half, the id of the one
/// that runs.
struct Phase;

impl Phase {
    const RUNNING: u64 = 1;
    const TAKEN: u64 = 2;
    const STATES: u64 = 3;
    const NEXT: u32 = 4;
}

/// Requests in a row that must come alone before the connection counts as that of a client that waits for each
/// answer.
const ALONE: u32 = 32;

/// Requests from one look to the next that make a stream of them.
const STREAM: u32 = 8;

/// Requests shorter than this, in nanoseconds, are served one after another by the thread that reads them: handing the
/// connection on would take longer.
const SHORT: u32 = 50_000;

impl Status {
    /// Returns the account of its client: its own peer, or that of the connection it was made for.
    #[inline]
    pub(super) fn account(&self, ledger: &Ledger, link: &Arc<dyn Link>) -> Option<&Arc<Account>> {
        Some(self.account.get_or_init(|| ledger.client(link.identity())))
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
            visited: Visited::new(),
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
            shared: AtomicBool::new(false),
            alone: AtomicU32::new(0),
            duration: AtomicU32::new(u32::MAX),
        }
    }

    /// Sets the protocol of the messages, before the first one. Without this call it is GIOP.
    pub(super) fn speak(&self, wire: Wire) {
        if let Some(reading) = Reading::of(wire) {
            let _ = self.reading.set(reading);
        }
    }

    /// Sets the policy about large payloads, before the first message.
    pub(super) fn set_payloads(&self, payloads: LargePayloads) {
        let _ = self.payloads.set(payloads);
    }

    /// Returns the policy about large payloads of what comes here, unless the object has one.
    pub(super) fn payloads(&self, options: &Options) -> LargePayloads {
        *self.payloads.get().unwrap_or(&options.large_payloads)
    }

    /// Returns the protocol of the messages, where GIOP's are of `version`.
    pub(super) fn wire(&self, version: Version) -> Wire {
        let reading = self.reading.get();
        Wire::of(reading.map(Reading::messaging), version)
    }

    /// Returns an empty inbox for what follows.
    pub(super) fn inbox(&self, limits: &Limits) -> Inbox {
        Inbox::new(limits).continuing(self.reading.get())
    }

    /// Octets came after a silence.
    pub(crate) fn wakes(&self) {
        // Not after the look at whether the thread that has connections taken over sleeps.
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
            && self.unanswered.load(Ordering::Relaxed) == 0
    }

    /// Returns the rank of the connection among those that make room for newcomers, least first: it was idle at least
    /// since `latest`. `None` for one in use.
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

    /// A request is to be answered later: its connection is as good as served, and not idle.
    pub(crate) fn share_unanswered(&self) {
        self.share();
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }

    /// A thread is done with it; whether that was the last one, which closes it and then
    /// [removes](super::Registry::remove) it.
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

    /// Returns the turns to write, which several threads take from now on.
    pub(crate) fn turns(&self) -> &Arc<Turn> {
        self.turn.get_or_init(Arc::default)
    }

    /// The calls that go the other way.
    pub(crate) fn calls(&self) -> Option<&Arc<dyn Calls>> {
        self.calls.get()
    }

    /// Notes that the connection carries calls of this side, too, whose writers have the same
    /// turns.
    pub(crate) fn use_both_ways(&self, calls: Arc<dyn Calls>) {
        let _ = self.calls.set(calls);
    }

    /// The turns are those of calls that this side made already.
    pub(super) fn set_turns(&self, turn: Arc<Turn>) {
        let _ = self.turn.set(turn);
    }

    pub(super) fn set_origin(&self, origin: Origin) {
        let _ = self.origin.set(origin);
    }

    pub(super) fn origin(&self) -> Option<&Origin> {
        self.origin.get()
    }

    /// A request runs in the thread that reads; what [`ends`](Self::ends) it.
    #[inline]
    pub(super) fn begins(&self, request: u32) -> u64 {
        let count = (self.phase.load(Ordering::Relaxed) as u32).wrapping_add(Phase::NEXT);
        let count = u64::from(count) & !Phase::STATES;
        let word = u64::from(request) << 32 | count | Phase::RUNNING;
        self.phase.store(word, Ordering::Release);
        word
    }

    /// The thread takes the connection back; false: another one has taken it over.
    #[inline]
    pub(super) fn ends(&self, word: u64) -> bool {
        let free = word & !Phase::STATES;
        let (set, get) = (Ordering::AcqRel, Ordering::Acquire);
        self.phase.compare_exchange(word, free, set, get).is_ok()
    }

    /// Whether the request still runs in the thread that reads.
    pub(super) fn reads(&self, word: u64) -> bool {
        self.phase.load(Ordering::Acquire) == word
    }

    /// The request that runs in the thread that reads.
    fn running(&self) -> Option<u64> {
        let word = self.phase.load(Ordering::Acquire);
        (word & Phase::STATES == Phase::RUNNING).then_some(word)
    }

    /// The request that runs, and whether it ran when this was asked last.
    pub(super) fn look(&self) -> Option<(u64, bool)> {
        self.origin.get()?;
        let word = self.running()?;
        Some((word, self.looked.swap(word, Ordering::Relaxed) == word))
    }

    /// Reports whether many requests have begun since this was asked last.
    pub(super) fn streams(&self) -> bool {
        let now = self.phase.load(Ordering::Relaxed) as u32;
        let before = self.counted.swap(now, Ordering::Relaxed);
        now.wrapping_sub(before) >= STREAM * Phase::NEXT
    }

    /// Reports whether the request is not watched yet, and notes that it is.
    pub(super) fn is_watched_first(&self, word: u64) -> bool {
        self.watched.swap(word, Ordering::Relaxed) != word
    }

    /// Returns the lane whose own watching thread has the connection taken over.
    pub(super) fn watched_lane(&self) -> Option<Arc<Lane>> {
        self.origin.get()?.watched.as_ref()?.upgrade()
    }

    /// Reports whether the watching thread of that lane (`None`: of the ORB) has the connection taken over.
    pub(super) fn is_watched_by(&self, lane: Option<&Arc<Lane>>) -> bool {
        let watched = self.origin.get().and_then(|origin| origin.watched.as_ref());
        watched.map(Weak::as_ptr) == lane.map(Arc::as_ptr)
    }

    /// Takes the connection from the thread that runs a request; false if the connection has ended. The caller shares
    /// the connection already.
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

    /// Marks the connection as not read: its thread runs a request.
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

    /// Whether one more of its requests may go on beside: the threads for that are bounded for each client.
    pub(super) fn may_go_beside(&self, options: &Options) -> bool {
        let client = self.client.as_ref();
        self.under_way() + 1 < options.max_requests_per_connection
            && client.is_none_or(|client| client.share.may_run_beside())
    }

    /// A request that went on beside has ended.
    pub(super) fn goes_no_more(&self, request: u32) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        if let Some(client) = &self.client {
            client.share.runs_no_more();
        }
        self.turns().finish(request);
    }

    /// Requests that run, or are about to, in threads that do not read it any more.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Returns the number of requests under way, with those that wait for a thread or for an answer from elsewhere.
    pub(super) fn kept(&self) -> usize {
        self.under_way() + self.unanswered.load(Ordering::Relaxed)
    }

    /// Whether several requests were there at a time, not long ago.
    #[inline]
    pub(super) fn is_shared(&self) -> bool {
        self.shared.load(Ordering::Relaxed)
    }

    /// A request has come; `others`: others were there.
    pub(super) fn comes(&self, others: bool) {
        if others {
            self.shared.store(true, Ordering::Relaxed);
            self.alone.store(0, Ordering::Relaxed);
        } else if self.alone.fetch_add(1, Ordering::Relaxed) >= ALONE {
            self.shared.store(false, Ordering::Relaxed);
        }
    }

    /// Whether its requests are over before another thread would have taken the connection.
    pub(super) fn is_short(&self) -> bool {
        self.duration.load(Ordering::Relaxed) < SHORT
    }

    /// A request took so many nanoseconds.
    pub(super) fn took(&self, nanoseconds: u64) {
        // A model has no clock.
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

/// The id of the request that a phase is about.
fn request_of(word: u64) -> u32 {
    (word >> 32) as u32
}
