//! State of a thread that runs requests, for the thread that watches them.
//!
//! ```text
//!            begin                 inspect (the watcher)             finish
//!   IDLE ------------> RUNNING ----> WATCHED ----> RUNNING ------------> IDLE
//!                                          \-----> DEMOTED -- restores --/
//! ```
//!
//! While a slot is WATCHED, only the watcher may charge the request or change the thread's class and priority; a thread
//! that finishes the request waits until the state changes, for one or two system calls. Each nanosecond is therefore
//! charged once, either by the watcher or by the thread, and no thread keeps a class or priority that was meant for an
//! earlier request.

use std::sync::Arc;
use std::time::Duration;

use super::account::{Account, NO_ACCOUNT};
use super::ledger::Bundle;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::threads::sync::thread;

const IDLE: u64 = 0;
const RUNNING: u64 = 1;
const WATCHED: u64 = 2;
const DEMOTED: u64 = 3;
const STATES: u64 = 3;
/// Increment of the request counter, which is stored above the bits of the state and distinguishes each request from
/// the next.
const NEXT: u64 = 4;

/// State of the request that a thread runs.
#[derive(Debug)]
pub(crate) struct BudgetSlot {
    /// Kernel's id of the thread.
    pub(super) thread: i32,
    word: AtomicU64,
    /// Processor time of the thread up to which all is charged.
    charged: AtomicU64,
    /// Processor time of the thread when the request began.
    began: AtomicU64,
    /// Processor time of one request beyond which the request overruns.
    longest: AtomicU64,
    /// Whether the overrun was reported to the application.
    told: AtomicBool,
    /// Numbers of the accounts; [`NO_ACCOUNT`] for an absent one.
    numbers: [AtomicU32; 4],
    /// Accounts of the request. The thread replaces them between requests if the next request has other accounts.
    accounts: Mutex<[Option<Arc<Account>>; 4]>,
}

/// Request that the watcher inspects, and that cannot end until this value is dropped.
pub(super) struct Looked<'s> {
    slot: &'s BudgetSlot,
    /// Whether the thread is demoted, so that its class and priority have to be restored when the request ends.
    pub(super) demoted: bool,
}

impl BudgetSlot {
    pub(super) fn new(thread: i32) -> BudgetSlot {
        BudgetSlot {
            thread,
            word: AtomicU64::new(IDLE),
            charged: AtomicU64::new(0),
            began: AtomicU64::new(0),
            longest: AtomicU64::new(u64::MAX),
            told: AtomicBool::new(false),
            numbers: std::array::from_fn(|_| AtomicU32::new(NO_ACCOUNT)),
            accounts: Mutex::default(),
        }
    }

    /// Begins a request at processor time `cpu` of the thread; the request is charged from `since`, to the account of
    /// its client and to those of `bundle`. Returns false if the thread already runs a request that contains this one.
    #[inline(always)]
    pub(super) fn begin(
        &self,
        since: u64,
        cpu: u64,
        longest: u64,
        client: &Arc<Account>,
        bundle: Option<&Bundle>,
    ) -> bool {
        let relaxed = Ordering::Relaxed;
        let word = self.word.load(relaxed);
        if word & STATES != IDLE {
            return false;
        }
        self.charged.store(since, relaxed);
        self.began.store(cpu, relaxed);
        self.longest.store(longest, relaxed);
        if !self.knows(client, bundle) {
            self.remember(client, bundle);
        }
        self.word.store(word | RUNNING, Ordering::Release);
        true
    }

    /// Reports whether the accounts are those of the thread's request before.
    #[inline(always)]
    fn knows(&self, client: &Account, bundle: Option<&Bundle>) -> bool {
        let numbers = bundle.map_or([NO_ACCOUNT; 3], |bundle| bundle.numbers);
        let is = |known: &AtomicU32, number: u32| known.load(Ordering::Relaxed) == number;
        let [of_client, first, second, third] = &self.numbers;
        is(of_client, client.id)
            && is(first, numbers[0])
            && is(second, numbers[1])
            && is(third, numbers[2])
    }

