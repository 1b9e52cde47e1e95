//! Budgets on the path of a request, in the serving thread.
//!
//! A desk finds the accounts of a request, takes from all of them or decides on the treatment of the request, and
//! charges them at its end. The accounts of an operation of an object are cached, so that this allocates nothing and
//! takes no lock. The processor time of a request is counted from the end of the one before, so that reading and
//! decoding are charged, too.
//!
//! Most requests are within their budgets, and their accounts are cached. Few instructions begin these:
//! [`Desk::begin_within`] if only rates of requests are limited, so that nothing is left to do at the end, and
//! [`Desk::begin_charged`] in threads that have charged processor time before. [`Desk::begin`] begins all others.

mod beyond;
mod charged;

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::hint::cold_path;
use std::rc::Rc;
use std::sync::Arc;

use oxorb_object::SystemException;
use oxorb_sys::clock::thread_cpu_nanoseconds;

use self::charged::Charged;
use super::account::{Account, LONGEST, PAUSES, RATE, TIME};
use super::cached::Cache;
use super::described::Describe;
use super::ledger::{Bundle, Ledger};
use super::rule::BeyondBudget;
use super::slot::BudgetSlot;
use super::taking::{
    accounts, count_served, each, limits, refusing, take, take_all, take_requests,
};
use super::throttle::Restraint;
use crate::threads::clock;
use crate::threads::rt::{Lowered, know_schedule};
use crate::threads::sync::atomic::Ordering::Relaxed;

/// State of budgets in a thread that serves requests.
#[derive(Default)]
pub(crate) struct Desk {
    cache: RefCell<Cache>,
    slot: OnceCell<Arc<BudgetSlot>>,
    /// Processor time of the thread up to which all is charged; 0 if unknown.
    charged: Cell<u64>,
    /// Guard of a throttled or demoted thread, kept until a request within its budget arrives.
    lowered: Cell<Option<Restraint>>,
    /// Bit set of what most requests need not consider, for a cheap test: [`LOWERED`] and [`WATCHED`].
    state: Cell<u8>,
    /// Guard of a thread that is demoted for a single request.
    demoted: Cell<Option<Lowered>>,
    /// Time until which the connection of the last request must not be read, in nanoseconds of the monotonic clock; 0
    /// if it may be read.
    paused: Cell<u64>,
}

/// Request to which budgets may apply.
pub(crate) struct BudgetedRequest<'r> {
    /// Object key as received.
    pub(crate) key: &'r [u8],
    pub(crate) operation: &'r str,
    /// Describes objects by their keys.
    pub(crate) describe: &'r Describe<'r>,
    /// Whether the thread belongs to the lane for requests beyond their budgets.
    pub(crate) lowest: bool,
    /// Whether the thread serves only this connection.
    pub(crate) own: bool,
    /// Number of threads of the lane, among which the time of a throttled budget is divided.
    pub(crate) threads: usize,
}

/// The thread is throttled or demoted until a request within its budget arrives.
const LOWERED: u8 = 1;
/// The watcher knows the thread, because it has charged processor time.
const WATCHED: u8 = 2;

/// Longest pause of a connection, in nanoseconds.
const LONGEST_PAUSE: u64 = 1_000_000_000;

