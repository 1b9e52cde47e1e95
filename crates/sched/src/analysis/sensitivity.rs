//! How much more would fit: the largest execution time of each task with which the set still holds.

use super::analyse;
use crate::task::TaskSet;
use crate::time::Nanos;

/// The longest execution time of the task at `at` with which every deadline that is met now is still met for sure.
///
/// `None` if not every deadline is met now. Found by bisection to the nanosecond: up to 60 analyses of the set.
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

/// By how much all execution times may grow together, in thousandths of what they are: 1,250 means a quarter more.
///
/// `None` if not every deadline is met now.
pub fn scale(set: &TaskSet) -> Option<u64> {
    // Beyond this the first task alone would fill its period.
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

/// The largest number in a range that passes, provided that all below it do.
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
