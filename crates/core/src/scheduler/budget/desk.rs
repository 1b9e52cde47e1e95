//! Budgets on the path of a request, in the serving thread.
//!
//! A desk finds the accounts of a request, takes from all of them or decides on the treatment of the request, and
//! charges them at its end. The accounts of an operation of an object are cached, so that this allocates nothing and
//! takes no lock. The processor time of a request is counted from the end of the one before, so that reading and
//! decoding are charged, too.
//!
//! Most requests are within their budgets, and their accounts are cached. [`Desk::begin_within`] begins only these, by
//! few instructions. [`Desk::begin`] begins all others.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::{fmt, mem};

use oxorb_object::SystemException;
use oxorb_sys::clock::thread_cpu_nanoseconds;
use oxorb_sys::schedule;

use super::account::{Account, RATE, Spent, TIME};
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
    /// Start of the last request that [`begin_within`](Self::begin_within) began as [`Begun::Timed`], in nanoseconds of
    /// the monotonic clock.
    now: Cell<u64>,
    /// Guard of a throttled or demoted thread, kept until a request within its budget arrives.
    lowered: Cell<Option<Restraint>>,
    /// Whether `lowered` is set, for a cheap test.
    is_lowered: Cell<bool>,
    /// Guard of a thread that is demoted for a single request.
    demoted: Cell<Option<Lowered>>,
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

/// Number of operations of objects whose accounts a thread caches.
const SEEN: usize = 32;

/// Longest keys and names that are cached, in octets.
const KEY: usize = 64;
const NAME: usize = 48;

type Seen = [Option<One>; SEEN];

/// Cached operation of an object, with its accounts.
struct One {
    epoch: u64,
    key: Text<KEY>,
    operation: Text<NAME>,
    bundle: Rc<Bundle>,
}

/// Key or name, stored inline. Texts of up to 32 octets are compared as numbers, without a call.
struct Text<const N: usize> {
    length: usize,
    ends: Ends,
    /// Ends of what remains without the first and the last eight octets, if the text has more than 16.
    middle: Ends,
    octets: [u8; N],
}

/// First and last eight octets of a text as numbers. Texts of equal length up to 16 octets are equal if these are.
type Ends = (u64, u64);

impl<const N: usize> Text<N> {
    fn of(text: &[u8]) -> Option<Self> {
        let mut octets = [0; N];
        octets.get_mut(..text.len())?.copy_from_slice(text);
        Some(Text { length: text.len(), ends: ends(text), middle: ends(middle(text)), octets })
    }

    /// Compares the text with `text`, whose ends are `of_text`.
    #[inline(always)]
    fn is(&self, text: &[u8], of_text: Ends) -> bool {
        if self.length != text.len() || self.ends != of_text {
            return false;
        }
        text.len() <= 16
            || self.middle == ends(middle(text))
                && (text.len() <= 32 || self.octets.get(..text.len()) == Some(text))
    }
}

#[inline(always)]
fn ends(text: &[u8]) -> Ends {
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => (short(text), 0),
    }
}

/// Returns a number that differs for all texts of an equal length below eight octets.
#[inline(always)]
fn short(text: &[u8]) -> u64 {
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        _ => text.iter().fold(0u64, |number, octet| number << 8 | u64::from(*octet)),
    }
}

/// Returns a text without its first and last eight octets; empty for texts of up to 16 octets.
#[inline(always)]
fn middle(text: &[u8]) -> &[u8] {
    text.get(8..text.len().saturating_sub(8)).unwrap_or_default()
}

/// Accounts that one request is charged to. All accounts after an absent one are absent.
type Accounts<'a> = [Option<&'a Arc<Account>>; 4];

/// Result of [`Desk::begin_within`].
#[must_use = "a request whose processor time is counted has to be charged"]
pub(crate) enum Begun {
    /// The request is within its budgets. Nothing has to be done at its end.
    Within,
    /// The request is within its budgets, and its processor time is counted: to be passed to [`Desk::charge`].
    Timed(Timed),
    /// Nothing was taken, and [`Desk::begin`] decides: the request is beyond a budget, or the thread does not have all
    /// that is needed.
    Undecided,
}

