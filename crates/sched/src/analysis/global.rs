//! Several processors that share one queue: a job runs on any free processor, and migrates when
//! preempted.
//!
//! The tests are sufficient and not exact: [`DeadlineOutcome::Meets`] is a proof, any other outcome proves
//! nothing. No critical instant is known for several processors, and light tasks can make a heavy
//! one late at any load above one processor (Dhall and Liu, "On a Real-Time Scheduling Problem",
//! Operations Research 26(1), 1978). So a set refused here may fit if tasks are [assigned to
//! processors](super::partition).
//!
//! - The density test proves EDF: the sum of C / min(D, T) is at most m - (m - 1) times the
//!   largest of them (Goossens, Funk and Baruah 2003).
//! - The response-time test proves both policies; it uses the slack of each task in the bound on
//!   its carry-in (Bertogna and Cirinei 2007).
//!
//! The first round of the second test is that of Bertogna, Cirinei and Lipari (2005). In full:
//! Goossens, Funk and Baruah, "Priority-Driven Scheduling of Periodic Task Systems on
//! Multiprocessors", Real-Time Systems 25(2-3), 2003; Bertogna, Cirinei and Lipari, "Improved
//! Schedulability Analysis of EDF on Multiprocessor Platforms", ECRTS 2005; Bertogna and Cirinei,
//! "Response-Time Analysis for Globally Scheduled Symmetric Multiprocessor Platforms", RTSS 2007.

use std::fmt;

use super::DeadlineOutcome;
use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet};
use crate::time::Nanos;

/// Order of the queue that the processors share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GlobalPolicy {
    /// Static order of the set.
    FixedPriority,
    /// Earliest deadline first.
    Deadline,
}

impl fmt::Display for GlobalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            GlobalPolicy::FixedPriority => "global fixed priority",
            GlobalPolicy::Deadline => "global EDF",
        })
    }
}

/// Test that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Test {
    /// Density bound of Goossens, Funk and Baruah.
    Density,
    /// Response times of Bertogna and Cirinei.
    ResponseTime,
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Test::Density => "density bound of Goossens, Funk and Baruah",
            Test::ResponseTime => "response times of Bertogna and Cirinei",
        })
    }
}

/// Verdict on a task that runs on processors with a shared queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalVerdict {
    /// Index of the task in its set.
    pub task: usize,
    /// [`DeadlineOutcome::Meets`], or [`DeadlineOutcome::Unproven`]; [`DeadlineOutcome::Misses`] if the task alone
    /// takes longer than its deadline.
    pub outcome: DeadlineOutcome,
    /// Upper bound on its response; `None` if no bound lies within the deadline.
    pub response: Option<Nanos>,
}

/// Report on a set of tasks that run on processors with a shared queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalReport {
    /// Order of the shared queue.
    pub policy: GlobalPolicy,
    /// Number of processors that share it.
    pub processors: usize,
    /// Verdicts by task.
    pub verdicts: Vec<GlobalVerdict>,
    /// Test that proved all deadlines; `None` if not all are proved.
    pub proved_by: Option<Test>,
}

impl GlobalReport {
    /// Reports whether every deadline is proved.
    pub fn is_feasible(&self) -> bool {
        let mut verdicts = self.verdicts.iter();
        verdicts.all(|verdict| verdict.outcome == DeadlineOutcome::Meets)
    }

    /// Reports whether every deadline of the critical set is proved.
    pub fn protects_critical(&self, set: &TaskSet) -> bool {
        let mut verdicts = self.verdicts.iter();
        verdicts.all(|verdict| {
            verdict.outcome == DeadlineOutcome::Meets || !set.tasks[verdict.task].critical
        })
    }
}

/// Reason for which a set cannot be analysed on processors with a shared queue.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GlobalUnfit {
    /// A job does not run as soon as it is among the most urgent ones: the model is not fully
    /// preemptive.
    #[error(
        "no analysis of processors with a shared queue: it needs full preemption (model urgency), not {0}"
    )]
    Model(DispatchModel),
    /// The named task has a property that these tests do not support, described by the second text.
    #[error("no analysis of processors with a shared queue: {0} has {1}")]
    Task(String, &'static str),
    /// A queue is ordered by laxity, or there are several queues that are not all static.
    #[error(
        "no analysis of processors with a shared queue: \
         it needs static priorities (RMS, DM) or one queue by deadline (EDF)"
    )]
    Queues,
}

impl fmt::Debug for GlobalUnfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Maximum number of rounds in which slack may still grow.
const MOST_ROUNDS: u32 = 100;

