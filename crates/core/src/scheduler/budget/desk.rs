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

use std::cell::{Cell, OnceCell, RefCell};
use std::hint::cold_path;
use std::rc::Rc;
use std::sync::Arc;
use std::{fmt, mem};

use oxorb_object::SystemException;
use oxorb_sys::clock::thread_cpu_nanoseconds;
use oxorb_sys::schedule;

use super::account::{Account, LONGEST, PAUSES, RATE, Spent, TIME};
use super::cached::{Seen, known, remember};
use super::described::Describe;
use super::ledger::{Bundle, Ledger};
use super::lowest;
use super::rule::BeyondBudget;
use super::slot::{BudgetSlot, Finished};
use super::throttle::{Restraint, Throttling, throttle};
use super::watcher::overruns;
use crate::Incident;
use crate::threads::clock;
use crate::threads::rt::{self, Lowered, know_schedule};
use crate::threads::sync::atomic::Ordering::Relaxed;

/// State of budgets in a thread that serves requests.
#[derive(Default)]
pub(crate) struct Desk {
    seen: RefCell<Option<Box<Seen>>>,
    slot: OnceCell<Arc<BudgetSlot>>,
    /// Processor time of the thread up to which all is charged; 0 if unknown.
    charged: Cell<u64>,
    /// Guard of a throttled or demoted thread, kept until a request within its budget arrives.
    lowered: Cell<Option<Restraint>>,
    /// Whether `lowered` is set, for a cheap test.
    is_lowered: Cell<bool>,
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

/// Longest pause of a connection, in nanoseconds.
const LONGEST_PAUSE: u64 = 1_000_000_000;

/// Accounts that one request is charged to. All accounts after an absent one are absent.
type Accounts<'a> = [Option<&'a Arc<Account>>; 4];

/// Guard of a request that runs within its budgets or demoted. When dropped, it charges the request, and restores the
/// class and priority of a thread that is demoted for this request. Not `Send`.
#[must_use = "it is charged when this is dropped"]
pub(crate) struct Charged<'c> {
    ledger: &'c Arc<Ledger>,
    desk: &'c Desk,
    client: &'c Arc<Account>,
    bundle: Option<Rc<Bundle>>,
    /// Start of the request, in nanoseconds of the monotonic clock.
    now: u64,
    /// Whether the request's processor time is counted.
    timed: bool,
    /// Whether the thread is demoted for this request.
    demoted: bool,
    /// Whether the connection is not read if the request exhausts a budget.
    pauses: bool,
}