/// Accounts of a request whose processor time is counted.
#[must_use = "the thread is not charged for any later request before this one has ended"]
pub(crate) struct Timed(Option<Rc<Bundle>>);

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
}

impl Desk {
    /// Begins a request if it is within its budgets and its accounts are cached, and takes one request from each of
    /// them.
    #[inline(always)]
    pub(crate) fn begin_within(
        &self,
        ledger: &Ledger,
        client: &Arc<Account>,
        key: &[u8],
        operation: &str,
    ) -> Begun {
        if self.is_lowered.get() {
            return Begun::Undecided;
        }
        let epoch = ledger.epoch();
        if epoch == 0 {
            return self.take_within(client, None);
        }
        let seen = self.seen.borrow();
        let found = seen.as_deref().and_then(|seen| known(seen, epoch, key, operation.as_bytes()));
        match found {
            Some(bundle) => self.take_within(client, Some(bundle)),
            None => Begun::Undecided,
        }
    }

    #[inline(always)]
    fn take_within(&self, client: &Arc<Account>, found: Option<&Rc<Bundle>>) -> Begun {
        let bundle = found.map(|found| &**found);
        let limited = limits(client, bundle);
        if limited == 0 {
            self.charged.set(0);
            return Begun::Within;
        }
        let timed = limited & !RATE != 0;
        let slot = self.slot.get();
        if timed && slot.is_none() {
            return Begun::Undecided;
        }
        let now = clock::monotonic_nanoseconds();
        if !take_all(client, bundle, now) {
            return Begun::Undecided;
        }
        each(client, bundle, |_, account| {
            account.counts.served.fetch_add(1, Relaxed);
        });
        if let Some(slot) = slot
            && timed
            && self.show(slot, client, bundle)
        {
            self.now.set(now);
            return Begun::Timed(Timed(found.cloned()));
        }
        self.charged.set(0);
        Begun::Within
    }

