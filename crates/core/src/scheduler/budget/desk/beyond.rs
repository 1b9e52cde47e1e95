//! Treatment of requests beyond their budgets: an exception, or a lower class and priority of the serving thread.

use std::sync::Arc;

use oxorb_object::SystemException;
use oxorb_sys::clock::thread_cpu_nanoseconds;
use oxorb_sys::schedule;

use super::{BudgetedRequest, Desk};
use crate::Incident;
use crate::scheduler::budget::account::{Account, Spent, TIME};
use crate::scheduler::budget::ledger::Ledger;
use crate::scheduler::budget::lowest;
use crate::scheduler::budget::rule::BeyondBudget;
use crate::scheduler::budget::taking::Accounts;
use crate::scheduler::budget::throttle::{Throttling, throttle};
use crate::threads::rt::{self, Lowered};
use crate::threads::sync::atomic::Ordering::Relaxed;

impl Desk {
    /// Decides on the treatment of a request beyond its budget: an exception, or the class and priority at which its
    /// thread runs it. `taken` means that a request was taken from the accounts that are not exhausted. Returns whether
    /// the thread is demoted for this request only.
    #[cold]
    pub(super) fn exceed(
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
        if self.is_lowered() {
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
        if self.is_lowered() {
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
