//! By how much events release jobs late: the responses of what sends them, which depend on these delays in turn.

use std::borrow::Cow;

use super::fixed::goes_first;
use super::verdict::Verdict;
use super::{Outcome, verdicts};
use crate::strategy::Dispatching;
use crate::task::TaskSet;
use crate::time::Nanos;

/// Rounds before giving up.
const MOST_ROUNDS: u32 = 64;

/// Periods by which events may be late before they count as having no bound.
const MOST_PERIODS: u64 = 1_000;

/// Returns the set with the delays of all that events release, and which tasks are not touched by a delay without a bound.
///
/// Delays grow from round to round until none changes any more, as do responses with them.
pub(super) fn settle(set: &TaskSet) -> (Cow<'_, TaskSet>, Vec<bool>) {
    let causes = set.causes();
    let mut known = vec![true; set.tasks.len()];
    if causes.iter().all(Vec::is_empty) {
        return (Cow::Borrowed(set), known);
    }
    let mut set = set.clone();
    for rounds in 1.. {
        let (verdicts, _) = verdicts(&set);
        let mut changed = false;
        for (place, causes) in causes.iter().enumerate() {
            for &cause in causes {
                let Some(delay) = by(&set, &verdicts[cause]) else {
                    continue;
                };
                changed |= set.tasks[place].delay < delay;
                set.tasks[place].delay = set.tasks[place].delay.max(delay);
            }
        }
        if !changed || rounds == MOST_ROUNDS {
            let bounded = |cause: usize, place: usize| {
                let delay = by(&set, &verdicts[cause]);
                delay.is_some_and(|delay| delay <= set.tasks[place].delay)
            };
            spread(&set, &causes, bounded, &mut known);
            break;
        }
    }
    (Cow::Owned(set), known)
}

/// When a job is done at the latest, from the moment at which time or the first of its causes would have released it.
fn by(set: &TaskSet, verdict: &Verdict) -> Option<Nanos> {
    let task = &set.tasks[verdict.task];
    let response = match verdict.outcome {
        Outcome::Meets => verdict.response.unwrap_or(task.deadline),
        _ => verdict.response?,
    };
    let most = task.period.saturating_mul(MOST_PERIODS);
    Some(response.saturating_add(task.delay)).filter(|&by| by <= most)
}

/// A task whose events have no bound touches all that it may go before, and all that these send events to.
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
            let lost = causes
                .iter()
                .any(|&cause| !known[cause] || !bounded(cause, place));
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