/// Maximum number of steps towards one response time.
const MOST_STEPS: u32 = 10_000;

/// Analyses tasks on processors that share one queue.
///
/// Treats offsets as unknown. Takes O(n^2) for n tasks, in each step, and under EDF in each round.
///
/// ```
/// use oxorb_sched::analysis::global::{GlobalPolicy, analyse};
/// use oxorb_sched::{Task, TaskSet};
///
/// let set = TaskSet::fixed_priority([("a", 2, 6), ("b", 2, 6), ("c", 3, 8)].map(|(name, wcet, period)| {
///     Task::periodic(name, wcet, period)
/// }));
/// let report = analyse(&set, 2)?;
/// assert_eq!(report.policy, GlobalPolicy::FixedPriority);
/// assert!(report.is_feasible());
/// # Ok::<(), oxorb_sched::analysis::global::GlobalUnfit>(())
/// ```
///
/// # Errors
/// [`GlobalUnfit`].
pub fn analyse(set: &TaskSet, processors: usize) -> Result<GlobalReport, GlobalUnfit> {
    let policy = policy(set)?;
    let set = &*set.overheads.charge(set);
    let bounds = match policy {
        GlobalPolicy::FixedPriority => by_priority(set, processors),
        GlobalPolicy::Deadline => by_deadline(set, processors),
    };
    let dense = policy == GlobalPolicy::Deadline && density(&set.tasks, processors);
    let tasks = set.tasks.iter().enumerate();
    let verdicts: Vec<GlobalVerdict> = tasks
        .map(|(place, task)| GlobalVerdict {
            task: place,
            outcome: match bounds[place] {
                _ if task.wcet > task.deadline => DeadlineOutcome::Misses,
                Some(_) => DeadlineOutcome::Meets,
                None if dense => DeadlineOutcome::Meets,
                None => DeadlineOutcome::Unproven,
            },
            response: bounds[place],
        })
        .collect();
    let proved_by = match bounds.iter().all(Option::is_some) {
        true => Some(Test::ResponseTime),
        false => dense.then_some(Test::Density),
    };
    Ok(GlobalReport { policy, processors, verdicts, proved_by })
}

fn policy(set: &TaskSet) -> Result<GlobalPolicy, GlobalUnfit> {
    if set.model != DispatchModel::Urgency {
        return Err(GlobalUnfit::Model(set.model));
    }
    for task in &set.tasks {
        let what = match task {
            _ if !task.after.is_empty() => "events that release it",
            _ if task.late() > 0 => "jitter",
            _ if task.burst.is_some() => "bursts",
            _ if task.blocking > 0 => "blocking, or critical sections",
            _ if task.parts > 1 => "several requests in a job, or threads",
            _ if task.deadline > task.period => "a deadline beyond its period",
            _ => continue,
        };
        return Err(GlobalUnfit::Task(task.name.clone(), what));
    }
    let mut handles = std::collections::HashSet::new();
    for task in &set.tasks {
        if task.handle.is_some_and(|handle| !handles.insert(handle)) {
            return Err(GlobalUnfit::Task(task.name.clone(), "several streams of requests"));
        }
    }
    let all = |dispatching| set.tasks.iter().all(|task| task.dispatching == dispatching);
    let one_level = set.tasks.iter().all(|task| task.level == 0);
    match () {
        () if all(Dispatching::Static) => Ok(GlobalPolicy::FixedPriority),
        () if all(Dispatching::Deadline) && one_level => Ok(GlobalPolicy::Deadline),
        () => Err(GlobalUnfit::Queues),
    }
}

/// Reports whether the density bound proves EDF on `processors` processors. Rounding errors never make it
/// prove too much.
pub fn density(tasks: &[Task], processors: usize) -> bool {
    const WHOLE: u128 = 1 << 60;
    if processors == 0 {
        return tasks.is_empty();
    }
    let of = |task: &Task| {
        let within = u128::from(task.deadline.min(task.period).max(1));
        (u128::from(task.wcet) * WHOLE).div_ceil(within)
    };
    let largest = tasks.iter().map(of).max().unwrap_or(0);
    let sum = tasks.iter().map(of).fold(0, u128::saturating_add);
    let processors = processors as u128;
    let left =
        (processors.saturating_mul(WHOLE)).checked_sub((processors - 1).saturating_mul(largest));
    largest <= WHOLE && left.is_some_and(|left| sum <= left)
}

