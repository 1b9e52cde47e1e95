//! Budgets of one ORB: rules, and their accounts.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use oxorb_sched::table::names_operation;
use oxorb_transport::PeerId;

use super::account::{Account, NO_ACCOUNT, RATE};
use super::clients::{MOST_CLIENTS, make_room};
use super::described::Describe;
use super::lowest::Lowest;
use super::overrun::OverrunHooks;
use super::report::{BudgetSum, BudgetUse};
use super::rule::{BeyondBudget, Budget, BudgetOf};
use super::slot::BudgetSlot;
use super::watcher;
use crate::monitoring::Watch;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::threads::sync::uncontrolled;
use crate::threads::{Threads, clock};

/// Budgets of one ORB. Its locks are taken when a rule changes, when a connection or a thread is new, and when a thread
/// meets an object for the first time; not for other requests.
pub(crate) struct Ledger {
    /// Accounts whose use metrics show. Taken before `rules`, and only by threads that change or show budgets: the
    /// thread that makes a page of metrics has the lowest priority, and must not hold a lock that requests need.
    shown: Mutex<Shown>,
    rules: Mutex<Vec<LedgerRule>>,
    /// Version of the rules, unique among all ledgers of the process; 0 if no rule applies to an operation, an object
    /// or a POA, so that the accounts of requests need not be looked up.
    epoch: AtomicU64,
    /// Accounts of the clients that have connections or debt, by their identity. [`make_room`] bounds their number.
    clients: Mutex<HashMap<PeerId, Arc<Account>>>,
    next_account: AtomicU32,
    /// Whether a rule demotes, so that requests may belong to another lane.
    pub(super) demotes: AtomicBool,
    pub(super) lowest: Lowest,
    pub(super) slots: Mutex<Vec<Weak<BudgetSlot>>>,
    pub(super) quantum: Duration,
    pub(super) hooks: OverrunHooks,
    pub(super) watch: Arc<Watch>,
    /// Set once the watcher was started, even if it has ended.
    watched: OnceLock<()>,
    /// Time of the watcher's last check, in nanoseconds of the monotonic clock; 0 if no watcher runs.
    pub(super) checked: AtomicU64,
    pub(super) ended: AtomicBool,
}

/// Rule, which consists of a budget and its owner.
struct LedgerRule {
    of: BudgetOf,
    budget: Budget,
    /// Account; `None` if each client has its own.
    account: Option<Arc<Account>>,
}

/// Accounts of operations, objects and POAs, each with the kind of its owner.
#[derive(Default)]
struct Shown {
    accounts: Vec<(&'static str, Arc<Account>)>,
    /// Use of the budgets that were removed, so that no sum decreases.
    removed: BTreeMap<&'static str, BudgetSum>,
}

/// Accounts of a request, except that of its client, and their limits taken together. These are the limits at the time
/// at which the bundle was made, so a thread uses it only while the rules are the same.
#[derive(Debug)]
pub(super) struct Bundle {
    /// Accounts of the operation, of the object and of the POA, in this order. The absent ones come last.
    pub(super) accounts: [Option<Arc<Account>>; 3],
    /// Numbers of the accounts; [`NO_ACCOUNT`] for an absent one.
    pub(super) numbers: [u32; 3],
    /// Bit set of the limits of all accounts.
    pub(super) limits: u8,
    /// Number of accounts that limit the rate of requests.
    pub(super) rates: u8,
    /// Account that limits the rate of requests, if no account has another limit.
    pub(super) rated: Option<Arc<Account>>,
    /// Longest processor time of one request, in nanoseconds: the least of all accounts.
    pub(super) longest: u64,
}

impl Bundle {
    /// Returns the bundle of these accounts, the absent ones of which come last.
    pub(super) fn of(accounts: [Option<Arc<Account>>; 3]) -> Bundle {
        let mut numbers = [NO_ACCOUNT; 3];
        let (mut limits, mut rates, mut longest) = (0, 0, u64::MAX);
        let mut rated = None;
        for (account, number) in accounts.iter().flatten().zip(&mut numbers) {
            let limited = account.limits();
            *number = account.id;
            limits |= limited;
            if limited & RATE != 0 {
                rates += 1;
                rated = Some(account);
            }
            longest = longest.min(account.longest());
        }
        let rated = rated.filter(|_| rates == 1 && limits == RATE).cloned();
        Bundle { accounts, numbers, limits, rates, rated, longest }
    }

