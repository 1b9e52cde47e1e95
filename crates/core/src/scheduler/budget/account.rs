//! Accounts of budgets, which record how much of each budget is left and how much was used.

use std::hint::cold_path;

use oxorb_object::{CompletionStatus, SystemException, minor};

use super::bucket::Bucket;
use super::rate::Rate;
use super::rule::{BeyondBudget, Budget, BudgetOf};
use crate::threads::clock;
use crate::threads::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::threads::sync::atomic::{AtomicU8, AtomicU64};

/// Account of a budget. Shared by all threads without locks.
#[derive(Debug)]
pub(crate) struct Account {
    /// Number of the account, by which slots refer to it.
    pub(super) id: u32,
    kind: OwnerKind,
    name: String,
    /// Bit set of the budget's limits: [`RATE`], [`TIME`], [`LONGEST`], and [`PAUSES`]. Stored after the values of the
    /// limits, so that a thread that sees a limit also sees its values.
    limits: AtomicU8,
    beyond: AtomicU8,
    requests: Rate,
    time: Bucket,
    /// Cost of a nanosecond of processor time, as a fixed-point number with 20 fraction bits.
    factor: AtomicU64,
    /// Longest processor time of one request, in nanoseconds.
    longest: AtomicU64,
    /// Processor time per period, and the period, in nanoseconds; 0 for no limit.
    pub(super) share: (AtomicU64, AtomicU64),
    /// Processor time of the budget that throttled threads have reserved, in nanoseconds.
    reserved: AtomicU64,
    pub(super) counts: Counts,
    /// Time of the last report that the budget is exhausted, in nanoseconds of the monotonic clock.
    told: AtomicU64,
}

/// Counts since the account was created.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) served: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) demoted: AtomicU64,
    pub(super) overruns: AtomicU64,
    /// Processor time, in nanoseconds.
    pub(super) cpu: AtomicU64,
}

/// Kind of the budget's owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnerKind {
    Operation,
    Object,
    Poa,
    Client,
}

/// Limit of a budget that is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spent {
    Rate,
    Time,
}

pub(super) const RATE: u8 = 1;
pub(super) const TIME: u8 = 2;
pub(super) const LONGEST: u8 = 4;
/// Whether connections are not read while a rate or a processor time is exhausted.
pub(super) const PAUSES: u8 = 8;

/// Number that stands for no account.
pub(super) const NO_ACCOUNT: u32 = u32::MAX;

/// Bits of a fraction in `factor`.
const FRACTION: u32 = 20;

/// Shortest time between two reports that an account is exhausted, in nanoseconds.
const TELL_AFTER: u64 = 1_000_000_000;

impl Account {
    pub(super) fn new(id: u32, of: &BudgetOf, budget: Budget) -> Account {
        let now = clock::monotonic_nanoseconds();
        let (kind, name) = match of {
            BudgetOf::Operation(name) => (OwnerKind::Operation, name.as_str()),
            BudgetOf::Object(name) => (OwnerKind::Object, name.as_str()),
            BudgetOf::Poa(name) => (OwnerKind::Poa, name.as_str()),
            BudgetOf::Client(name) => (OwnerKind::Client, name.as_str()),
            BudgetOf::EachClient => (OwnerKind::Client, ""),
        };
        let account = Account {
            id,
            kind,
            name: name.to_owned(),
            limits: AtomicU8::new(0),
            beyond: AtomicU8::new(0),
            requests: Rate::default(),
            time: Bucket::default(),
            factor: AtomicU64::new(0),
            longest: AtomicU64::new(u64::MAX),
            share: (AtomicU64::new(0), AtomicU64::new(0)),
            reserved: AtomicU64::new(0),
            counts: Counts::default(),
            told: AtomicU64::new(0),
        };
        account.set(budget, now);
        account
    }