    /// Returns the guard of a request that [`begin_within`](Self::begin_within) has just begun.
    #[inline(always)]
    pub(crate) fn charge<'c>(
        &'c self,
        ledger: &'c Arc<Ledger>,
        client: &'c Arc<Account>,
        timed: Timed,
    ) -> Charged<'c> {
        let (Timed(bundle), now) = (timed, self.now.get());
        Charged { ledger, desk: self, client, bundle, now, timed: true, demoted: false }
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
        let found = self.find(ledger, asked);
        let bundle = found.as_deref();
        let (mut now, mut timed, mut demoted) = (0, false, false);
        let limited = limits(client, bundle);
        if limited == 0 {
            self.rise();
        } else {
            now = clock::monotonic_nanoseconds();
            match take(client, bundle, now) {
                0 => self.rise(),
                spent => {
                    let accounts = accounts(client, bundle);
                    demoted = self.exceed(ledger, &accounts, spent, now, asked)?;
                }
            }
            each(client, bundle, |_, account| {
                account.counts.served.fetch_add(1, Relaxed);
            });
            timed = limited & !RATE != 0 && self.watch(ledger, client, bundle);
        }
        if !timed {
            self.charged.set(0);
        }
        Ok(Charged { ledger, desk: self, client, bundle: found, now, timed, demoted })
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
                match account.beyond() {
                    BeyondBudget::Refuse => refuses = true,
                    BeyondBudget::Demote => demotes = true,
                    BeyondBudget::Throttle => {}
                }
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
        let place = place(ends(key), ends(operation));
        let texts = Text::of(key).zip(Text::of(operation));
        if let Some((key, operation)) = texts {
            let mut seen = self.seen.borrow_mut();
            let seen = seen.get_or_insert_with(|| Box::new([const { None }; SEEN]));
            seen[place] = Some(One { epoch, key, operation, bundle: Rc::clone(&bundle) });
        }
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
        let mut longest = u64::MAX;
        each(client, bundle, |_, account| longest = longest.min(account.longest()));
        let others = match bundle {
            Some(bundle) => &bundle.accounts[..],
            None => &[],
        };
        slot.begin(since, since, longest, client, others)
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
    /// thread runs it. Returns whether the thread is demoted for this request only.
    #[cold]
    fn exceed(
        &self,
        ledger: &Ledger,
        accounts: &Accounts<'_>,
        spent: u8,
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
        let refuses =
            |(account, _): &(&Arc<Account>, Spent)| account.beyond() == BeyondBudget::Refuse;
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
                };
                format!("its {} is used up, and requests are {becomes}", what.name())
            };
            ledger.watch.note(Incident::BeyondBudget, peer, detail);
        }
        if answer == BeyondBudget::Refuse {
            for (at, account) in present {
                if exceeded(at).is_none() {
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
        let bundle = self.bundle.take();
        self.finish(bundle.as_deref());
        mem::forget(self);
    }

    #[inline(always)]
    fn finish(&self, bundle: Option<&Bundle>) {
        if self.timed {
            self.settle(bundle);
        }
        if self.demoted {
            drop(self.desk.demoted.take());
        }
    }

    /// Charges the processor time used.
    #[inline(always)]
    fn settle(&self, bundle: Option<&Bundle>) {
        let Some(slot) = self.desk.slot.get() else {
            return;
        };
        let finished = slot.finish(thread_cpu_nanoseconds);
        self.desk.charged.set(finished.cpu);
        each(self.client, bundle, |_, account| account.charge(self.now, finished.left));
        if finished.run > finished.longest || finished.demoted {
            self.overran(bundle, slot, &finished);
        }
    }

    #[cold]
    fn overran(&self, bundle: Option<&Bundle>, slot: &BudgetSlot, finished: &Finished) {
        if finished.demoted && !rt::restore_demoted() {
            lowest::tell(&self.ledger.watch, || {
                format!(
                    "the kernel does not let thread {} be as urgent again as it was",
                    slot.thread
                )
            });
        }
        if finished.told {
            return;
        }
        // The request ended before the watcher noticed the overrun, so this thread reports it.
        each(self.client, bundle, |_, account| {
            if let Some(overrun) = overruns(account, finished.run, slot.thread, false, false) {
                let log = account.is_to_tell(clock::monotonic_nanoseconds());
                self.ledger.tell(&overrun, log);
            }
        });
    }
}

impl Drop for Charged<'_> {
    fn drop(&mut self) {
        let bundle = self.bundle.take();
        self.finish(bundle.as_deref());
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
    for (account, at) in bundle.accounts.iter().zip(1..) {
        let Some(account) = account else {
            return;
        };
        look(at, account);
    }
}

#[inline]
fn accounts<'a>(client: &'a Arc<Account>, bundle: Option<&'a Bundle>) -> Accounts<'a> {
    match bundle {
        None => [Some(client), None, None, None],
        Some(Bundle { accounts: [first, second, third] }) => {
            [Some(client), first.as_ref(), second.as_ref(), third.as_ref()]
        }
    }
}

#[inline]
fn limits(client: &Arc<Account>, bundle: Option<&Bundle>) -> u8 {
    let mut limits = 0u8;
    each(client, bundle, |_, account| limits |= account.limits());
    limits
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

/// Takes a request from each account; returns false, and takes nothing, if one of them is exhausted.
#[inline(always)]
pub(super) fn take_all(client: &Arc<Account>, bundle: Option<&Bundle>, now: u64) -> bool {
    let others = bundle.map_or(&[][..], |bundle| &bundle.accounts[..]);
    // Until a request that was taken is given back, another thread may be refused one. So nothing is taken from the
    // client if another account is exhausted already.
    let is_spent = |account: &Arc<Account>| account.spent(now).is_some();
    if others.iter().flatten().any(is_spent) || !client.take(now) {
        return false;
    }
    for (account, at) in others.iter().zip(0..) {
        let Some(account) = account else {
            break;
        };
        if !account.take(now) {
            put_back(client, &others[..at], now);
            return false;
        }
    }
    true
}

/// Gives back a request to each account from which [`take_all`] has taken it.
#[cold]
fn put_back(client: &Account, others: &[Option<Arc<Account>>], now: u64) {
    client.put_back(now);
    others.iter().flatten().for_each(|account| account.put_back(now));
}

/// Returns the cached accounts of an operation of an object.
#[inline(always)]
fn known<'s>(seen: &'s Seen, epoch: u64, key: &[u8], operation: &[u8]) -> Option<&'s Rc<Bundle>> {
    let (of_key, of_operation) = (ends(key), ends(operation));
    let one = seen[place(of_key, of_operation)].as_ref()?;
    let is_it =
        one.epoch == epoch && one.key.is(key, of_key) && one.operation.is(operation, of_operation);
    is_it.then_some(&one.bundle)
}