    /// Returns the accounts that are present.
    #[inline(always)]
    pub(super) fn present(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.accounts.iter().map_while(Option::as_ref)
    }
}

/// Maximum number of rules.
pub(super) const MOST_RULES: usize = 4096;

impl Ledger {
    /// Returns a ledger with the configured budgets.
    pub(crate) fn new(
        rules: &[(BudgetOf, Budget)],
        quantum: Duration,
        hooks: OverrunHooks,
        watch: &Arc<Watch>,
        threads: &Threads,
    ) -> Arc<Ledger> {
        let ledger = Arc::new(Ledger {
            shown: Mutex::default(),
            rules: Mutex::default(),
            epoch: AtomicU64::new(0),
            clients: Mutex::default(),
            next_account: AtomicU32::new(0),
            demotes: AtomicBool::new(false),
            lowest: Lowest::default(),
            slots: Mutex::default(),
            quantum: quantum.max(Duration::from_micros(50)),
            hooks,
            watch: Arc::clone(watch),
            watched: OnceLock::new(),
            checked: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        });
        for (of, budget) in rules {
            let _ = ledger.set(of.clone(), *budget, threads);
        }
        ledger
    }

    /// Sets or changes the budget of an owner; returns false if the number of rules is at its
    /// limit.
    pub(crate) fn set(self: &Arc<Self>, of: BudgetOf, budget: Budget, threads: &Threads) -> bool {
        self.set_all(vec![(of, budget)], threads)
    }

    /// Sets or changes the budgets of different owners. Returns false, and changes nothing, if there would be too many
    /// rules.
    pub(crate) fn set_all(
        self: &Arc<Self>,
        budgets: Vec<(BudgetOf, Budget)>,
        threads: &Threads,
    ) -> bool {
        let any = |is: fn(&Budget) -> bool| budgets.iter().any(|(_, budget)| is(budget));
        let lowers = any(|it| it.longest.is_some() || !matches!(it.beyond, BeyondBudget::Refuse));
        let watches = any(|it| it.share.is_some() || it.longest.is_some());
        let mut shown = self.shown.lock();
        let mut rules = self.rules.lock();
        let places = places(&rules, &budgets);
        let new = places.iter().filter(|place| place.is_none()).count();
        if rules.len() + new > MOST_RULES {
            return false;
        }
        let now = clock::monotonic_nanoseconds();
        for ((of, budget), place) in budgets.into_iter().zip(places) {
            if let Some(at) = place {
                let rule = &mut rules[at];
                rule.budget = budget;
                if let Some(account) = &rule.account {
                    account.set(budget, now);
                }
                continue;
            }
            let account = (!is_of_client(&of)).then(|| self.open(&of, budget));
            if let (Some(kind), Some(account)) = (kind(&of), &account) {
                shown.accounts.push((kind, Arc::clone(account)));
            }
            rules.push(LedgerRule { of, budget, account });
        }
        self.changed(&rules);
        drop(rules);
        drop(shown);
        if lowers {
            self.lowest.find(&self.watch);
        }
        if watches {
            self.watched.get_or_init(|| watcher::start(self, threads));
        }
        true
    }

    /// Removes a budget; returns false if there was none.
    pub(crate) fn remove(&self, of: &BudgetOf) -> bool {
        let mut shown = self.shown.lock();
        let mut rules = self.rules.lock();
        let before = rules.len();
        // A thread may use a cached account until it notices the change of rules, so the limits of the account are
        // removed.
        for rule in rules.iter().filter(|rule| rule.of == *of) {
            if let Some(account) = &rule.account {
                account.set(Budget::default(), clock::monotonic_nanoseconds());
                shown.remove(account);
            }
        }
        rules.retain(|rule| rule.of != *of);
        let removed = rules.len() < before;
        self.changed(&rules);
        removed
    }

    /// Invalidates the caches of threads, and updates the limits of clients.
    fn changed(&self, rules: &[LedgerRule]) {
        let demotes = rules.iter().any(|rule| rule.budget.beyond == BeyondBudget::Demote);
        self.demotes.store(demotes, Ordering::Relaxed);
        for (peer, account) in self.clients.lock().iter() {
            account.set(budget_of(rules, peer), clock::monotonic_nanoseconds());
        }
        let has_targets = rules.iter().any(|rule| !is_of_client(&rule.of));
        let epoch = if has_targets { next_epoch() } else { 0 };
        self.epoch.store(epoch, Ordering::Release);
    }

    /// Returns the version of the rules; 0 if all of them apply only to clients.
    #[inline]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Returns the time of the watcher's last check, in nanoseconds of the monotonic clock: at most one quantum ago,
    /// unless the watcher is late. Reads the clock if no watcher runs.
    #[inline(always)]
    pub(super) fn recent_time(&self) -> u64 {
        match self.checked.load(Ordering::Relaxed) {
            0 => clock::monotonic_nanoseconds(),
            checked => checked,
        }
    }

