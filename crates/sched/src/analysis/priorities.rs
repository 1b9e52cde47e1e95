//! Optimal priority assignment: an order of static priorities under which all deadlines are proved,
//! if one exists.
//!
//! Whether a task meets its deadline depends on which tasks are more urgent, not on their order. So
//! any task that is in time as the least urgent one may be placed last, and the remaining tasks
//! form a smaller problem of the same kind (Audsley, "On Priority Assignment in Fixed Priority
//! Scheduling", Information Processing Letters 79(1), 2001; first in a report of the University of
//! York, 1991).

use super::analyse_one;
use super::verdict::DeadlineOutcome;
use crate::strategy::{DispatchModel, Dispatching};
use crate::task::TaskSet;

/// Reason why there is no optimal order.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoOrder {
    /// The response of a task depends on the order of the more urgent ones: events, shared threads,
    /// or bands of several tasks.
    #[error("no optimal priorities: {0}")]
    Depends(String),
    /// Each order makes one of the named tasks miss its deadline.
    #[error(
        "no static priorities meet all deadlines: none of {} meets its deadline as the least urgent of them",
        .0.join(", ")
    )]
    Never(Vec<String>),
}

impl std::fmt::Debug for NoOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Finds an order, the most urgent task first, with a test of one task below others. An order is
/// found whenever one exists if the result of the test does not depend on the order of the more
/// urgent tasks and never improves with more of them.
///
/// Calls the test at most n (n + 1) / 2 times. If several tasks can be the least urgent one, the last
/// of them in `order` is chosen.
///
/// # Errors
/// Tasks of which none passes as the least urgent one.
pub fn assign(
    order: &[usize],
    mut passes: impl FnMut(usize, &[usize]) -> bool,
) -> Result<Vec<usize>, Vec<usize>> {
    let mut left = order.to_vec();
    let mut below = Vec::new();
    while !left.is_empty() {
        let last = (0..left.len()).rev().find(|&at| {
            let above: Vec<usize> =
                left.iter().copied().filter(|&place| place != left[at]).collect();
            passes(left[at], &above)
        });
        match last {
            Some(at) => below.push(left.remove(at)),
            None => return Err(left),
        }
    }
    below.reverse();
    Ok(below)
}

/// Finds static priorities under which every deadline of a set is proved. Returns the indices of
/// its tasks, the most urgent one first. Optimal for full preemption and for none: an order is
/// found whenever one exists.
///
/// ```
/// use oxorb_sched::analysis::priorities::optimal;
/// use oxorb_sched::{Task, TaskSet};
///
/// // Deadlines beyond periods: shorter deadlines first is not best there.
/// let task = |name, wcet, period, deadline| Task { deadline, ..Task::periodic(name, wcet, period) };
/// let set = TaskSet::fixed_priority([task("a", 52, 100, 110), task("b", 52, 140, 154)]);
/// assert_eq!(optimal(&set)?, [1, 0]);
/// # Ok::<(), oxorb_sched::analysis::priorities::NoOrder>(())
/// ```
///
/// # Errors
/// [`NoOrder`].
pub fn optimal(set: &TaskSet) -> Result<Vec<usize>, NoOrder> {
    check(set)?;
    let mut order: Vec<usize> = (0..set.tasks.len()).collect();
    order.sort_by_key(|&place| (set.tasks[place].level, set.tasks[place].order, place));
    let found = assign(&order, |candidate, above| {
        let rest = order.iter().filter(|place| **place != candidate && !above.contains(place));
        let all: Vec<usize> = above.iter().chain([&candidate]).chain(rest).copied().collect();
        analyse_one(&ordered(set, &all), candidate).outcome == DeadlineOutcome::Meets
    });
    found.map_err(|left| {
        let name = |place: usize| set.tasks[place].name.clone();
        NoOrder::Never(left.into_iter().map(name).collect())
    })
}

/// Checks that the response of a task does not depend on the order of the more urgent ones.
fn check(set: &TaskSet) -> Result<(), NoOrder> {
    let depends = |why: String| Err(NoOrder::Depends(why));
    if set.model == DispatchModel::Band {
        return depends("they need model urgency or non-preemptive; in bands, the order determines which operation \
                        interrupts which".into());
    }
    let mut handles = std::collections::HashSet::new();
    for task in &set.tasks {
        let name = &task.name;
        if !task.after.is_empty() {
            return depends(format!(
                "{name} is released by events, whose delay depends on the order"
            ));
        }
        if task.blocking > 0 {
            return depends(format!(
                "{name} is blocked, and the order determines by which operation"
            ));
        }
        if task.handle.is_some_and(|handle| !handles.insert(handle)) {
            return depends(format!("{name} is one of several streams that share a thread"));
        }
    }
    Ok(())
}

/// Returns the set with static priorities in this order of indices, each task in a separate band unless the model is
/// non-preemptive.
pub fn ordered(set: &TaskSet, order: &[usize]) -> TaskSet {
    let mut set = set.clone();
    for (rank, &place) in order.iter().enumerate() {
        let task = &mut set.tasks[place];
        let rank = u32::try_from(rank).unwrap_or(u32::MAX);
        (task.level, task.order) = (rank, rank);
        task.band = match set.model {
            DispatchModel::NonPreemptive => 0,
            _ => rank,
        };
        task.dispatching = Dispatching::Static;
    }
    set
}
