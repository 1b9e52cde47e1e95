//! Accounts of one request: those of its client, and those of its operation, object and POA. Each account may limit the
//! rate of requests, the processor time, or both.

use std::sync::Arc;

use super::account::{Account, RATE, Spent, TIME};
use super::ledger::Bundle;
use crate::threads::clock;
use crate::threads::sync::atomic::Ordering::Relaxed;

/// Accounts that one request is charged to. All accounts after an absent one are absent.
pub(super) type Accounts<'a> = [Option<&'a Arc<Account>>; 4];

/// Calls `look` with each account of a request, and with its index.
#[inline(always)]
pub(super) fn each<'a>(
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
pub(super) fn count_served(client: &Arc<Account>, bundle: Option<&Bundle>) {
    each(client, bundle, |_, account| {
        account.counts.served.fetch_add(1, Relaxed);
    });
}

#[inline]
pub(super) fn accounts<'a>(client: &'a Arc<Account>, bundle: Option<&'a Bundle>) -> Accounts<'a> {
    match bundle {
        None => [Some(client), None, None, None],
        Some(Bundle { accounts: [first, second, third], .. }) => {
            [Some(client), first.as_ref(), second.as_ref(), third.as_ref()]
        }
    }
}

/// Returns the bit set of the limits of all accounts.
#[inline(always)]
pub(super) fn limits(client: &Arc<Account>, bundle: Option<&Bundle>) -> u8 {
    client.limits() | bundle.map_or(0, |bundle| bundle.limits)
}

/// Returns one bit for each exhausted account, as [`take`] does, if one of them refuses requests; otherwise 0. Takes
/// nothing.
pub(super) fn refusing(client: &Arc<Account>, bundle: Option<&Bundle>, now: u64) -> u8 {
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
pub(super) fn take(client: &Arc<Account>, bundle: Option<&Bundle>, now: u64) -> u8 {
    let mut spent = 0u8;
    each(client, bundle, |at, account| {
        let limits = account.limits();
        if limits & TIME != 0 && account.is_out_of_time(now) {
            spent |= 1 << at;
        } else if limits & RATE != 0 && !account.take_request(|| now) {
            spent |= 1 << (at + 4);
        }
    });
    spent
}

/// Takes a request from each account; returns false, and takes nothing, if one of them is exhausted. `limited` is the
/// bit set of their limits, and `recent` a time not long ago: processor time that is refilled later is not seen.
#[inline(always)]
pub(super) fn take_all(
    client: &Arc<Account>,
    bundle: Option<&Bundle>,
    limited: u8,
    recent: u64,
) -> bool {
    if limited & TIME != 0 {
        let is_out_of_time =
            |account: &Arc<Account>| account.limits() & TIME != 0 && account.is_out_of_time(recent);
        if is_out_of_time(client)
            || bundle.is_some_and(|bundle| bundle.present().any(is_out_of_time))
        {
            return false;
        }
    }
    limited & RATE == 0 || take_requests(client, bundle, clock::monotonic_nanoseconds)
}

/// Takes a request from each account that limits the rate of requests; returns false, and takes nothing, if one of them
/// is exhausted. At least one account has to limit the rate. Does not look at processor time. Calls `now`, which reads
/// the clock, only if an account needs the time.
#[inline(always)]
pub(super) fn take_requests(
    client: &Arc<Account>,
    bundle: Option<&Bundle>,
    now: impl Fn() -> u64 + Copy,
) -> bool {
    let Some(bundle) = bundle else {
        return client.take_request(now);
    };
    // Until a request that was taken is given back, another thread may be refused one. So nothing is taken from one
    // account if another account is exhausted already.
    let is_client_rated = client.limits() & RATE != 0;
    let rates = bundle.rates + u8::from(is_client_rated);
    if rates > 1 && bundle.present().any(|account| account.lacks_request(now)) {
        return false;
    }
    if is_client_rated && !client.take_request(now) {
        return false;
    }
    for (account, at) in bundle.present().zip(0..) {
        if !account.take(now) {
            put_back(client, &bundle.accounts[..at], now());
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

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use super::*;
    use crate::scheduler::budget::{Budget, BudgetOf};

    #[test]
    fn a_request_that_one_budget_refuses_takes_nothing_from_the_others() {
        const NOW: u64 = 1_000_000;
        let account = |id, of: &BudgetOf, burst| {
            Arc::new(Account::new(id, of, Budget::default().requests(1, burst)))
        };
        let client = account(0, &BudgetOf::EachClient, 4);
        let poa = |id, burst| Some(account(id, &BudgetOf::Poa("sensors".into()), burst));
        let bundle = Bundle::of([poa(1, 3), poa(2, 2), None]);
        let taken = (0..10).filter(|_| take_requests(&client, Some(&bundle), || NOW)).count();
        assert_eq!(taken, 2);
        let left = |account: &Account| (0..10).filter(|_| account.take(|| NOW)).count();
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
        assert!(bundle.accounts.iter().flatten().all(|account| account.take(|| NOW)));
        assert!(!take_requests(&client, Some(&bundle), || NOW));
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
        assert!(take_requests(&client, Some(&bundle), || NOW));
        assert!(!take_requests(&client, Some(&bundle), || NOW), "the POA has a limit now");
        poa.set(Budget::default(), NOW);
        assert!(take_requests(&client, Some(&bundle), || NOW), "the limit was removed");
        assert_eq!((0..10).filter(|_| client.take(|| NOW)).count(), 2);
    }
}
