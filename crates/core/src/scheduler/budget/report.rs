//! Use of budgets.

use std::time::Duration;

use super::account::Account;
use super::rule::{Budget, BudgetOf};
use crate::threads::clock;
use crate::threads::sync::atomic::{AtomicU64, Ordering};

/// Use of a server within a budget, as returned by [`Orb::budgets`](crate::Orb::budgets). All counts begin when the
/// budget was set, or with the client's first connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetUse {
    /// Owner of the budget.
    pub of: BudgetOf,
    /// Budget.
    pub budget: Budget,
    /// Number of requests that ran within the budget.
    pub served: u64,
    /// Number of requests beyond it that raised TRANSIENT.
    pub refused: u64,
    /// Number of requests beyond it that were run demoted, or by a throttled lane.
    pub demoted: u64,
    /// Number of requests that used more processor time than the budget allows for one request.
    pub overruns: u64,
    /// Processor time used; counted only if a budget of the request limits it.
    pub processor_time: Duration,
    /// Whether the budget is exhausted at this moment.
    pub spent: bool,
}

/// Use of all budgets of one kind of owner, for metrics.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BudgetSum {
    /// Numbers of requests that were served within the budgets, refused, and demoted.
    pub(crate) outcomes: [u64; 3],
    /// Number of requests that used more processor time than a budget allows for one request.
    pub(crate) overruns: u64,
    /// Processor time in nanoseconds.
    pub(crate) nanoseconds: u64,
    /// Number of budgets that are exhausted.
    pub(crate) spent: u64,
}

impl BudgetSum {
    /// Adds the use of one budget.
    pub(super) fn add(&mut self, account: &Account, now: u64) {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = &account.counts;
        let outcomes = [&counts.served, &counts.refused, &counts.demoted];
        for (sum, one) in self.outcomes.iter_mut().zip(outcomes) {
            *sum += count(one);
        }
        self.overruns += count(&counts.overruns);
        self.nanoseconds = self.nanoseconds.saturating_add(count(&counts.cpu));
        self.spent += u64::from(account.spent(now).is_some());
    }
}

impl BudgetUse {
    pub(super) fn of(of: BudgetOf, budget: Budget, account: &Account, now: u64) -> BudgetUse {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = &account.counts;
        BudgetUse {
            of,
            budget,
            served: count(&counts.served),
            refused: count(&counts.refused),
            demoted: count(&counts.demoted),
            overruns: count(&counts.overruns),
            processor_time: Duration::from_nanos(count(&counts.cpu)),
            spent: account.spent(now.max(clock::monotonic_nanoseconds())).is_some(),
        }
    }
}
