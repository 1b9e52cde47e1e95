//! Best-case responses: the earliest completion of a job, and the variation of its completion time.
//!
//! A job always takes at least its time [alone]. After the start-up of a system, a job is also delayed by work that
//! must run before its end regardless of phases: all releases but one, within the response, of a more urgent task that
//! is released exactly once a period (Redell and Sanfridson, "Exact Best-Case Response Time Analysis of Fixed Priority
//! Scheduled Tasks", ECRTS 2002). Only tasks with a known offset are released that regularly: other tasks may be
//! released later, and delay nothing in the best case.

use crate::analysis::fixed::goes_first;
use crate::strategy::Dispatching;
use crate::task::{Task, TaskSet, WHOLE};
use crate::time::{LONGEST, Nanos};

/// Maximum number of rounds; after that, the time alone is the bound.
const MOST_ROUNDS: u32 = 10_000;

/// Returns the shortest time that a job of a task takes alone: a lower bound on its response, always.
pub fn alone(task: &Task) -> Nanos {
    // `bcet` is the time of one request, and a job ends with the last of its requests.
    task.bcet.saturating_mul(task.parts.max(1)).min(task.wcet)
}

/// Returns a lower bound on the response of each task of a set, counted from its release, for jobs
/// that are released after every task was released and the processor was idle once. Holds where all
/// deadlines are met and none is longer than its period.
///
/// Without declared best-case times all bounds are 0. Takes O(n^2) for n tasks and each round.
///
/// ```
/// use oxorb_sched::analysis::best::responses;
/// use oxorb_sched::{Task, TaskSet};
///
/// let task = |name, bcet, period| Task { bcet, offset: Some(0), ..Task::periodic(name, bcet, period) };
/// let set = TaskSet::fixed_priority([task("a", 2, 4), task("b", 3, 12)]);
/// // Whatever its phase, b waits for at least one job of a: between two of them there is time for 2 only.
/// assert_eq!(responses(&set), [2, 5]);
/// ```
pub fn responses(set: &TaskSet) -> Vec<Nanos> {
    let places = 0..set.tasks.len();
    places.map(|place| response(set, place)).collect()
}

/// Returns the bound of [`responses`] for the task at index `at`.
pub fn response(set: &TaskSet, at: usize) -> Nanos {
    let own = &set.tasks[at];
    let alone = alone(own);
    if own.dispatching != Dispatching::Static || alone == 0 {
        return alone;
    }
    let strictly =
        |task: &Task| task.offset.is_some() && task.after.is_empty() && task.burst.is_none();
    let above: Vec<&Task> = set
        .tasks
        .iter()
        .enumerate()
        .filter(|&(place, task)| {
            place != at
                && strictly(task)
                && task.dispatching == Dispatching::Static
                && goes_first(task, own)
                && set.interrupts(task, own)
        })
        .map(|(_, task)| task)
        .collect();
    let work = |task: &Task| u128::from(task.bcet) * u128::from(WHOLE.0) / u128::from(task.period);
    let load = above.iter().map(|task| work(task)).sum::<u128>();
    let Some(rest) = u128::from(WHOLE.0).checked_sub(load).filter(|&rest| rest > 0) else {
        return alone;
    };
    // Search for the greatest fixed point from above. No fixed point is longer than the time alone divided by the
    // share of the processor that more urgent tasks leave.
    let most = (u128::from(alone) * u128::from(WHOLE.0)).div_ceil(rest);
    let mut response = u64::try_from(most).unwrap_or(LONGEST).min(LONGEST);
    for _ in 0..MOST_ROUNDS {
        let more = above.iter().map(|task| {
            // Jitter may delay a release until after the end of the response, so it shortens the window.
            let window = response.saturating_sub(task.late());
            let releases = window.div_ceil(task.period).saturating_sub(1);
            u128::from(releases) * u128::from(task.bcet)
        });
        let next = u128::from(alone) + more.sum::<u128>();
        let next = u64::try_from(next).unwrap_or(Nanos::MAX);
        if next >= response {
            return response;
        }
        response = next;
    }
    alone
}
