//! Budgets on the path of a request, in the serving thread.
//!
//! A desk finds the accounts of a request, takes from all of them or decides on the treatment of the request, and
//! charges them at its end. The accounts of an operation of an object are cached, so that this allocates nothing and
//! takes no lock. The processor time of a request is counted from the end of the one before, so that reading and
//! decoding are charged, too.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use oxorb_object::SystemException;
use oxorb_sys::clock::thread_cpu_nanoseconds;
use oxorb_sys::schedule;

use super::account::{Account, RATE, Spent, TIME};
use super::described::Describe;
use super::ledger::{Bundle, Ledger};
use super::lowest;
use super::rule::BeyondBudget;
use super::slot::{Accounts, Slot};
use super::throttle::{Restraint, Throttling, throttle};
use super::watcher::overruns;
use crate::Incident;
use crate::clock;
use crate::rt::{self, Lowered, know_schedule};
use crate::sync::atomic::Ordering::Relaxed;

/// State of budgets in a thread that serves requests.
#[derive(Default)]
pub(crate) struct Desk {
    seen: RefCell<Option<Box<Seen>>>,
    slot: OnceCell<Arc<Slot>>,
    /// Processor time of the thread up to which all is charged; 0 if unknown.
    charged: Cell<u64>,
    /// Guard of a throttled or demoted thread, kept until a request within its budget arrives.
    lowered: Cell<Option<Restraint>>,
    /// Whether `lowered` is set, for a cheap test.
    is_lowered: Cell<bool>,
    /// Guard of a thread that is demoted for a single request.
    demoted: Cell<Option<Lowered>>,
}

/// Request to which budgets may apply.
pub(crate) struct Asked<'r> {
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

/// Key or name, stored inline.
struct Text<const N: usize> {
    octets: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    fn of(text: &[u8]) -> Option<Self> {
        let mut octets = [0; N];
        octets.get_mut(..text.len())?.copy_from_slice(text);
        let length = text.len();
        Some(Text { octets, length })
    }

    #[inline]
    fn is(&self, text: &[u8]) -> bool {
        self.length == text.len() && self.octets[..self.length] == *text
    }
}

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
    /// Begins a request, and takes one request from each of its accounts.
    ///
    /// # Errors
    /// TRANSIENT, COMPLETED_NO, with a minor code that names the exhausted limit.
    #[inline(never)]
    pub(crate) fn begin<'c>(
        &'c self,
        ledger: &'c Arc<Ledger>,
        client: &'c Arc<Account>,
        asked: &Asked<'_>,
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
        asked: &Asked<'_>,
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
    // This function is inlined, because one of its two callers runs for each request.
    #[inline(always)]
    fn find(&self, ledger: &Ledger, asked: &Asked<'_>) -> Option<Rc<Bundle>> {
        if !ledger.has_targets.load(Relaxed) {
            return None;
        }
        let epoch = ledger.epoch();
        let (key, operation) = (asked.key, asked.operation.as_bytes());
        let place = place(key, operation);
        if let Some(seen) = &*self.seen.borrow()
            && let Some(one) = &seen[place]
            && one.epoch == epoch
            && one.key.is(key)
            && one.operation.is(operation)
        {
            return Some(Rc::clone(&one.bundle));
        }
        self.find_out(ledger, asked, epoch, place)
    }

    /// Looks the accounts up in the ledger, and caches them.
    #[cold]
    fn find_out(
        &self,
        ledger: &Ledger,
        asked: &Asked<'_>,
        epoch: u64,
        place: usize,
    ) -> Option<Rc<Bundle>> {
        let bundle = Rc::new(ledger.bundle(asked.key, asked.operation, asked.describe)?);
        let texts = Text::of(asked.key).zip(Text::of(asked.operation.as_bytes()));
        if let Some((key, operation)) = texts {
            let mut seen = self.seen.borrow_mut();
            let seen = seen.get_or_insert_with(|| Box::new([const { None }; SEEN]));
            seen[place] = Some(One { epoch, key, operation, bundle: Rc::clone(&bundle) });
        }
        Some(bundle)
    }

    /// Shows the watcher the request that the thread runs from now on. Returns false if the thread already runs a
    /// request that contains this one.
    #[inline]
    fn watch(&self, ledger: &Ledger, client: &Arc<Account>, bundle: Option<&Bundle>) -> bool {
        let Some(slot) = self.slot.get() else {
            return self.enlist(ledger, client, bundle);
        };
        let before = self.charged.get();
        // If no earlier request was charged, the processor time for reading this request is unknown, and is not
        // charged.
        let (since, cpu) = match before {
            0 => {
                let cpu = thread_cpu_nanoseconds();
                (cpu, cpu)
            }
            before => (before, before),
        };
        let mut longest = u64::MAX;
        each(client, bundle, |_, account| longest = longest.min(account.longest()));
        slot.begin(since, cpu, longest, accounts(client, bundle))
    }

    #[cold]
    fn enlist(&self, ledger: &Ledger, client: &Arc<Account>, bundle: Option<&Bundle>) -> bool {
        know_schedule();
        let slot = self.slot.get_or_init(|| Arc::new(Slot::new(oxorb_sys::thread::current_id())));
        ledger.list(slot);
        self.watch(ledger, client, bundle)
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
        asked: &Asked<'_>,
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
                if exceeded(at).is_none() && account.limits() & RATE != 0 {
                    account.put_request_back(now);
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
    /// Charges the processor time used.
    #[inline]
    fn finish(&self) {
        let Some(slot) = self.desk.slot.get() else {
            return;
        };
        let finished = slot.finish(thread_cpu_nanoseconds);
        self.desk.charged.set(finished.cpu);
        let mut longest = u64::MAX;
        each(self.client, self.bundle.as_deref(), |_, account| {
            account.charge(self.now, finished.left);
            longest = longest.min(account.longest());
        });
        if finished.run > longest || finished.demoted {
            self.overran(slot, finished.run, finished.told, finished.demoted);
        }
    }

    #[cold]
    fn overran(&self, slot: &Slot, run: u64, told: bool, demoted: bool) {
        if demoted && !rt::restore_demoted() {
            lowest::tell(&self.ledger.watch, || {
                format!(
                    "the kernel does not let thread {} be as urgent again as it was",
                    slot.thread
                )
            });
        }
        if told {
            return;
        }
        // The request ended before the watcher noticed the overrun, so this thread reports it.
        each(self.client, self.bundle.as_deref(), |_, account| {
            if let Some(overrun) = overruns(account, run, slot.thread, false, false) {
                let log = account.is_to_tell(clock::monotonic_nanoseconds());
                self.ledger.tell(&overrun, log);
            }
        });
    }
}

impl Drop for Charged<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.timed {
            self.finish();
        }
        if self.demoted {
            drop(self.desk.demoted.take());
        }
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

/// Returns the index in the cache for an operation of an object.
#[inline]
fn place(key: &[u8], operation: &[u8]) -> usize {
    let last = key.last_chunk().map_or(key.len() as u64, |last| u64::from_le_bytes(*last));
    let (first, length) = (operation.first(), operation.len());
    let operation = u64::from(first.copied().unwrap_or(0)) << 8 ^ length as u64;
    let mixed = (last ^ operation.rotate_left(48)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - SEEN.ilog2())) as usize
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}