    #[cold]
    fn remember(&self, client: &Arc<Account>, bundle: Option<&Bundle>) {
        let mut accounts: [Option<Arc<Account>>; 4] = [const { None }; 4];
        accounts[0] = Some(Arc::clone(client));
        let others = bundle.into_iter().flat_map(Bundle::present);
        for (place, account) in accounts[1..].iter_mut().zip(others) {
            *place = Some(Arc::clone(account));
        }
        for (known, account) in self.numbers.iter().zip(&accounts) {
            let number = account.as_ref().map_or(NO_ACCOUNT, |account| account.id);
            known.store(number, Ordering::Relaxed);
        }
        *self.accounts.lock() = accounts;
    }

    /// Ends the request, at the processor time that `cpu` returns. Returns the processor time that is still to be
    /// charged, and whether the thread's schedule has to be restored.
    #[inline]
    pub(super) fn finish(&self, cpu: impl FnOnce() -> u64) -> Finished {
        let mut word = self.word.load(Ordering::Relaxed);
        let mut waits = 0;
        loop {
            match word & STATES {
                WATCHED => {
                    pause(&mut waits);
                    word = self.word.load(Ordering::Acquire);
                }
                state => {
                    let next = (word & !STATES).wrapping_add(NEXT) | IDLE;
                    let (set, get) = (Ordering::Acquire, Ordering::Acquire);
                    match self.word.compare_exchange_weak(word, next, set, get) {
                        Ok(_) => {
                            let cpu = cpu();
                            let charged = self.charged.load(Ordering::Relaxed);
                            return Finished {
                                cpu,
                                left: cpu.saturating_sub(charged),
                                run: cpu.saturating_sub(self.began.load(Ordering::Relaxed)),
                                longest: self.longest.load(Ordering::Relaxed),
                                demoted: state == DEMOTED,
                            };
                        }
                        Err(other) => word = other,
                    }
                }
            }
        }
    }

    /// Reports whether the overrun of the request that has just ended was reported to the application, and prepares the
    /// slot for the next request. An overrun that was reported is one at the end, too, so no other request needs this.
    pub(super) fn take_told(&self) -> bool {
        self.told.swap(false, Ordering::Relaxed)
    }

    /// Keeps the request from ending while the watcher inspects it; `None` if the thread runs no
    /// request.
    pub(super) fn look(&self) -> Option<Looked<'_>> {
        let word = self.word.load(Ordering::Acquire);
        let demoted = match word & STATES {
            RUNNING => false,
            DEMOTED => true,
            _ => return None,
        };
        let watched = word & !STATES | WATCHED;
        let (set, get) = (Ordering::Acquire, Ordering::Relaxed);
        self.word.compare_exchange(word, watched, set, get).ok()?;
        Some(Looked { slot: self, demoted })
    }
}

/// Result of a request that has ended.
pub(super) struct Finished {
    /// Processor time of its thread.
    pub(super) cpu: u64,
    /// Processor time that is not yet charged.
    pub(super) left: u64,
    /// Processor time of the request.
    pub(super) run: u64,
    /// Processor time beyond which the request overruns.
    pub(super) longest: u64,
    /// Whether the thread was demoted.
    pub(super) demoted: bool,
}

impl Looked<'_> {
    /// Records the thread's processor time `cpu`. Returns the time to charge, and the processor time of the request.
    pub(super) fn used(&self, cpu: u64) -> (u64, u64) {
        let relaxed = Ordering::Relaxed;
        let before = self.slot.charged.load(relaxed);
        self.slot.charged.store(cpu.max(before), relaxed);
        let run = cpu.saturating_sub(self.slot.began.load(relaxed));
        (cpu.saturating_sub(before), run)
    }

    /// Returns the processor time beyond which the request overruns.
    pub(super) fn longest(&self) -> u64 {
        self.slot.longest.load(Ordering::Relaxed)
    }

    /// Calls `look` with each account of the request.
    pub(super) fn accounts(&self, mut look: impl FnMut(&Account)) {
        let held = self.slot.accounts.lock();
        held.iter().flatten().for_each(|account| look(account));
    }

    /// Records that the overrun is reported to the application; returns false if it was before.
    pub(super) fn tell(&self) -> bool {
        !self.slot.told.swap(true, Ordering::Relaxed)
    }

    /// Returns the thread.
    pub(super) fn thread(&self) -> i32 {
        self.slot.thread
    }
}

