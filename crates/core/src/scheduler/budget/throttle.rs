//! Threads that are limited to a budget's processor time (SCHED_DEADLINE).
//!
//! The kernel limits each thread by itself, so several threads with the whole time of a budget would together use it
//! several times. Each thread of a lane therefore reserves a part: the budget's time divided by the number of the
//! lane's threads. The account counts the reserved parts, and refuses one that exceeds its time. So all reservations of
//! a budget together are within it, even if threads of several lanes or connections have them. If the budget's time
//! becomes shorter, threads keep their parts until they serve a request within the budget.

use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::schedule::{LEAST_RUNTIME, Reservation, ReservationError};

use super::account::Account;
use crate::threads::rt::{self, Lowered};
use crate::threads::sync::atomic::Ordering::Relaxed;

/// Guard of a thread with a lowered class or priority, or with a part of a budget's time. Not `Send`.
// The kernel's reservation ends before the account's: fields are dropped in the order of their declarations.
#[must_use = "it ends when this is dropped"]
pub(super) struct Restraint {
    _lowered: Lowered,
    _part: Option<Part>,
}

/// Part of a budget's processor time that a thread has reserved.
struct Part {
    account: Arc<Account>,
    nanoseconds: u64,
}

/// Result of an attempt to throttle a thread.
pub(super) enum Throttling {
    /// The thread has a part of the budget's time.
    Throttled(Restraint),
    /// The thread is lowered already, or its lane has reserved time. Nothing was changed.
    Unchanged,
    /// The budget limits no processor time, its time is not shorter than its period, or the time that other threads
    /// have not reserved is shorter than this part.
    Unavailable,
    /// The kernel refuses such a reservation.
    Refused(ReservationError),
}

/// Limits the calling thread to its part of a budget's time, if `threads` threads share this time. `reserve` reserves
/// time for the calling thread.
pub(super) fn throttle(
    account: &Arc<Account>,
    threads: usize,
    reserve: impl FnOnce(Reservation) -> Result<(), ReservationError>,
) -> Throttling {
    let (time, period) = (account.share.0.load(Relaxed), account.share.1.load(Relaxed));
    if time == 0 || time >= period {
        return Throttling::Unavailable;
    }
    // The part is rounded down, so that all parts together do not exceed the time.
    let nanoseconds = time / threads.max(1) as u64;
    let period = Duration::from_nanos(period);
    let runtime = Duration::from_nanos(nanoseconds);
    let asked = Reservation { runtime, deadline: period, period };
    if runtime < LEAST_RUNTIME {
        return Throttling::Refused(ReservationError::Times(asked));
    }
    if !account.reserve(nanoseconds) {
        return Throttling::Unavailable;
    }
    let part = Part { account: Arc::clone(account), nanoseconds };
    match rt::lower(|| reserve(asked)) {
        Ok(Some(lowered)) => {
            Throttling::Throttled(Restraint { _lowered: lowered, _part: Some(part) })
        }
        Ok(None) => Throttling::Unchanged,
        Err(error) => Throttling::Refused(error),
    }
}

impl From<Lowered> for Restraint {
    fn from(lowered: Lowered) -> Restraint {
        Restraint { _lowered: lowered, _part: None }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.account.release(self.nanoseconds);
    }
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::thread;

    use super::*;
    use crate::scheduler::budget::{Budget, BudgetOf};

    const MS: Duration = Duration::from_millis(1);

    fn account(budget: Budget) -> Arc<Account> {
        Arc::new(Account::new(0, &BudgetOf::EachClient, budget))
    }

    /// Throttles `count` new threads, each while the ones before it are throttled, by a kernel that grants everything.
    /// Returns the runtime that each thread has reserved.
    fn reserved(count: usize, account: &Arc<Account>, threads: usize) -> Vec<Option<Duration>> {
        if count == 0 {
            return Vec::new();
        }
        let throttled = || {
            let mut runtime = None;
            let attempt = throttle(account, threads, |asked| {
                runtime = Some(asked.runtime);
                Ok(())
            });
            assert_eq!(matches!(attempt, Throttling::Throttled(_)), runtime.is_some());
            let mut all = vec![runtime];
            all.extend(reserved(count - 1, account, threads));
            drop(attempt);
            all
        };
        thread::scope(|scope| scope.spawn(throttled).join().unwrap())
    }

    #[test]
    fn the_threads_of_a_lane_together_have_one_budget() {
        let account = account(Budget::default().time(2 * MS, 20 * MS));
        let part = Some(MS / 2);
        // Two threads more than the lane has, as of another lane.
        assert_eq!(reserved(6, &account, 4), [part, part, part, part, None, None]);
        // The guards of all threads were dropped, so the whole time is available again.
        assert_eq!(reserved(2, &account, 1), [Some(2 * MS), None]);
        assert_eq!(reserved(3, &account, 3), [Some(2 * MS / 3); 3]);
    }

    #[test]
    fn a_part_that_is_shorter_than_the_kernel_reserves_is_not_asked_for() {
        let account = account(Budget::default().time(MS / 250, MS));
        let attempt = throttle(&account, 4, |asked| panic!("{:?} was asked for", asked.runtime));
        let Throttling::Refused(error) = attempt else { panic!("a part of 1,000 ns") };
        assert!(error.to_string().contains("1.024 us"), "{error}");
        // Nothing was reserved by this attempt, and a longer part is granted.
        assert_eq!(reserved(1, &account, 3), [Some(Duration::from_nanos(1_333))]);
    }

    #[test]
    fn a_part_that_the_kernel_refuses_is_not_counted() {
        let account = account(Budget::default().time(2 * MS, 20 * MS));
        let attempt = throttle(&account, 1, |_| Err(ReservationError::NotPermitted));
        assert!(matches!(attempt, Throttling::Refused(ReservationError::NotPermitted)));
        assert_eq!(reserved(1, &account, 1), [Some(2 * MS)]);
    }

    #[test]
    fn a_budget_without_a_limit_of_time_throttles_nothing() {
        for budget in [Budget::default().requests(1, 1), Budget::default().time(MS, MS)] {
            assert_eq!(reserved(1, &account(budget), 1), [None]);
        }
    }
}