    /// Changes the budget. Past use stays counted, in requests and in processor time.
    pub(super) fn set(&self, budget: Budget, now: u64) {
        let mut limits = 0;
        if let Some(rate) = budget.rate {
            self.requests.set(rate, now);
            limits |= RATE;
        }
        let (time, period) = match budget.share {
            None => (0, 0),
            Some(share) => {
                let (time, period) = (share.time.as_nanos(), share.period.as_nanos());
                let factor = (period << FRACTION).div_ceil(time.max(1));
                let factor = u64::try_from(factor).unwrap_or(u64::MAX);
                let before = self.factor.swap(factor, Relaxed);
                self.time.rescale(now, factor, before);
                self.time.set_depth(period as u64);
                limits |= TIME;
                (time as u64, period as u64)
            }
        };
        self.share.0.store(time, Relaxed);
        self.share.1.store(period, Relaxed);
        let longest = budget.longest.map(|longest| longest.as_nanos() as u64);
        self.longest.store(longest.unwrap_or(u64::MAX), Relaxed);
        if longest.is_some() {
            limits |= LONGEST;
        }
        if budget.beyond == BeyondBudget::Pause && limits & (RATE | TIME) != 0 {
            limits |= PAUSES;
        }
        self.beyond.store(budget.beyond as u8, Relaxed);
        self.limits.store(limits, Release);
    }

    #[inline]
    pub(super) fn limits(&self) -> u8 {
        self.limits.load(Acquire)
    }

    pub(crate) fn beyond(&self) -> BeyondBudget {
        match self.beyond.load(Relaxed) {
            1 => BeyondBudget::Demote,
            2 => BeyondBudget::Throttle,
            3 => BeyondBudget::Pause,
            _ => BeyondBudget::Refuse,
        }
    }

    /// Reports whether requests beyond the budget are refused.
    pub(super) fn refuses(&self) -> bool {
        matches!(self.beyond(), BeyondBudget::Refuse | BeyondBudget::Pause)
    }

    #[inline]
    pub(super) fn longest(&self) -> u64 {
        self.longest.load(Relaxed)
    }

    /// Takes one request if the rate is limited; returns false, and takes nothing, if it is exhausted. Calls `now`,
    /// which reads the clock, only if it needs the time.
    #[inline(always)]
    pub(super) fn take(&self, now: impl FnOnce() -> u64) -> bool {
        self.limits() & RATE == 0 || self.take_request(now)
    }

    /// Gives back what was [taken](Self::take) just before for a request that is not run.
    pub(super) fn put_back(&self, now: u64) {
        if self.limits() & RATE != 0 {
            self.requests.put_back(now);
        }
    }

    /// Takes one request from a limited rate; returns false if it is exhausted. Calls `now` like [`take`](Self::take).
    #[inline(always)]
    pub(super) fn take_request(&self, now: impl FnOnce() -> u64) -> bool {
        self.requests.take(now)
    }

    /// Reports whether the processor time is exhausted.
    #[inline]
    pub(super) fn is_out_of_time(&self, now: u64) -> bool {
        self.time.is_spent(now)
    }

    /// Returns the exhausted limit, if any. Takes nothing.
    #[inline]
    pub(crate) fn spent(&self, now: u64) -> Option<Spent> {
        if self.limits() & TIME != 0 && self.is_out_of_time(now) {
            return Some(Spent::Time);
        }
        self.lacks_request(|| now).then_some(Spent::Rate)
    }

    /// Reports whether the rate is limited and exhausted. Takes nothing; calls `now` like [`take`](Self::take).
    #[inline(always)]
    pub(super) fn lacks_request(&self, now: impl FnOnce() -> u64) -> bool {
        self.limits() & RATE != 0 && self.requests.lacks(now)
    }

    /// Returns the time in nanoseconds until no limit is exhausted, if connections are not read meanwhile; otherwise 0.
    pub(super) fn pauses_for(&self, now: u64) -> u64 {
        let limits = self.limits();
        if limits & PAUSES == 0 {
            return 0;
        }
        let time = if limits & TIME != 0 { self.time.refills_in(now) } else { 0 };
        let rate = match limits & RATE {
            0 => 0,
            _ => self.requests.affords_in(now),
        };
        time.max(rate)
    }

    /// Charges processor time, in nanoseconds.
    #[inline]
    pub(super) fn charge(&self, now: u64, cpu: u64) {
        self.counts.cpu.fetch_add(cpu, Relaxed);
        if self.limits() & TIME != 0 {
            let factor = self.factor.load(Relaxed);
            self.time.charge(now, cost(cpu, factor));
        }
    }

