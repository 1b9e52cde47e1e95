//! Mixed criticality: if operations overrun their worst case, those of high criticality still meet
//! their deadlines, and those of low criticality are dropped.
//!
//! Static priorities with adaptive mixed criticality, analysed by response times (AMC-rtb: Baruah,
//! Burns and Davis, "Response-Time Analysis for Mixed Criticality Systems", RTSS 2011). As long as
//! no job exceeds [`wcet`](Task::wcet), all deadlines are met. The first job that does so makes the
//! system drop all tasks without an [`overrun`](Task::overrun); tasks with one still meet their
//! deadlines with that execution time.

use std::fmt;

use super::fixed::goes_first;
use super::priorities;
use super::wait::{Steps, settle};
use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet, Utilization, WHOLE};
use crate::time::Nanos;

/// Verdict on a task under adaptive mixed criticality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MixedVerdict {
    /// Index of the task in its set.
    pub task: usize,
    /// Upper bound on its response while nothing exceeds its worst case; `None` if beyond the
    /// deadline.
    pub low: Option<Nanos>,
    /// Upper bound on its response after any overrun; `None` for tasks that are dropped then, or
    /// beyond the deadline.
    pub high: Option<Nanos>,
    /// Whether the task is of high criticality: it has an [`overrun`](Task::overrun).
    pub is_high: bool,
}

impl MixedVerdict {
    /// Reports whether the task's deadline is proved: in both modes if it is of high criticality.
    pub fn meets(&self) -> bool {
        self.low.is_some() && (self.high.is_some() || !self.is_high)
    }
}

/// Reason why a set is not analysed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("no analysis of mixed criticality: {what}")]
pub struct MixedUnfit {
    what: String,
}

impl fmt::Debug for MixedUnfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reports whether a task of the set has an overrun, so that this analysis applies.
pub fn is_mixed(set: &TaskSet) -> bool {
    set.tasks.iter().any(|task| task.overrun.is_some())
}

/// Analyses a set under adaptive mixed criticality.
///
/// The test is sufficient and not exact: a task without a bound here may still meet its deadline.
/// Takes O(n^2) for n tasks, in each step.
///
/// ```
/// use oxorb_sched::analysis::mixed::analyse;
/// use oxorb_sched::{Task, TaskSet};
///
/// let high = Task { overrun: Some(4), ..Task::periodic("control", 2, 10) };
/// let set = TaskSet::fixed_priority([high, Task::periodic("display", 5, 10)]);
/// let found = analyse(&set)?;
/// // With control at 4, display would not fit beside it; it is dropped then.
/// assert_eq!((found[0].low, found[0].high), (Some(2), Some(4)));
/// assert_eq!((found[1].low, found[1].high), (Some(7), None));
/// assert!(found.iter().all(|one| one.meets()));
/// # Ok::<(), oxorb_sched::analysis::mixed::MixedUnfit>(())
/// ```
///
/// # Errors
/// [`MixedUnfit`]: the set has non-static priorities, limited preemption, deadlines beyond periods,
/// events, bursts or shared threads.
pub fn analyse(set: &TaskSet) -> Result<Vec<MixedVerdict>, MixedUnfit> {
    check(set)?;
    let set = &*set.overheads.charge(set);
    let steps = Steps::of(set.tasks.len());
    let places = 0..set.tasks.len();
    Ok(places
        .map(|place| {
            let above = set.tasks.iter().enumerate();
            let above = above
                .filter(|&(other, task)| other != place && goes_first(task, &set.tasks[place]));
            let above: Vec<&Task> = above.map(|(_, task)| task).collect();
            judge(&set.tasks[place], place, &above, &steps)
        })
        .collect())
}

/// Finds static priorities under which all deadlines of a set are proved. Returns the indices of
/// the tasks, the most urgent one first, or `None` if no such order exists.
///
/// # Errors
/// [`MixedUnfit`].
pub fn optimal(set: &TaskSet) -> Result<Option<Vec<usize>>, MixedUnfit> {
    check(set)?;
    let set = &*set.overheads.charge(set);
    let steps = Steps::of(set.tasks.len());
    let mut order: Vec<usize> = (0..set.tasks.len()).collect();
    order.sort_by_key(|&place| (set.tasks[place].level, set.tasks[place].order, place));
    let found = priorities::assign(&order, |place, above| {
        let above: Vec<&Task> = above.iter().map(|&other| &set.tasks[other]).collect();
        judge(&set.tasks[place], place, &above, &steps).meets()
    });
    Ok(found.ok())
}

fn judge(own: &Task, place: usize, above: &[&Task], steps: &Steps) -> MixedVerdict {
    let is_high = own.overrun.is_some();
    let mut verdict = MixedVerdict { task: place, low: None, high: None, is_high };
    let demand = |time: Nanos, wcet: Nanos, of: &dyn Fn(&Task, Nanos) -> u128| {
        let above = above.iter().map(|task| of(task, time));
        u128::from(own.blocking) + u128::from(wcet) + above.sum::<u128>()
    };
    let work = |task: &Task, time: Nanos, wcet: Nanos| {
        u128::from(task.released_within(time)) * u128::from(wcet)
    };
    // Deadlines and responses count from the nominal release, so the jitter is subtracted here and
    // added to the response below.
    let limit = own.deadline.saturating_sub(own.jitter);
    let respond = |wcet: Nanos, of: &dyn Fn(&Task, Nanos) -> u128| -> Option<Nanos> {
        let load =
            above.iter().map(|task| Utilization::of_one(task).0).fold(0, u64::saturating_add);
        if load > WHOLE.0.saturating_add(above.len() as u64) {
            return None;
        }
        let found = settle(steps, own.blocking.saturating_add(wcet), |time| {
            match time > limit {
                // The deadline is missed already, so end the search here.
                true => u128::from(time),
                false => demand(time, wcet, of),
            }
        })?;
        (found <= limit).then_some(found)
    };
    let Some(low) = respond(own.wcet, &|task, time| work(task, time, task.wcet)) else {
        return verdict;
    };
    verdict.low = Some(low + own.jitter);
    if let Some(overrun) = own.overrun {
        // Tasks that are dropped release no further jobs once the low mode has ended.
        let high = respond(overrun, &|task, time| match task.overrun {
            Some(overrun) => work(task, time, overrun),
            None => work(task, low.min(time), task.wcet),
        });
        verdict.high = high.map(|high| high + own.jitter);
    }
    verdict
}

fn check(set: &TaskSet) -> Result<(), MixedUnfit> {
    let unfit = |what: String| Err(MixedUnfit { what });
    if set.model != DispatchModel::Urgency {
        return unfit(format!("it needs full preemption (model urgency), not {}", set.model));
    }
    let mut handles = std::collections::HashSet::new();
    for task in &set.tasks {
        let what = match task {
            _ if task.dispatching != Dispatching::Static => {
                "is queued by deadline or laxity, but the analysis needs static priorities (RMS, DM)"
            }
            _ if task.deadline > task.period => "has a deadline beyond its period",
            _ if !task.after.is_empty() => "is released by events",
            _ if task.burst.is_some() => "comes in bursts",
            _ if task.handle.is_some_and(|handle| !handles.insert(handle)) => {
                "has several streams of requests"
            }
            _ => continue,
        };
        return unfit(format!("{} {what}", task.name));
    }
    Ok(())
}