impl Desk {
    /// Reports whether the thread is not lowered and has never charged processor time. Only then does
    /// [`begin_within`](Self::begin_within) begin requests.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.state.get() == 0
    }

    /// Reports whether the watcher knows the thread, because it has charged processor time before.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.state.get() & WATCHED != 0
    }

    fn is_lowered(&self) -> bool {
        self.state.get() & LOWERED != 0
    }

    /// Begins a request if it is within its budgets, these limit only rates of requests, and its accounts are cached.
    /// Takes one request from each of them. Nothing is left to do at the end of the request. Returns false, and takes
    /// nothing, if another function has to begin the request. The thread has to be [plain](Self::is_plain).
    #[inline(always)]
    pub(crate) fn begin_within(
        &self,
        ledger: &Ledger,
        client: &Arc<Account>,
        key: &[u8],
        operation: &str,
    ) -> bool {
        let epoch = ledger.epoch();
        if epoch == 0 {
            return self.begin_rated(client, None);
        }
        let cache = self.cache.borrow();
        let Some(bundle) = cache.last(epoch, key, operation.as_bytes()) else {
            cold_path();
            drop(cache);
            return self.begin_within_before(epoch, client, key, operation);
        };
        match &bundle.rated {
            // A single account has a limit, so nothing has to be given back to another one.
            Some(rated) if client.limits() == 0 => {
                let is_taken = rated.take(clock::monotonic_nanoseconds);
                self.has_taken(client, Some(bundle), is_taken)
            }
            _ => self.begin_rated(client, Some(bundle)),
        }
    }

    /// Implements [`begin_within`](Self::begin_within) for another operation or object than that of the thread's
    /// request before.
    #[inline(never)]
    fn begin_within_before(
        &self,
        epoch: u64,
        client: &Arc<Account>,
        key: &[u8],
        operation: &str,
    ) -> bool {
        let mut cache = self.cache.borrow_mut();
        match cache.find(epoch, key, operation.as_bytes()) {
            None => false,
            Some(bundle) => self.begin_rated(client, Some(bundle)),
        }
    }

    /// Begins a request if no account limits more than its rate.
    #[inline(always)]
    fn begin_rated(&self, client: &Arc<Account>, bundle: Option<&Bundle>) -> bool {
        match limits(client, bundle) {
            0 => {
                self.charged.set(0);
                true
            }
            RATE => {
                let is_taken = take_requests(client, bundle, clock::monotonic_nanoseconds);
                self.has_taken(client, bundle, is_taken)
            }
            _ => false,
        }
    }

    /// Counts a request if it was taken, and returns `is_taken`.
    #[inline(always)]
    fn has_taken(&self, client: &Arc<Account>, bundle: Option<&Bundle>, is_taken: bool) -> bool {
        if !is_taken {
            cold_path();
            return false;
        }
        self.charged.set(0);
        count_served(client, bundle);
        true
    }

    /// Begins a request if it is within its budgets, its accounts are cached, and the [watcher knows](Self::is_watched)
    /// the thread. Takes one request from each account. Returns `None`, and takes nothing, if [`begin`](Self::begin)
    /// has to begin the request.
    #[inline(always)]
    pub(crate) fn begin_charged<'c>(
        &'c self,
        ledger: &'c Arc<Ledger>,
        client: &'c Arc<Account>,
        key: &[u8],
        operation: &str,
    ) -> Option<Charged<'c>> {
        let slot = self.slot.get()?;
        if self.is_lowered() {
            cold_path();
            return None;
        }
        let found = match ledger.epoch() {
            0 => None,
            epoch => Some(self.cached(epoch, key, operation)?),
        };
        let bundle = found.as_deref();
        let limited = limits(client, bundle);
        if limited & PAUSES != 0 {
            cold_path();
            return None;
        }
        let is_timed = limited & !RATE != 0;
        // Processor time that was left at an earlier time is left now. And an account that is charged at an earlier
        // time has at most what it gained since then more.
        let now = if is_timed { ledger.recent_time() } else { 0 };
        if limited != 0 {
            if !take_all(client, bundle, limited, now) {
                cold_path();
                return None;
            }
            count_served(client, bundle);
        }
        let timed = is_timed && self.show(slot, client, bundle);
        if !timed {
            self.charged.set(0);
        }
        Some(Charged {
            ledger,
            desk: self,
            client,
            bundle: found,
            now,
            timed,
            demoted: false,
            pauses: false,
        })
    }

    /// Begins a request, and takes one request from each of its accounts.
    ///
    /// # Errors
    /// TRANSIENT, COMPLETED_NO, with a minor code that names the exhausted limit.
    #[inline(never)]
    pub(crate) fn begin<'c>(
        &'c self,
        ledger: &'c Arc<Ledger>,
        client: &'c Arc<Account>,
        asked: &BudgetedRequest<'_>,
    ) -> Result<Charged<'c>, SystemException> {
        // The pause of a request that has panicked was not taken. It may be that of another connection.
        self.paused.set(0);
        let found = self.find(ledger, asked);
        let bundle = found.as_deref();
        let (mut now, mut timed, mut demoted) = (0, false, false);
        let limited = limits(client, bundle);
        let pauses = limited & PAUSES != 0;
        if limited == 0 {
            self.rise();
        } else {
            now = clock::monotonic_nanoseconds();
            // Another thread may be refused a request until one that was taken is given back. So nothing is taken if an
            // exhausted account refuses the request.
            let (spent, taken) = match refusing(client, bundle, now) {
                0 => (take(client, bundle, now), true),
                spent => (spent, false),
            };
            match spent {
                0 => self.rise(),
                spent => {
                    let accounts = accounts(client, bundle);
                    let exceeded = self.exceed(ledger, &accounts, spent, taken, now, asked);
                    if pauses && exceeded.is_err() {
                        self.pause(client, bundle);
                    }
                    demoted = exceeded?;
                }
            }
            count_served(client, bundle);
            if pauses {
                // The client's next request may arrive before this one has ended, so the pause begins at once if the
                // rate of requests is exhausted.
                self.pause(client, bundle);
            }
            timed = limited & (TIME | LONGEST) != 0 && self.watch(ledger, client, bundle);
        }
        if !timed {
            self.charged.set(0);
        }
        Ok(Charged { ledger, desk: self, client, bundle: found, now, timed, demoted, pauses })
    }

    /// Determines until when the connection must not be read, after a request that was refused, has begun or has ended.
    #[cold]
    fn pause(&self, client: &Arc<Account>, bundle: Option<&Bundle>) {
        let now = clock::monotonic_nanoseconds();
        let mut longest = 0;
        each(client, bundle, |_, account| longest = account.pauses_for(now).max(longest));
        if longest > 0 {
            self.paused.set(now.saturating_add(longest.min(LONGEST_PAUSE)));
        }
    }

    /// Returns the time until which the connection of the thread's last request must not be read, in nanoseconds of the
    /// monotonic clock; 0 if it may be read. A second call returns 0.
    #[inline]
    pub(crate) fn take_pause(&self) -> u64 {
        self.paused.take()
    }

    /// Restores the class and priority of a throttled or demoted thread.
    #[inline]
    pub(crate) fn rise(&self) {
        if self.is_lowered() {
            self.state.set(self.state.get() & !LOWERED);
            drop(self.lowered.take());
        }
    }

    /// Keeps the thread lowered until a request within its budget arrives.
    fn stay(&self, lowered: Restraint) {
        self.lowered.set(Some(lowered));
        self.state.set(self.state.get() | LOWERED);
    }

    /// Reports whether a request is beyond its budget and would be demoted, so that it belongs to another lane. Takes
    /// nothing.
    pub(crate) fn would_demote(
        &self,
        ledger: &Arc<Ledger>,
        client: &Arc<Account>,
        asked: &BudgetedRequest<'_>,
    ) -> bool {
        if !ledger.demotes.load(Relaxed) {
            return false;
        }
        let found = self.find(ledger, asked);
        let bundle = found.as_deref();
        if limits(client, bundle) == 0 {
            return false;
        }
        let now = clock::monotonic_nanoseconds();
        let (mut refuses, mut demotes) = (false, false);
        each(client, bundle, |_, account| {
            if account.spent(now).is_some() {
                refuses |= account.refuses();
                demotes |= account.beyond() == BeyondBudget::Demote;
            }
        });
        demotes && !refuses
    }

    /// Returns the accounts of an operation of an object, if they are cached.
    #[inline(always)]
    fn cached(&self, epoch: u64, key: &[u8], operation: &str) -> Option<Rc<Bundle>> {
        let cache = self.cache.borrow();
        if let Some(bundle) = cache.last(epoch, key, operation.as_bytes()) {
            return Some(Rc::clone(bundle));
        }
        cold_path();
        drop(cache);
        self.cached_before(epoch, key, operation)
    }

    /// Implements [`cached`](Self::cached) for another operation or object than that of the thread's request before.
    #[inline(never)]
    fn cached_before(&self, epoch: u64, key: &[u8], operation: &str) -> Option<Rc<Bundle>> {
        self.cache.borrow_mut().find(epoch, key, operation.as_bytes()).cloned()
    }

    /// Returns the accounts of an operation of an object.
    fn find(&self, ledger: &Ledger, asked: &BudgetedRequest<'_>) -> Option<Rc<Bundle>> {
        let epoch = ledger.epoch();
        if epoch == 0 {
            return None;
        }
        let found = self.cached(epoch, asked.key, asked.operation);
        found.or_else(|| self.find_out(ledger, asked, epoch))
    }

    /// Looks the accounts up in the ledger, and caches them.
    #[cold]
    fn find_out(
        &self,
        ledger: &Ledger,
        asked: &BudgetedRequest<'_>,
        epoch: u64,
    ) -> Option<Rc<Bundle>> {
        let (key, operation) = (asked.key, asked.operation.as_bytes());
        let bundle = Rc::new(ledger.bundle(key, asked.operation, asked.describe)?);
        self.cache.borrow_mut().remember(epoch, key, operation, &bundle);
        Some(bundle)
    }

    /// Shows the watcher the request that the thread runs from now on. Returns false if the thread already runs a
    /// request that contains this one.
    fn watch(&self, ledger: &Ledger, client: &Arc<Account>, bundle: Option<&Bundle>) -> bool {
        match self.slot.get() {
            Some(slot) => self.show(slot, client, bundle),
            None => self.enlist(ledger, client, bundle),
        }
    }

    #[inline(always)]
    fn show(&self, slot: &BudgetSlot, client: &Arc<Account>, bundle: Option<&Bundle>) -> bool {
        let before = self.charged.get();
        // If no earlier request was charged, the processor time for reading this request is unknown, and is not
        // charged.
        let since = match before {
            0 => thread_cpu_nanoseconds(),
            before => before,
        };
        let longest = bundle.map_or(u64::MAX, |bundle| bundle.longest).min(client.longest());
        slot.begin(since, since, longest, client, bundle)
    }

    #[cold]
    fn enlist(&self, ledger: &Ledger, client: &Arc<Account>, bundle: Option<&Bundle>) -> bool {
        know_schedule();
        let slot =
            self.slot.get_or_init(|| Arc::new(BudgetSlot::new(oxorb_sys::thread::current_id())));
        ledger.list(slot);
        self.state.set(self.state.get() | WATCHED);
        self.show(slot, client, bundle)
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use oxorb_transport::PeerId;

    use super::super::ledger::MOST_RULES;
    use super::*;
    use crate::monitoring::{Log, LogLevel, Watch};
    use crate::scheduler::budget::{Budget, BudgetOf, Described, OverrunHooks};
    use crate::threads::Threads;
    use crate::threads::rt::{RealTime, Scheduling};

    /// Returns a ledger with these rules.
    fn ledger(rules: &[(BudgetOf, Budget)]) -> (Arc<Ledger>, Arc<Threads>) {
        let threads = Threads::new(&Arc::new(Scheduling::new(&RealTime::default())));
        let watch = Arc::new(Watch::new(Log::new(LogLevel::Off, None)));
        let quantum = Duration::from_millis(1);
        let ledger = Ledger::new(rules, quantum, OverrunHooks::default(), &watch, &threads);
        (ledger, threads)
    }

    /// Returns the account of the client with this number.
    fn client(ledger: &Ledger, number: u8) -> Arc<Account> {
        ledger.client(PeerId::Ip(IpAddr::V4(Ipv4Addr::new(127, 0, 0, number))))
    }

    /// Describes every object as one of the POA "sensors".
    fn describe(key: &[u8], look: &mut dyn FnMut(Described<'_>)) {
        look(Described::new(key, "sensors", "IDL:test/Radar:1.0", &|_| false));
    }

    /// Returns a request with the operation "sweep".
    fn sweep(key: &[u8]) -> BudgetedRequest<'_> {
        BudgetedRequest {
            key,
            operation: "sweep",
            describe: &describe,
            lowest: false,
            own: false,
            threads: 1,
        }
    }

    fn sensors() -> BudgetOf {
        BudgetOf::Poa("sensors".into())
    }

    /// Budget of a rate that no test exhausts.
    fn many() -> Budget {
        Budget::default().requests(1_000_000_000, 1_000)
    }

    #[test]
    fn a_request_with_limited_rates_is_begun_at_once_if_its_accounts_are_cached() {
        let (ledger, threads) = ledger(&[(sensors(), many()), (BudgetOf::EachClient, many())]);
        let client = client(&ledger, 1);
        let desk = Desk::default();
        let begin_within = |operation| desk.begin_within(&ledger, &client, b"radar", operation);
        assert!(!begin_within("sweep"), "it is not cached");
        drop(desk.begin(&ledger, &client, &sweep(b"radar")));
        assert!((0..3).all(|_| begin_within("sweep")));
        assert_eq!(client.counts.served.load(Relaxed), 4);
        assert!(!begin_within("sweeps"), "another operation");
        assert!(ledger.set(sensors(), Budget::default(), &threads));
        assert!(!begin_within("sweep"), "the rules have changed");
        drop(desk.begin(&ledger, &client, &sweep(b"radar")));
        assert!(begin_within("sweep"), "only its client has a limit");
        let hour = Duration::from_secs(3600);
        assert!(ledger.set(BudgetOf::EachClient, Budget::default().time(hour, hour), &threads));
        drop(desk.begin(&ledger, &client, &sweep(b"radar")));
        assert!(!begin_within("sweep"), "its processor time is counted");
        assert!(ledger.remove(&BudgetOf::EachClient));
        assert!(ledger.remove(&sensors()));
        assert!(begin_within("sweep"), "no budget is left");
        assert_eq!(client.counts.served.load(Relaxed), 7);
    }

    #[test]
    fn a_request_with_limited_time_is_begun_at_once_if_its_accounts_are_cached() {
        let hour = Duration::from_secs(3600);
        let time = Budget::default().time(hour, hour);
        let (ledger, threads) = ledger(&[(sensors(), time), (BudgetOf::EachClient, many())]);
        let client = client(&ledger, 1);
        let desk = Desk::default();
        let begin = |operation| desk.begin_charged(&ledger, &client, b"radar", operation);
        assert!(begin("sweep").is_none(), "the watcher does not know the thread");
        drop(desk.begin(&ledger, &client, &sweep(b"radar")));
        for request in 0..3 {
            let charged = begin("sweep").expect("the request is within its budgets");
            // If the request before had not ended, this one would count as a part of it.
            assert!(charged.timed, "request {request}");
            drop(charged);
        }
        assert_eq!(client.counts.served.load(Relaxed), 4);
        assert!(begin("sweeps").is_none(), "another operation");
        assert!(ledger.set(sensors(), Budget::default(), &threads));
        assert!(begin("sweep").is_none(), "the rules have changed");
        assert!(ledger.remove(&sensors()));
        let charged = begin("sweep").expect("only its client has a budget");
        assert!(!charged.timed);
        drop(charged);
        assert_eq!(client.counts.served.load(Relaxed), 5);
    }

    #[test]
    fn a_request_that_has_ended_ends_no_other() {
        let hour = Duration::from_secs(3600);
        let (ledger, _threads) = ledger(&[(sensors(), Budget::default().time(hour, hour))]);
        let client = client(&ledger, 1);
        let desk = Desk::default();
        drop(desk.begin(&ledger, &client, &sweep(b"radar")));
        let begin = || desk.begin_charged(&ledger, &client, b"radar", "sweep").unwrap();
        let mut first = begin();
        first.finish();
        let second = begin();
        assert!(second.timed);
        drop(first);
        assert!(!begin().timed, "it is a part of the second request, which still runs");
        drop(second);
        assert!(begin().timed);
    }

    #[test]
    fn a_request_that_its_poa_refuses_does_not_change_its_clients_account() {
        let little = Budget::default().time(Duration::from_nanos(1), Duration::from_secs(3600));
        let (ledger, _threads) = ledger(&[
            (sensors(), little),
            (BudgetOf::EachClient, Budget::default().requests(1, 1)),
        ]);
        let (one, other) = (client(&ledger, 1), client(&ledger, 2));
        let desk = Desk::default();
        let charged = desk.begin(&ledger, &one, &sweep(b"radar"));
        assert!(charged.is_ok());
        let began = thread_cpu_nanoseconds();
        while thread_cpu_nanoseconds() == began {}
        drop(charged);
        assert!(desk.begin(&ledger, &other, &sweep(b"radar")).is_err());
        // A request that was taken and given back would leave the time at which that happened.
        assert_eq!(other.debt(0), 0);
    }

    #[test]
    fn a_request_that_exhausts_its_budget_pauses_its_connection() {
        let little = Budget::default().time(Duration::from_nanos(1), Duration::from_secs(3600));
        for (budget, pauses) in [(little, false), (little.beyond(BeyondBudget::Pause), true)] {
            let (ledger, _threads) = ledger(&[(sensors(), budget)]);
            let client = client(&ledger, 1);
            let desk = Desk::default();
            let before = clock::monotonic_nanoseconds();
            let is_pause = |until: u64| {
                let latest = clock::monotonic_nanoseconds() + LONGEST_PAUSE;
                if pauses { (before + 1..=latest).contains(&until) } else { until == 0 }
            };
            let charged = desk.begin(&ledger, &client, &sweep(b"radar"));
            assert_eq!(desk.take_pause(), 0, "nothing was used before");
            let began = thread_cpu_nanoseconds();
            while thread_cpu_nanoseconds() == began {}
            drop(charged);
            assert!(is_pause(desk.take_pause()), "{budget}");
            assert_eq!(desk.take_pause(), 0, "it was taken");
            let refused = desk.begin(&ledger, &client, &sweep(b"radar")).map(drop);
            assert_eq!(refused.unwrap_err().minor, oxorb_object::minor::transient::POA_TIME);
            assert!(is_pause(desk.take_pause()), "{budget}");
        }
    }

    #[test]
    fn a_pause_begins_with_the_request_that_exhausts_a_rate() {
        let one = Budget::default().requests(1, 1).beyond(BeyondBudget::Pause);
        let (ledger, _threads) = ledger(&[(sensors(), one)]);
        let client = client(&ledger, 1);
        let desk = Desk::default();
        let charged = desk.begin(&ledger, &client, &sweep(b"radar"));
        assert!(desk.take_pause() > 0);
        drop(charged);
        let begin_within = || desk.begin_within(&ledger, &client, b"radar", "sweep");
        assert!(!begin_within(), "this function begins no pauses");
    }

    #[test]
    fn a_request_does_not_take_the_pause_of_one_that_panicked_before() {
        fn describe_other(key: &[u8], look: &mut dyn FnMut(Described<'_>)) {
            look(Described::new(key, "others", "IDL:test/Radar:1.0", &|_| false));
        }
        let one = Budget::default().requests(1, 1).beyond(BeyondBudget::Pause);
        let (ledger, _threads) = ledger(&[(sensors(), one)]);
        let client = client(&ledger, 1);
        let desk = Desk::default();
        drop(desk.begin(&ledger, &client, &sweep(b"radar")));
        let other = BudgetedRequest { describe: &describe_other, ..sweep(b"lamp") };
        drop(desk.begin(&ledger, &client, &other));
        assert_eq!(desk.take_pause(), 0);
    }

    #[test]
    fn a_single_rate_among_several_budgets_is_taken_alone() {
        let hour = Duration::from_secs(3600);
        let one = Budget::default().requests(1, 2);
        let rules = [(sensors(), one), (BudgetOf::Object("radar".into()), Budget::default())];
        let (ledger, threads) = ledger(&rules);
        let client = client(&ledger, 1);
        let desk = Desk::default();
        drop(desk.begin(&ledger, &client, &sweep(b"radar")));
        let begin_within = || desk.begin_within(&ledger, &client, b"radar", "sweep");
        // A rate refills while a stalled machine does not run this test.
        let until_refused = || (0..1_000).take_while(|_| begin_within()).count() as u64;
        let first = until_refused();
        assert!((1..1_000).contains(&first), "{first} within the rate of the POA");
        assert_eq!(client.counts.served.load(Relaxed), 1 + first);
        // The client's rate is the only one now, and the use of the POA is counted nevertheless.
        assert!(ledger.set(sensors(), Budget::default(), &threads));
        assert!(ledger.set(BudgetOf::EachClient, one, &threads));
        drop(desk.begin(&ledger, &client, &sweep(b"radar")));
        let second = until_refused();
        assert!((1..1_000).contains(&second), "{second} within the rate of the client");
        let served: Vec<u64> = ledger.report().iter().map(|used| used.served).collect();
        assert_eq!(served, [2 + first + second; 3], "of the object, the POA and the client");
        assert!(ledger.set(sensors(), Budget::default().time(hour, hour), &threads));
        assert!(!begin_within(), "the processor time is counted");
    }

    #[test]
    fn budgets_of_which_one_is_too_many_change_nothing() {
        let (ledger, threads) = ledger(&[]);
        let owner = |number: usize| BudgetOf::Object(format!("object {number}"));
        let all = (0..MOST_RULES).map(|number| (owner(number), many())).collect();
        assert!(ledger.set_all(all, &threads));
        let one = Budget::default().requests(1, 1);
        let more = vec![(owner(0), one), (owner(MOST_RULES), one)];
        assert!(!ledger.set_all(more, &threads));
        assert_eq!(ledger.rules().len(), MOST_RULES);
        assert_eq!(ledger.rules()[0], (owner(0), many()));
        assert!(ledger.set_all(vec![(owner(1), one), (owner(0), one)], &threads));
        assert!(ledger.rules()[..2].iter().all(|(_, budget)| *budget == one));
    }

    #[test]
    fn the_accounts_of_several_objects_are_cached_together() {
        let (ledger, _threads) = ledger(&[(sensors(), many())]);
        let client = client(&ledger, 1);
        let desk = Desk::default();
        // Keys of the POA for active objects, with a suffix for the operation: they differ in the object's number only.
        let keys = [0u16, 1, 2, 3, 4, 5, 6, 7].map(|object| {
            let mut key = *b"OX1aincarnation.oo......s.";
            key[16..18].copy_from_slice(&object.to_le_bytes());
            key
        });
        for key in &keys {
            drop(desk.begin(&ledger, &client, &sweep(key)));
        }
        assert!(keys.iter().all(|key| desk.begin_within(&ledger, &client, key, "sweep")));
    }
}
