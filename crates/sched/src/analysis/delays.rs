//! Delays of jobs released by events: the responses of the senders, which depend on these delays in
//! turn.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::chain::Chains;
use super::fixed::goes_first;
use super::verdict::{End, Unchained, Verdict};
use super::{DeadlineOutcome, verdicts};
use crate::strategy::Dispatching;
use crate::task::TaskSet;
use crate::time::Nanos;

/// Maximum number of rounds.
const MOST_ROUNDS: u32 = 64;

/// Largest delay of events, in periods; a longer delay is treated as unbounded.
const MOST_PERIODS: u64 = 1_000;

/// Set of tasks with the delays that were computed.
pub(super) struct Settled<'s> {
    /// Set with the delays of all tasks that events release.
    pub(super) set: Cow<'s, TaskSet>,
    /// Flags of the tasks that no unbounded delay affects.
    pub(super) known: Vec<bool>,
    /// Chains; `None` if no events are sent.
    chains: Option<Chains>,
}

/// Computes the delays. Delays and responses grow from round to round until a fixed point is
/// reached.
pub(super) fn settle(set: &TaskSet) -> Settled<'_> {
    let causes = set.causes();
    let mut known = vec![true; set.tasks.len()];
    if causes.iter().all(Vec::is_empty) {
        return Settled { set: Cow::Borrowed(set), known, chains: None };
    }
    let mut set = set.clone();
    let chains = Chains::of(&set, &causes);
    let senders: BTreeSet<usize> = causes.iter().flatten().copied().collect();
    for rounds in 1.. {
        let (verdicts, _) = verdicts(&set);
        let by: HashMap<usize, Option<Nanos>> =
            senders.iter().map(|&cause| (cause, by(&set, &chains, &verdicts[cause]))).collect();
        let mut changed = false;
        for (place, causes) in causes.iter().enumerate() {
            for cause in causes {
                let Some(delay) = by[cause] else {
                    continue;
                };
                changed |= set.tasks[place].delay < delay;
                set.tasks[place].delay = set.tasks[place].delay.max(delay);
            }
        }
        if !changed || rounds == MOST_ROUNDS {
            let bounded = |cause: usize, place: usize| {
                by[&cause].is_some_and(|delay| delay <= set.tasks[place].delay)
            };
            spread(&set, &causes, bounded, &mut known);
            break;
        }
    }
    Settled { set: Cow::Owned(set), known, chains: Some(chains) }
}

impl Settled<'_> {
    /// Returns the ends of chains, with their completion times.
    pub(super) fn ends(&self, verdicts: &[Verdict]) -> Vec<End> {
        let Some(chains) = &self.chains else {
            return Vec::new();
        };
        let sends: HashSet<usize> = self.set.causes().into_iter().flatten().collect();
        let places = (0..self.set.tasks.len()).filter(|place| !sends.contains(place));
        let end = |place: usize| {
            let (steps, firsts) = chains.steps(place)?;
            let by = by(&self.set, chains, &verdicts[place]);
            Some(End { steps, firsts, response: by.filter(|_| self.known[place]) })
        };
        places.filter_map(end).collect()
    }

    /// Returns the last tasks that do not end a chain.
    pub(super) fn unchained(&self) -> Vec<Unchained> {
        let Some(chains) = &self.chains else {
            return Vec::new();
        };
        let sends: HashSet<usize> = self.set.causes().into_iter().flatten().collect();
        let places = (0..self.set.tasks.len()).filter(|place| !sends.contains(place));
        let without = |task: usize| {
            let why = chains.why_not(task)?.clone();
            Some(Unchained { task, why })
        };
        places.filter_map(without).collect()
    }
}

/// Returns the latest completion of a job, from the nominal release by time or by its first cause.
fn by(set: &TaskSet, chains: &Chains, verdict: &Verdict) -> Option<Nanos> {
    let task = &set.tasks[verdict.task];
    let response = match verdict.outcome {
        DeadlineOutcome::Meets => Some(verdict.response.unwrap_or(task.deadline)),
        _ => verdict.response,
    };
    let response = response.map(|response| response.saturating_add(task.delay));
    let whole = chains.bound(set, verdict.task);
    let by = response.into_iter().chain(whole).min();
    let most = task.period.saturating_mul(MOST_PERIODS);
    by.filter(|&by| by <= most)
}

/// Clears `known` for tasks released by unbounded events, for all tasks that they may precede, and
/// for the receivers of their events.
fn spread(
    set: &TaskSet,
    causes: &[Vec<usize>],
    bounded: impl Fn(usize, usize) -> bool,
    known: &mut [bool],
) {
    let mut changed = true;
    while changed {
        changed = false;
        for (place, causes) in causes.iter().enumerate() {
            let lost = causes.iter().any(|&cause| !known[cause] || !bounded(cause, place));
            if !lost {
                continue;
            }
            for (other, task) in set.tasks.iter().enumerate() {
                let own = &set.tasks[place];
                let above = task.level < own.level
                    || task.dispatching == Dispatching::Static && !goes_first(own, task);
                if known[other] && (other == place || !above) {
                    known[other] = false;
                    changed = true;
                }
            }
        }
    }
}