    /// Returns the account of a client. Takes locks, so it is called once for each connection.
    pub(crate) fn client(&self, peer: PeerId) -> Arc<Account> {
        let peer = match peer {
            // A subject has a single account, whatever addresses it calls from.
            PeerId::Subject(_) => peer.client(),
            other => other,
        };
        let rules = self.rules.lock();
        let mut clients = self.clients.lock();
        if let Some(account) = clients.get(&peer) {
            return Arc::clone(account);
        }
        if clients.len() >= MOST_CLIENTS {
            let now = clock::monotonic_nanoseconds();
            make_room(&mut clients, |account| account.debt(now));
        }
        let of = BudgetOf::Client(peer.to_string());
        let account = self.open(&of, budget_of(&rules, &peer));
        clients.insert(peer, Arc::clone(&account));
        account
    }

    fn open(&self, of: &BudgetOf, budget: Budget) -> Arc<Account> {
        let id = self.next_account.fetch_add(1, Ordering::Relaxed);
        Arc::new(Account::new(id, of, budget))
    }

    /// Returns the accounts of an operation of an object. `key` is the key as received; `describe` describes objects by
    /// key.
    pub(super) fn bundle(
        &self,
        key: &[u8],
        operation: &str,
        describe: &Describe<'_>,
    ) -> Option<Bundle> {
        let rules = self.rules.lock();
        let mut found = None;
        describe(key, &mut |object| {
            let mut accounts: [Option<Arc<Account>>; 3] = [const { None }; 3];
            let [of_operation, of_object, of_poa] = &mut accounts;
            for rule in rules.iter() {
                let place = match &rule.of {
                    BudgetOf::Operation(name)
                        if names_operation(name, object.repository_id, object.is_a, operation) =>
                    {
                        &mut *of_operation
                    }
                    BudgetOf::Object(name) if is_object(name, key, object.key, describe) => {
                        &mut *of_object
                    }
                    BudgetOf::Poa(path) if path == object.poa => &mut *of_poa,
                    _ => continue,
                };
                // A rule may name the operation in the object's interface, and another rule the same operation in a
                // base interface. The rule that was set first applies.
                if place.is_none() {
                    place.clone_from(&rule.account);
                }
            }
            accounts.sort_by_key(Option::is_none);
            found = Some(Bundle::of(accounts));
        });
        found
    }

    /// Registers the slot of a thread for the watcher, until the slot is dropped.
    pub(super) fn list(&self, slot: &Arc<BudgetSlot>) {
        let mut slots = self.slots.lock();
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(slot));
    }

    /// Returns the use of all budgets.
    pub(crate) fn report(&self) -> Vec<BudgetUse> {
        let rules = self.rules.lock();
        let clients = self.clients.lock();
        let now = clock::monotonic_nanoseconds();
        let of_rules = rules.iter().filter_map(|rule| {
            let account = rule.account.as_ref()?;
            Some(BudgetUse::of(rule.of.clone(), rule.budget, account, now))
        });
        let mut all: Vec<BudgetUse> = of_rules.collect();
        let of_clients = clients.iter().map(|(peer, account)| {
            let of = BudgetOf::Client(peer.to_string());
            BudgetUse::of(of, budget_of(&rules, peer), account, now)
        });
        all.extend(of_clients);
        all.sort_by(|one, other| one.of.cmp(&other.of));
        all
    }

    /// Returns the use of the budgets of operations, objects and POAs, each kind as a sum. Budgets of clients are left
    /// out: they go with their clients, and a sum would decrease then. Takes no lock that requests need.
    pub(crate) fn sums(&self) -> Vec<(&'static str, BudgetSum)> {
        let shown = self.shown.lock();
        let now = clock::monotonic_nanoseconds();
        let mut sums = shown.removed.clone();
        for (kind, account) in &shown.accounts {
            sums.entry(*kind).or_default().add(account, now);
        }
        sums.into_iter().collect()
    }

    /// Returns the rules.
    pub(crate) fn rules(&self) -> Vec<(BudgetOf, Budget)> {
        let rules = self.rules.lock();
        rules.iter().map(|rule| (rule.of.clone(), rule.budget)).collect()
    }

    /// Ends the watcher.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

impl Shown {
    /// Replaces an account by its use so far.
    fn remove(&mut self, account: &Arc<Account>) {
        let Some(at) = self.accounts.iter().position(|(_, one)| Arc::ptr_eq(one, account)) else {
            return;
        };
        let (kind, account) = self.accounts.remove(at);
        let sum = self.removed.entry(kind).or_default();
        sum.add(&account, clock::monotonic_nanoseconds());
        sum.spent = 0;
    }
}

/// Returns the index of each owner's rule; `None` for an owner without a rule.
fn places(rules: &[LedgerRule], budgets: &[(BudgetOf, Budget)]) -> Vec<Option<usize>> {
    if let [(of, _)] = budgets {
        return vec![rules.iter().position(|rule| rule.of == *of)];
    }
    let known: HashMap<&BudgetOf, usize> =
        rules.iter().enumerate().map(|(at, rule)| (&rule.of, at)).collect();
    budgets.iter().map(|(of, _)| known.get(of).copied()).collect()
}

/// Reports whether the owner of a budget is a client, or each client.
fn is_of_client(of: &BudgetOf) -> bool {
    matches!(of, BudgetOf::Client(_) | BudgetOf::EachClient)
}

/// Returns the kind of a budget's owner in metrics; `None` for clients.
fn kind(of: &BudgetOf) -> Option<&'static str> {
    match of {
        BudgetOf::Operation(_) => Some("operation"),
        BudgetOf::Object(_) => Some("object"),
        BudgetOf::Poa(_) => Some("poa"),
        BudgetOf::Client(_) | BudgetOf::EachClient => None,
    }
}