/// Returns the index in the cache for an operation of an object.
#[inline(always)]
fn place(key: Ends, operation: Ends) -> usize {
    // A sum is also different for texts of eight octets, whose two ends are equal.
    let (key, operation) = (key.0.wrapping_add(key.1), operation.0.wrapping_add(operation.1));
    let mixed = (key ^ operation.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - SEEN.ilog2())) as usize
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
        let bundle = Bundle { accounts: [poa(1, 3), poa(2, 2), None] };
        let taken = (0..10).filter(|_| take_all(&client, Some(&bundle), NOW)).count();
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
        let bundle = Bundle { accounts: [Some(account(&poa)), None, None] };
        assert!(bundle.accounts.iter().flatten().all(|account| account.take(NOW)));
        assert!(!take_all(&client, Some(&bundle), NOW));
        // A request that was taken and given back would leave the time at which that happened.
        assert_eq!(client.debt(0), 0);
    }

    #[test]
    fn a_request_within_its_budgets_is_begun_at_once_if_its_accounts_are_cached() {
        let (hour, ms) = (Duration::from_secs(3600), Duration::from_millis(1));
        let poa = || BudgetOf::Poa("sensors".into());
        let rules = [
            (poa(), Budget::default().time(hour, hour)),
            (BudgetOf::EachClient, Budget::default().requests(1_000_000_000, 1_000)),
        ];
        let threads = Threads::new(&Arc::new(Scheduling::new(&RealTime::default())));
        let watch = Arc::new(Watch::new(Log::new(LogLevel::Off, None)));
        let ledger = Ledger::new(&rules, ms, OverrunHooks::default(), &watch, &threads);
        let client = ledger.client(PeerId::Ip(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let describe: &Describe<'_> = &|key: &[u8], look: &mut dyn FnMut(Described<'_>)| {
            look(Described::new(key, "sensors", "IDL:test/Radar:1.0", &|_| false));
        };
        let asked = BudgetedRequest {
            key: b"radar",
            operation: "sweep",
            describe,
            lowest: false,
            own: false,
            threads: 1,
        };
        let desk = Desk::default();
        let begin_within = |operation| desk.begin_within(&ledger, &client, b"radar", operation);
        assert!(matches!(begin_within("sweep"), Begun::Undecided), "it is not cached");
        drop(desk.begin(&ledger, &client, &asked));
        for request in 0..3 {
            // If the request before had not ended, this one would count as a part of it.
            let Begun::Timed(timed) = begin_within("sweep") else {
                panic!("request {request} is within its budgets")
            };
            desk.charge(&ledger, &client, timed).end();
        }
        assert_eq!(client.counts.served.load(Relaxed), 4);
        assert!(matches!(begin_within("sweeps"), Begun::Undecided), "another operation");
        assert!(ledger.set(poa(), Budget::default(), &threads));
        assert!(matches!(begin_within("sweep"), Begun::Undecided), "the rules have changed");
        assert!(ledger.remove(&poa()));
        assert!(matches!(begin_within("sweep"), Begun::Within), "only its client has a budget");
        assert_eq!(client.counts.served.load(Relaxed), 5);
    }

    #[test]
    fn texts_that_differ_in_one_octet_are_different() {
        for length in 0..=48u8 {
            let text: Vec<u8> = (0..length).collect();
            let stored = Text::<48>::of(&text).unwrap();
            assert!(stored.is(&text, ends(&text)));
            for at in 0..text.len() {
                let mut other = text.clone();
                other[at] ^= 0x80;
                assert!(!stored.is(&other, ends(&other)), "octet {at} of {length}");
            }
            let longer = [&text[..], &[0]].concat();
            assert!(!stored.is(&longer, ends(&longer)));
            if let Some((_, shorter)) = text.split_last() {
                assert!(!stored.is(shorter, ends(shorter)));
            }
        }
        assert!(Text::<48>::of(&[0; 49]).is_none());
    }
}