impl Drop for Looked<'_> {
    fn drop(&mut self) {
        let state = if self.demoted { DEMOTED } else { RUNNING };
        // While the state is WATCHED, only the watcher changes the word, so a load and a store suffice.
        let word = self.slot.word.load(Ordering::Relaxed);
        self.slot.word.store(word & !STATES | state, Ordering::Release);
    }
}

/// Waits for the watcher, which may be less urgent than this thread.
#[cold]
fn pause(waits: &mut u32) {
    *waits += 1;
    match *waits {
        ..16 => thread::yield_now(),
        _ => thread::sleep(Duration::from_micros(50)),
    }
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use super::*;
    use crate::scheduler::budget::{Budget, BudgetOf};

    fn account() -> Arc<Account> {
        Arc::new(Account::new(7, &BudgetOf::EachClient, Budget::default()))
    }

    #[test]
    fn what_the_watcher_has_charged_is_not_charged_again() {
        let slot = BudgetSlot::new(1);
        let account = account();
        assert!(slot.look().is_none(), "it runs nothing");
        assert!(slot.begin(90, 100, 50, &account, None));
        assert!(!slot.begin(0, 0, 0, &account, None), "one within it is a part of it");
        let looked = slot.look().unwrap();
        assert_eq!(looked.used(130), (40, 30));
        assert_eq!(looked.longest(), 50);
        let mut seen = Vec::new();
        looked.accounts(|account| seen.push(account.id));
        assert_eq!(seen, [7]);
        assert!(looked.tell() && !looked.tell());
        drop(looked);
        let mut looked = slot.look().unwrap();
        assert_eq!(looked.used(160), (30, 60));
        looked.demoted = true;
        drop(looked);
        assert!(slot.look().unwrap().demoted);
        let finished = slot.finish(|| 200);
        assert_eq!((finished.left, finished.run, finished.longest), (40, 100, 50));
        assert!(finished.demoted && slot.take_told());
        assert!(slot.look().is_none());
        assert!(slot.begin(200, 200, 50, &account, None));
        assert!(slot.look().unwrap().tell(), "another request was told before");
    }

    /// Account of the client, further accounts, and the numbers that the watcher sees.
    type Request<'a> = (&'a Arc<Account>, Option<&'a Bundle>, &'a [u32]);

    #[test]
    fn the_watcher_sees_the_accounts_of_the_request_that_runs() {
        let slot = BudgetSlot::new(1);
        let account = |id| Arc::new(Account::new(id, &BudgetOf::EachClient, Budget::default()));
        let (first, second, third) = (account(1), account(2), account(3));
        let other = |account: &Arc<Account>| Some(Arc::clone(account));
        let one = Bundle::of([other(&second), None, None]);
        let two = Bundle::of([other(&second), other(&third), None]);
        let requests: [Request<'_>; 7] = [
            (&first, Some(&one), &[1, 2]),
            (&first, None, &[1]),
            (&first, None, &[1]),
            (&second, None, &[2]),
            (&first, Some(&two), &[1, 2, 3]),
            (&first, Some(&one), &[1, 2]),
            (&second, Some(&one), &[2, 2]),
        ];
        for (client, bundle, expected) in requests {
            assert!(slot.begin(0, 0, 50, client, bundle));
            let mut seen = Vec::new();
            slot.look().unwrap().accounts(|account| seen.push(account.id));
            assert_eq!(seen, expected);
            slot.finish(|| 0);
        }
    }
}