/// Returns the budget of a client: its own, or the one for each client.
fn budget_of(rules: &[LedgerRule], peer: &PeerId) -> Budget {
    let (full, of_limits) = (peer.to_string(), peer.client());
    let user = match of_limits {
        PeerId::User { uid, .. } => format!("uid {uid}"),
        other => other.to_string(),
    };
    let own = |rule: &&LedgerRule| match &rule.of {
        BudgetOf::Client(name) => {
            let subject = peer.subject();
            let is_called = subject.is_some_and(|subject| subject.is_called(name));
            *name == full || *name == user || is_called
        }
        _ => false,
    };
    let each = |rule: &&LedgerRule| rule.of == BudgetOf::EachClient;
    let found = rules.iter().find(own).or_else(|| rules.iter().find(each));
    found.map_or_else(Budget::default, |rule| rule.budget)
}

/// Reports whether a rule names the object with this key, which was received as `asked`.
fn is_object(name: &str, asked: &[u8], key: &[u8], describe: &Describe<'_>) -> bool {
    let octets = name.as_bytes();
    if octets == asked || octets == key {
        return true;
    }
    let mut same = false;
    let unescaped = oxorb_object::unescape_key(name);
    let named = unescaped.as_deref().unwrap_or(octets);
    describe(named, &mut |named| same = named.key == key);
    same || named == key
}

fn next_epoch() -> u64 {
    static EPOCHS: uncontrolled::atomic::AtomicU64 = uncontrolled::atomic::AtomicU64::new(1);
    EPOCHS.fetch_add(1, Ordering::Relaxed)
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use super::*;
    use crate::monitoring::{Log, LogLevel};
    use crate::threads::rt::{RealTime, Scheduling};

    #[test]
    fn a_check_of_the_watcher_saves_others_the_reading_of_the_clock() {
        let threads = Threads::new(&Arc::new(Scheduling::new(&RealTime::default())));
        let watch = Arc::new(Watch::new(Log::new(LogLevel::Off, None)));
        let (quantum, hooks) = (Duration::from_millis(1), OverrunHooks::default());
        // A rate needs no watcher, so none checks while this test does.
        let rules = [(BudgetOf::EachClient, Budget::default().requests(1, 1))];
        let ledger = Ledger::new(&rules, quantum, hooks, &watch, &threads);
        let read = |ledger: &Ledger| {
            let before = clock::monotonic_nanoseconds();
            let time = ledger.recent_time();
            (before..=clock::monotonic_nanoseconds()).contains(&time)
        };
        assert!(read(&ledger), "there is no watcher");
        let before = clock::monotonic_nanoseconds();
        ledger.check(&mut Vec::new());
        let checked = ledger.recent_time();
        assert!((before..=clock::monotonic_nanoseconds()).contains(&checked));
        while clock::monotonic_nanoseconds() == checked {}
        assert_eq!(ledger.recent_time(), checked);
        ledger.check(&mut Vec::new());
        assert!(ledger.recent_time() > checked);
    }

    #[test]
    fn sums_include_the_use_of_removed_budgets() {
        let threads = Threads::new(&Arc::new(Scheduling::new(&RealTime::default())));
        let watch = Arc::new(Watch::new(Log::new(LogLevel::Off, None)));
        let of = |path: &str| BudgetOf::Poa(path.to_owned());
        let rules = [(of("one"), Budget::default()), (of("other"), Budget::default())];
        let (quantum, hooks) = (Duration::from_millis(1), OverrunHooks::default());
        let ledger = Ledger::new(&rules, quantum, hooks, &watch, &threads);
        for rule in ledger.rules.lock().iter() {
            let account = rule.account.as_ref().expect("a POA has an account");
            account.counts.served.fetch_add(3, Ordering::Relaxed);
        }
        let served = || {
            let sums = ledger.sums().into_iter();
            sums.map(|(kind, sum)| (kind, sum.outcomes[0])).collect::<Vec<_>>()
        };
        assert_eq!(served(), [("poa", 6)]);
        for path in ["one", "other"] {
            assert!(ledger.remove(&of(path)));
            assert_eq!(served(), [("poa", 6)]);
        }
    }
}
