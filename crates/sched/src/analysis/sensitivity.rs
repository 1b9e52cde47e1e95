//! Sensitivity: the largest execution time and the shortest period of each task with which the set
//! still meets its deadlines.

use super::analyse;
use crate::task::TaskSet;
use crate::time::Nanos;

/// Returns the longest execution time of the task at `at` with which every deadline is still
/// proved.
///
/// Returns `None` if not every deadline is proved now. Bisects to the nanosecond: up to 60 analyses
/// of the set.
///
/// ```
/// use oxorb_sched::analysis::sensitivity::longest;
/// use oxorb_sched::{Task, TaskSet};
///
/// let set = TaskSet::fixed_priority([Task::periodic("a", 1, 4), Task::periodic("b", 2, 8)]);
/// // Beside a, which takes 1 of each 4, b may take 6 of its 8.
/// assert_eq!(longest(&set, 1), Some(6));
/// ```
pub fn longest(set: &TaskSet, at: usize) -> Option<Nanos> {
    let mut tried = set.clone();
    largest(set.tasks[at].wcet, set.tasks[at].deadline, |wcet| {
        tried.tasks[at].wcet = wcet;
        analyse(&tried).is_feasible()
    })
}

/// Returns the shortest period of the task at `at` with which every deadline is still proved. A
/// deadline at or beyond the period moves with it; a shorter one stays.
///
/// Returns `None` if not every deadline is proved now, or if the task has an offset or is released
/// by events, whose senders define its period. Bisects to the nanosecond: up to 60 analyses of the
/// set. With an inexact test, a shorter period than the one found might pass, too.
///
/// ```
/// use oxorb_sched::analysis::sensitivity::shortest_period;
/// use oxorb_sched::{Task, TaskSet};
///
/// let set = TaskSet::fixed_priority([Task::periodic("a", 1, 4), Task::periodic("b", 2, 8)]);
/// // Every 2, a takes half of the processor: b is done after 4.
/// assert_eq!(shortest_period(&set, 0), Some(2));
/// ```
pub fn shortest_period(set: &TaskSet, at: usize) -> Option<Nanos> {
    let task = &set.tasks[at];
    if !task.after.is_empty() || task.offset.is_some() {
        return None;
    }
    let mut tried = set.clone();
    let mut passes = |period: Nanos| {
        let shrunk = &mut tried.tasks[at];
        shrunk.period = period;
        let fits = shrunk.burst.is_none_or(|burst| burst.problem(period).is_none());
        if task.deadline >= task.period {
            let beyond = u128::from(task.deadline) * u128::from(period) / u128::from(task.period);
            shrunk.deadline = u64::try_from(beyond).unwrap_or(Nanos::MAX).max(1);
        }
        fits && analyse(&tried).is_feasible()
    };
    if !passes(task.period) {
        return None;
    }
    let (mut good, mut bad) = (task.period, 0);
    while good - bad > 1 {
        let middle = bad + (good - bad) / 2;
        match passes(middle) {
            true => good = middle,
            false => bad = middle,
        }
    }
    Some(good)
}

/// Returns the factor, in thousandths, by which all execution times may grow together: 1,250 means
/// a quarter more.
///
/// Returns `None` if not every deadline is proved now.
pub fn scale(set: &TaskSet) -> Option<u64> {
    // With a larger factor some task would exceed its deadline even alone.
    let most = set
        .tasks
        .iter()
        .filter(|task| task.wcet > 0)
        .map(|task| (u128::from(task.deadline) * 1_000 / u128::from(task.wcet)) as u64)
        .min()?;
    let mut tried = set.clone();
    largest(1_000, most.max(1_000), |thousandths| {
        for (task, now) in tried.tasks.iter_mut().zip(&set.tasks) {
            let wcet = u128::from(now.wcet) * u128::from(thousandths) / 1_000;
            task.wcet = u64::try_from(wcet).unwrap_or(Nanos::MAX);
        }
        analyse(&tried).is_feasible()
    })
}

/// Returns the largest number in a range that passes; every smaller number must pass as well.
fn largest(least: u64, most: u64, mut passes: impl FnMut(u64) -> bool) -> Option<u64> {
    if !passes(least) {
        return None;
    }
    let (mut good, mut bad) = (least, most.max(least).saturating_add(1));
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        match passes(middle) {
            true => good = middle,
            false => bad = middle,
        }
    }
    Some(good)
}