/// Returns the longest time for which jobs of a task run in a window, if each is done within `by`
/// of its release: the first begins as late as it may, the others at their releases (Bertogna and
/// Cirinei 2007, equation 4).
fn workload(task: &Task, by: Nanos, window: Nanos) -> u128 {
    let (wcet, period) = (u128::from(task.wcet), u128::from(task.period));
    let reach = (u128::from(window) + u128::from(by)).saturating_sub(wcet);
    let whole = reach / period;
    whole * wcet + wcet.min(reach - whole * period)
}

/// Returns the least response that the bounds on the work of other tasks allow, if it lies within
/// the deadline. `work` returns these bounds for a response; they never fall as it grows.
///
/// During the time `left` for which the job waits at most, all processors run other jobs, and no
/// task counts for more than `left + 1` (Bertogna and Cirinei 2007, theorem 7). The next response
/// follows from the work of one step directly, however fine the unit of time.
fn settle(task: &Task, processors: usize, work: impl Fn(Nanos) -> Vec<u128>) -> Option<Nanos> {
    let mut response = task.wcet;
    for _ in 0..MOST_STEPS {
        if response > task.deadline {
            return None;
        }
        let others = work(response);
        let fits = |left: u128| {
            let run: u128 = others.iter().map(|&work| work.min(left + 1)).sum();
            run < (left + 1).saturating_mul(processors as u128)
        };
        let now = u128::from(response - task.wcet);
        if fits(now) {
            return Some(response);
        }
        let most = u128::from(task.deadline - task.wcet);
        if !fits(most) {
            return None;
        }
        // If the work does not fit in some time, it does not fit in any shorter time, so bisection is
        // valid.
        let (mut bad, mut good) = (now, most);
        while good - bad > 1 {
            let middle = bad + (good - bad) / 2;
            match fits(middle) {
                true => good = middle,
                false => bad = middle,
            }
        }
        response = task.wcet + u64::try_from(good).ok()?;
    }
    None
}

fn by_priority(set: &TaskSet, processors: usize) -> Vec<Option<Nanos>> {
    let mut bounds = vec![None; set.tasks.len()];
    if processors == 0 {
        return bounds;
    }
    let mut order: Vec<usize> = (0..set.tasks.len()).collect();
    order.sort_by_key(|&place| (set.tasks[place].level, set.tasks[place].order, place));
    let mut above: Vec<(&Task, Nanos)> = Vec::new();
    for place in order {
        let task = &set.tasks[place];
        let work = |response: Nanos| {
            let of = above.iter().map(|&(other, by)| workload(other, by, response));
            of.collect()
        };
        match settle(task, processors, work) {
            Some(response) => {
                bounds[place] = Some(response);
                above.push((task, response));
            }
            // This task may be late, so its carry-in to the windows of less urgent tasks has no bound,
            // and neither have they.
            None => return bounds,
        }
    }
    bounds
}

fn by_deadline(set: &TaskSet, processors: usize) -> Vec<Option<Nanos>> {
    let tasks = &set.tasks;
    let mut by: Vec<Nanos> = tasks.iter().map(|task| task.deadline).collect();
    let mut bounds = vec![None; tasks.len()];
    if processors == 0 {
        return bounds;
    }
    for _ in 0..MOST_ROUNDS {
        let mut changed = false;
        for (place, task) in tasks.iter().enumerate() {
            let work = |response: Nanos| {
                let others = tasks.iter().zip(&by).enumerate();
                let others = others.filter(|(other, _)| *other != place);
                let of = others.map(|(_, (other, &by))| {
                    let limit = within_deadline(other, by, task.deadline);
                    workload(other, by, response).min(limit)
                });
                of.collect()
            };
            bounds[place] = settle(task, processors, work);
            if let Some(response) = bounds[place].filter(|&response| response < by[place]) {
                (by[place], changed) = (response, true);
            }
        }
        if !changed {
            break;
        }
    }
    // Each bound assumes that all other tasks meet their deadlines, so either all tasks are proved or
    // none.
    if bounds.iter().any(Option::is_none) {
        bounds.fill(None);
    }
    bounds
}

/// Returns the longest time for which jobs of a task with deadlines no later than a job's run after
/// its release (Bertogna and Cirinei 2007, equation 8).
fn within_deadline(task: &Task, by: Nanos, deadline: Nanos) -> u128 {
    let (wcet, slack) = (u128::from(task.wcet), task.deadline.saturating_sub(by));
    let (whole, rest) = (deadline / task.period, deadline % task.period);
    u128::from(whole) * wcet + wcet.min(u128::from(rest.saturating_sub(slack)))
}