    /// Reserves a part of the budget's processor time for a thread; returns false if less than this part is left.
    pub(super) fn reserve(&self, part: u64) -> bool {
        let whole = self.share.0.load(Relaxed);
        let add = |reserved: u64| reserved.checked_add(part).filter(|sum| *sum <= whole);
        self.reserved.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    /// Releases a part that a thread had reserved.
    pub(super) fn release(&self, part: u64) {
        self.reserved.fetch_sub(part, Relaxed);
    }

    /// Returns the debt, as the time in nanoseconds until it is paid. An account without debt equals a new one.
    pub(super) fn debt(&self, now: u64) -> u64 {
        self.requests.debt(now).max(self.time.debt(now))
    }

    /// Reports whether a report that the account is exhausted is due, and records it as made.
    pub(super) fn is_to_tell(&self, now: u64) -> bool {
        let told = self.told.load(Relaxed);
        (told == 0 || now.saturating_sub(told) >= TELL_AFTER)
            && self.told.compare_exchange(told, now.max(1), Relaxed, Relaxed).is_ok()
    }

    /// Returns the owner, as `client 10.0.0.7`.
    pub(crate) fn subject(&self) -> String {
        let of = match self.kind {
            OwnerKind::Operation => BudgetOf::Operation,
            OwnerKind::Object => BudgetOf::Object,
            OwnerKind::Poa => BudgetOf::Poa,
            OwnerKind::Client => BudgetOf::Client,
        };
        of(self.name.clone()).to_string()
    }

    /// Returns the exception of a request beyond the budget.
    pub(super) fn refusal(&self, spent: Spent) -> SystemException {
        use minor::transient as code;
        let minor = match (self.kind, spent) {
            (OwnerKind::Operation, Spent::Rate) => code::OPERATION_RATE,
            (OwnerKind::Operation, Spent::Time) => code::OPERATION_TIME,
            (OwnerKind::Object, Spent::Rate) => code::OBJECT_RATE,
            (OwnerKind::Object, Spent::Time) => code::OBJECT_TIME,
            (OwnerKind::Poa, Spent::Rate) => code::POA_RATE,
            (OwnerKind::Poa, Spent::Time) => code::POA_TIME,
            (OwnerKind::Client, Spent::Rate) => code::CLIENT_RATE,
            (OwnerKind::Client, Spent::Time) => code::CLIENT_TIME,
        };
        SystemException::transient(minor, CompletionStatus::No)
    }
}

/// Returns the cost of processor time, in nanoseconds: `cpu * factor` without its fraction, rounded up.
#[inline(always)]
fn cost(cpu: u64, factor: u64) -> u64 {
    let product = u128::from(cpu) * u128::from(factor);
    match u64::try_from(product) {
        Ok(product) => product.div_ceil(1 << FRACTION),
        Err(_) => {
            cold_path();
            u64::try_from(product.div_ceil(1 << FRACTION)).unwrap_or(u64::MAX)
        }
    }
}

impl Spent {
    pub(super) fn name(self) -> &'static str {
        match self {
            Spent::Rate => "rate of requests",
            Spent::Time => "processor time",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn of(budget: Budget) -> Account {
        Account::new(0, &BudgetOf::Client("10.0.0.7".into()), budget)
    }

    #[test]
    fn processor_time_comes_back_at_its_share() {
        let ms = Duration::from_millis;
        let account = of(Budget::default().time(ms(20), ms(100)));
        account.charge(0, 19_999_999);
        assert_eq!(account.spent(0), None);
        account.charge(0, 1);
        assert_eq!(account.spent(0), Some(Spent::Time));
        // Processor time is refilled at one fifth of the elapsed time, so the two charges of 20 ms take 200 ms in all.
        account.charge(0, 20_000_000);
        assert_eq!(account.spent(99_999_999), Some(Spent::Time));
        assert_eq!(account.spent(100_000_001), None);
        assert_eq!(account.counts.cpu.load(Relaxed), 40_000_000);
    }

    #[test]
    fn a_pause_lasts_until_the_next_request_is_within_the_budget() {
        let ms = Duration::from_millis;
        for budget in [
            Budget::default().requests(3, 2),
            Budget::default().time(ms(20), ms(100)),
            Budget::default().time(ms(20), ms(100)).requests(1_000, 1),
        ] {
            let account = of(budget.beyond(BeyondBudget::Pause));
            assert_eq!(account.pauses_for(5), 0, "{budget}");
            while account.spent(5).is_none() {
                account.take(|| 5);
                account.charge(5, 3_333_333);
            }
            let until = 5 + account.pauses_for(5);
            assert!(account.spent(until - 1).is_some(), "{budget}");
            assert!(account.spent(until).is_none(), "{budget}");
            assert_eq!(account.pauses_for(until), 0, "{budget}");
            account.set(budget, until - 1);
            assert_eq!(account.pauses_for(until - 1), 0, "{budget}");
        }
        let longest = of(Budget::default().longest(ms(1)).beyond(BeyondBudget::Pause));
        longest.charge(0, u64::MAX);
        assert_eq!(longest.pauses_for(0), 0, "no limit of it refills");
    }

    #[test]
    fn a_cost_that_exceeds_its_type_is_charged_as_the_largest_one() {
        let (time, period) = (Duration::from_nanos(1), Duration::from_secs(3600));
        let account = of(Budget::default().time(time, period));
        // The cost in nanoseconds is a multiple of 2^64.
        account.charge(0, 1 << 51);
        assert_eq!(account.spent(0), Some(Spent::Time));
    }

    #[test]
    fn a_cost_is_rounded_up() {
        let one = 1 << FRACTION;
        for (cpu, factor, expected) in [
            (0, one, 0),
            (7, one, 7),
            (7, one + 1, 8),
            (1, 1, 1),
            // The products have 64 bits, and one more.
            (1 << 43, one, 1 << 43),
            ((1 << 44) - 1, one, (1 << 44) - 1),
            (1 << 44, one, 1 << 44),
            (1 << 44, one + 1, (1 << 44) + (1 << 24)),
            ((1 << 44) + 1, one + 1, (1 << 44) + (1 << 24) + 2),
            (u64::MAX, one, u64::MAX),
            (u64::MAX, one + 1, u64::MAX),
        ] {
            assert_eq!(cost(cpu, factor), expected, "{cpu} * {factor}");
        }
    }

    #[test]
    fn a_look_takes_nothing_and_says_what_taking_would() {
        let account = of(Budget::default().requests(1_000, 3));
        for now in [0, 1, 500_000, 1_000_000, 7_777_777] {
            while account.take_request(|| now) {}
            let mut later = now;
            while account.spent(later).is_some() {
                later += 1_000;
                assert!(later < now + 5_000_000);
            }
            assert!(account.spent(later).is_none());
            assert!(account.take_request(|| later), "at {later} after {now}");
        }
    }

    #[test]
    fn a_changed_budget_keeps_what_was_used() {
        let ms = Duration::from_millis;
        let account = of(Budget::default().time(ms(20), ms(100)));
        account.charge(0, 40_000_000);
        assert_eq!(account.spent(99_999_999), Some(Spent::Time));
        // With 50 ms per 100 ms, the 40 ms that were used are a debt of 80 ms, below the depth of 100 ms. With 20 ms
        // per 100 ms, they are a debt of 200 ms again.
        account.set(Budget::default().time(ms(50), ms(100)), 0);
        assert_eq!(account.spent(0), None);
        account.set(Budget::default().time(ms(20), ms(100)), 0);
        assert_eq!(account.spent(99_999_999), Some(Spent::Time));
        assert_eq!(account.spent(100_000_001), None);
        account.set(Budget::default(), 0);
        assert_eq!(account.spent(0), None, "nothing is limited any more");
    }

    #[test]
    fn the_answer_names_the_limit() {
        let account = of(Budget::default());
        assert_eq!(account.refusal(Spent::Rate).minor, minor::transient::CLIENT_RATE);
        assert_eq!(account.subject(), "client 10.0.0.7");
    }
}