impl Desk {
    /// Reports whether the watcher knows the thread, because it has charged processor time before.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.slot.get().is_some()
    }

    /// Begins a request if it is within its budgets, these limit only rates of requests, and its accounts are cached.
    /// Takes one request from each of them. Nothing is left to do at the end of the request. Returns false, and takes
    /// nothing, if another function has to begin the request.
    #[inline(always)]
    pub(crate) fn begin_within(
        &self,
        ledger: &Ledger,
        client: &Arc<Account>,
        key: &[u8],
        operation: &str,
    ) -> bool {
        if self.is_lowered.get() {
            cold_path();
            return false;
        }
        match ledger.epoch() {
            0 => self.begin_rates(client, None),
            epoch => self.begin_cached(client, epoch, key, operation),
        }
    }

    /// Implements [`begin_within`](Self::begin_within) if there are not only budgets of clients.
    #[inline(never)]
    fn begin_cached(&self, client: &Arc<Account>, epoch: u64, key: &[u8], operation: &str) -> bool {
        let seen = self.seen.borrow();
        let found = seen.as_deref().and_then(|seen| known(seen, epoch, key, operation.as_bytes()));
        let Some(bundle) = found else {
            cold_path();
            return false;
        };
        self.begin_rates(client, Some(&**bundle))
    }

    #[inline(always)]
    fn begin_rates(&self, client: &Arc<Account>, bundle: Option<&Bundle>) -> bool {
        let limited = limits(client, bundle);
        if limited & !RATE != 0 {
            cold_path();
            return false;
        }
        self.charged.set(0);
        if limited == 0 {
            return true;
        }
        let now = clock::monotonic_nanoseconds();
        let taken = match bundle.and_then(Bundle::only_rated) {
            // If a single account limits the rate, nothing has to be given back to another one.
            Some(account) if client.limits() & RATE == 0 => account.take_request(now),
            _ => take_requests(client, bundle, now),
        };
        if !taken {
            cold_path();
            return false;
        }
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
        if self.is_lowered.get() {
            cold_path();
            return None;
        }
        let seen = self.seen.borrow();
        let found = match ledger.epoch() {
            0 => None,
            epoch => {
                let seen = seen.as_deref();
                let found = seen.and_then(|seen| known(seen, epoch, key, operation.as_bytes()));
                if found.is_none() {
                    cold_path();
                    return None;
                }
                found
            }
        };
        let bundle = found.map(|found| &**found);
        let limited = limits(client, bundle);
        if limited & PAUSES != 0 {
            cold_path();
            return None;
        }
        let mut now = 0;
        if limited != 0 {
            now = clock::monotonic_nanoseconds();
            if !take_all(client, bundle, limited, now) {
                cold_path();
                return None;
            }
            count_served(client, bundle);
        }
        let timed = limited & !RATE != 0 && self.show(slot, client, bundle);
        if !timed {
            self.charged.set(0);
        }
        let bundle = found.filter(|_| timed).cloned();
        Some(Charged {
            ledger,
            desk: self,
            client,
            bundle,
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
        if self.is_lowered.replace(false) {
            drop(self.lowered.take());
        }
    }

    /// Keeps the thread lowered until a request within its budget arrives.
    fn stay(&self, lowered: Restraint) {
        self.lowered.set(Some(lowered));
        self.is_lowered.set(true);
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

    /// Returns the accounts of an operation of an object.
    fn find(&self, ledger: &Ledger, asked: &BudgetedRequest<'_>) -> Option<Rc<Bundle>> {
        let epoch = ledger.epoch();
        if epoch == 0 {
            return None;
        }
        let (key, operation) = (asked.key, asked.operation.as_bytes());
        if let Some(seen) = &*self.seen.borrow()
            && let Some(bundle) = known(seen, epoch, key, operation)
        {
            return Some(Rc::clone(bundle));
        }
        self.find_out(ledger, asked, epoch)
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
        remember(&mut self.seen.borrow_mut(), epoch, key, operation, &bundle);
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
        self.show(slot, client, bundle)
    }

    /// Decides on the treatment of a request beyond its budget: an exception, or the class and priority at which its
    /// thread runs it. `taken` means that a request was taken from the accounts that are not exhausted. Returns whether
    /// the thread is demoted for this request only.
    #[cold]
    fn exceed(
        &self,
        ledger: &Ledger,
        accounts: &Accounts<'_>,
        spent: u8,
        taken: bool,
        now: u64,
        asked: &BudgetedRequest<'_>,
    ) -> Result<bool, SystemException> {
        let exceeded = |at: usize| match (spent >> at & 1, spent >> (at + 4) & 1) {
            (0, 0) => None,
            (0, _) => Some(Spent::Rate),
            _ => Some(Spent::Time),
        };
        let places = accounts.iter().enumerate();
        let present = places.filter_map(|(at, account)| Some((at, (*account)?)));
        let beyond = present.clone().filter_map(|(at, account)| Some((account, exceeded(at)?)));
        let refuses = |(account, _): &(&Arc<Account>, Spent)| account.refuses();
        let told = beyond.clone().find(refuses);
        let (account, what) = match told.or_else(|| beyond.clone().next()) {
            Some(first) => first,
            None => return Ok(false),
        };
        let answer = account.beyond();
        if account.is_to_tell(now) {
            let peer = || account.subject();
            let detail = || {
                let becomes = match answer {
                    BeyondBudget::Refuse => "refused",
                    BeyondBudget::Demote => "demoted",
                    BeyondBudget::Throttle => "served by a throttled thread",
                    BeyondBudget::Pause => "read when it has refilled",
                };
                format!("its {} is used up, and requests are {becomes}", what.name())
            };
            ledger.watch.note(Incident::BeyondBudget, peer, detail);
        }
        if account.refuses() {
            for (at, account) in present {
                if taken && exceeded(at).is_none() {
                    account.put_back(now);
                }
            }
            account.counts.refused.fetch_add(1, Relaxed);
            self.charge_reading(accounts, now);
            return Err(account.refusal(what));
        }
        account.counts.demoted.fetch_add(1, Relaxed);
        if asked.lowest {
            return Ok(false);
        }
        if answer == BeyondBudget::Throttle && self.throttle(ledger, account, asked.threads) {
            return Ok(false);
        }
        if self.is_lowered.get() {
            return Ok(false);
        }
        let Some(lowered) = self.demote(ledger) else {
            return Ok(false);
        };
        if asked.own {
            // This thread serves only this client, so it keeps the lower priority for the client's next requests. If it
            // changed its class for each request, the kernel would requeue it each time, ahead of other waiting
            // threads.
            self.stay(lowered.into());
            return Ok(false);
        }
        self.demoted.set(Some(lowered));
        Ok(true)
    }

    /// Charges the processor time for reading a request that is refused, if processor time is limited.
    fn charge_reading(&self, accounts: &Accounts<'_>, now: u64) {
        if !accounts.iter().flatten().any(|account| account.limits() & TIME != 0) {
            return;
        }
        let cpu = thread_cpu_nanoseconds();
        let before = self.charged.replace(cpu);
        if before != 0 {
            for account in accounts.iter().flatten() {
                account.charge(now, cpu.saturating_sub(before));
            }
        }
    }

    /// Limits the thread to its part of the processor time of a budget; returns false if that is impossible.
    fn throttle(&self, ledger: &Ledger, account: &Arc<Account>, threads: usize) -> bool {
        if self.is_lowered.get() {
            return true;
        }
        match throttle(account, threads, schedule::reserve) {
            Throttling::Throttled(throttled) => {
                self.stay(throttled);
                true
            }
            // The thread is already lowered or has a reservation, so nothing more is changed.
            Throttling::Unchanged => true,
            Throttling::Unavailable => false,
            Throttling::Refused(error) => {
                lowest::tell(&ledger.watch, || {
                    format!("threads are demoted instead of throttled: {error}")
                });
                false
            }
        }
    }

    fn demote(&self, ledger: &Ledger) -> Option<Lowered> {
        let lowered = rt::lower(|| {
            let below = schedule::current().and_then(|now| {
                let below = ledger.lowest.below(now);
                below.ok_or_else(|| std::io::ErrorKind::PermissionDenied.into())
            });
            below.and_then(schedule::set_current)
        });
        lowered.ok().flatten()
    }
}

impl Charged<'_> {
    /// Does what dropping does, in code that is inlined.
    #[inline(always)]
    pub(crate) fn end(mut self) {
        self.finish();
        mem::forget(self);
    }

    /// Ends the request. A second call does nothing, so a panic in the first one does not charge the request twice.
    #[inline(always)]
    fn finish(&mut self) {
        let bundle = self.bundle.take();
        if mem::take(&mut self.timed) {
            self.settle(bundle.as_deref());
        }
        if mem::take(&mut self.demoted) {
            drop(self.desk.demoted.take());
        }
        if mem::take(&mut self.pauses) {
            self.desk.pause(self.client, bundle.as_deref());
        }
    }

    /// Charges the processor time used.
    #[inline(always)]
    fn settle(&self, bundle: Option<&Bundle>) {
        let Some(slot) = self.desk.slot.get() else {
            return;
        };
        let Finished { cpu, left, run, longest, told, demoted } =
            slot.finish(thread_cpu_nanoseconds);
        self.desk.charged.set(cpu);
        each(self.client, bundle, |_, account| account.charge(self.now, left));
        if run > longest || demoted {
            self.overran(bundle, slot, run, told, demoted);
        }
    }

    // The values are passed one by one, because a reference would keep them in memory for each request.
    #[cold]
    fn overran(
        &self,
        bundle: Option<&Bundle>,
        slot: &BudgetSlot,
        run: u64,
        told: bool,
        demoted: bool,
    ) {
        if demoted && !rt::restore_demoted() {
            lowest::tell(&self.ledger.watch, || {
                format!("the kernel does not restore the urgency of thread {}", slot.thread)
            });
        }
        if told {
            return;
        }
        // The request ended before the watcher noticed the overrun, so this thread reports it.
        each(self.client, bundle, |_, account| {
            if let Some(overrun) = overruns(account, run, slot.thread, false, false) {
                let log = account.is_to_tell(clock::monotonic_nanoseconds());
                self.ledger.tell(&overrun, log);
            }
        });
    }
}

impl Drop for Charged<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Calls `look` with each account of a request, and with its index.
#[inline(always)]
fn each<'a>(
    client: &'a Arc<Account>,
    bundle: Option<&'a Bundle>,
    mut look: impl FnMut(usize, &'a Arc<Account>),
) {
    look(0, client);
    let Some(bundle) = bundle else {
        return;
    };
    for (account, at) in bundle.present().zip(1..) {
        look(at, account);
    }
}

/// Counts a request as served within the budgets, or demoted.
#[inline(always)]
fn count_served(client: &Arc<Account>, bundle: Option<&Bundle>) {
    each(client, bundle, |_, account| {
        account.counts.served.fetch_add(1, Relaxed);
    });
}

#[inline]
fn accounts<'a>(client: &'a Arc<Account>, bundle: Option<&'a Bundle>) -> Accounts<'a> {
    match bundle {
        None => [Some(client), None, None, None],
        Some(Bundle { accounts: [first, second, third], .. }) => {
            [Some(client), first.as_ref(), second.as_ref(), third.as_ref()]
        }
    }
}

/// Returns the bit set of the limits of all accounts.
#[inline(always)]
fn limits(client: &Arc<Account>, bundle: Option<&Bundle>) -> u8 {
    client.limits() | bundle.map_or(0, |bundle| bundle.limits)
}

/// Returns one bit for each exhausted account, as [`take`] does, if one of them refuses requests; otherwise 0. Takes
/// nothing.
fn refusing(client: &Arc<Account>, bundle: Option<&Bundle>, now: u64) -> u8 {
    let (mut spent, mut refuses) = (0u8, false);
    each(client, bundle, |at, account| {
        if let Some(what) = account.spent(now) {
            spent |= match what {
                Spent::Time => 1u8 << at,
                Spent::Rate => 1u8 << (at + 4),
            };
            refuses |= account.refuses();
        }
    });
    if refuses { spent } else { 0 }
}

/// Takes a request from each account. Returns one bit for each exhausted account: in the lower four bits if its
/// processor time is exhausted, in the upper four bits if its rate is.
#[inline]
fn take(client: &Arc<Account>, bundle: Option<&Bundle>, now: u64) -> u8 {
    let mut spent = 0u8;
    each(client, bundle, |at, account| {
        let limits = account.limits();
        if limits & TIME != 0 && account.is_out_of_time(now) {
            spent |= 1 << at;
        } else if limits & RATE != 0 && !account.take_request(now) {
            spent |= 1 << (at + 4);
        }
    });
    spent
}

/// Takes a request from each account; returns false, and takes nothing, if one of them is exhausted. `limited` is the
/// bit set of their limits.
#[inline(always)]
fn take_all(client: &Arc<Account>, bundle: Option<&Bundle>, limited: u8, now: u64) -> bool {
    if limited & TIME != 0 {
        let is_out_of_time =
            |account: &Arc<Account>| account.limits() & TIME != 0 && account.is_out_of_time(now);
        if is_out_of_time(client)
            || bundle.is_some_and(|bundle| bundle.present().any(is_out_of_time))
        {
            return false;
        }
    }
    limited & RATE == 0 || take_requests(client, bundle, now)
}

/// Takes a request from each account that limits the rate of requests; returns false, and takes nothing, if one of them
/// is exhausted. At least one account has to limit the rate. Does not look at processor time.
#[inline(always)]
pub(super) fn take_requests(client: &Arc<Account>, bundle: Option<&Bundle>, now: u64) -> bool {
    let Some(bundle) = bundle else {
        return client.take_request(now);
    };
    // Until a request that was taken is given back, another thread may be refused one. So nothing is taken from one
    // account if another account is exhausted already.
    let rates = bundle.rates + u8::from(client.limits() & RATE != 0);
    if rates > 1 && bundle.present().any(|account| account.lacks_request(now)) {
        return false;
    }
    if !client.take(now) {
        return false;
    }
    for (account, at) in bundle.present().zip(0..) {
        if !account.take(now) {
            put_back(client, &bundle.accounts[..at], now);
            return false;
        }
    }
    true
}

/// Gives back a request to each account from which [`take_requests`] has taken it.
#[cold]
fn put_back(client: &Account, others: &[Option<Arc<Account>>], now: u64) {
    client.put_back(now);
    others.iter().flatten().for_each(|account| account.put_back(now));
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

    #[test]
    fn a_request_that_one_budget_refuses_takes_nothing_from_the_others() {
        const NOW: u64 = 1_000_000;
        let account = |id, of: &BudgetOf, burst| {
            Arc::new(Account::new(id, of, Budget::default().requests(1, burst)))
        };
        let client = account(0, &BudgetOf::EachClient, 4);
        let poa = |id, burst| Some(account(id, &BudgetOf::Poa("sensors".into()), burst));
        let bundle = Bundle::of([poa(1, 3), poa(2, 2), None]);
        let taken = (0..10).filter(|_| take_requests(&client, Some(&bundle), NOW)).count();
        assert_eq!(taken, 2);
        let left = |account: &Account| (0..10).filter(|_| account.take(NOW)).count();
        let others: Vec<usize> = bundle.accounts.iter().flatten().map(|it| left(it)).collect();
        assert_eq!((left(&client), &others[..]), (2, &[1, 0][..]));
    }

    #[test]
    fn a_request_that_another_budget_refuses_does_not_change_its_clients_account() {
        const NOW: u64 = 1_000_000;
        let account =
            |of: &BudgetOf| Arc::new(Account::new(0, of, Budget::default().requests(1, 1)));
        let (client, poa) = (account(&BudgetOf::EachClient), BudgetOf::Poa("sensors".into()));
        let bundle = Bundle::of([Some(account(&poa)), None, None]);
        assert!(bundle.accounts.iter().flatten().all(|account| account.take(NOW)));
        assert!(!take_requests(&client, Some(&bundle), NOW));
        // A request that was taken and given back would leave the time at which that happened.
        assert_eq!(client.debt(0), 0);
    }

    #[test]
    fn limits_that_have_changed_since_they_were_cached_apply() {
        const NOW: u64 = 1_000_000;
        let account = |id, budget| Arc::new(Account::new(id, &BudgetOf::EachClient, budget));
        let client = account(0, Budget::default().requests(1, 4));
        let poa = account(1, Budget::default());
        let bundle = Bundle::of([Some(Arc::clone(&poa)), None, None]);
        poa.set(Budget::default().requests(1, 1), NOW);
        assert!(take_requests(&client, Some(&bundle), NOW));
        assert!(!take_requests(&client, Some(&bundle), NOW), "the POA has a limit now");
        poa.set(Budget::default(), NOW);
        assert!(take_requests(&client, Some(&bundle), NOW), "the limit was removed");
        assert_eq!((0..10).filter(|_| client.take(NOW)).count(), 2);
    }

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
            charged.end();
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
