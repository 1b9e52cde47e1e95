//! Response times where releases have known offsets, so that not all can arrive together (Tindell; Palencia and González).
//!
//! Tasks with the same period whose offsets are known never change their phase to each other. Each such group is tried
//! with each of its members at the critical instant; of other groups the worst is taken at every moment. Safe, and exact
//! where there is one group. Only for full preemption; other models are analysed as if offsets were unknown.

use std::collections::BTreeMap;

use super::fixed::goes_first;
use super::wait::{Bound, Steps, Wait, interference, settle};
use crate::strategy::DispatchModel;
use crate::task::{Task, TaskSet, Utilization, WHOLE, overloads};
use crate::time::Nanos;

/// Jobs of one busy period that are looked at.
const MOST_JOBS: i128 = 10_000;

/// The response time of the task at `at`; `None` where no offset helps.
pub(super) fn response(set: &TaskSet, at: usize, load: &[Utilization]) -> Option<Bound> {
    let own = &set.tasks[at];
    let others = || {
        set.tasks
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != at)
    };
    if set.model != DispatchModel::Urgency
        || set.tasks.iter().any(|task| task.delay > 0)
        || others().any(|(_, task)| task.shares_thread(own))
    {
        return None;
    }
    let mut above: Vec<usize> = Vec::new();
    let mut groups: BTreeMap<Nanos, Vec<usize>> = BTreeMap::new();
    for (place, task) in set.tasks.iter().enumerate() {
        if place == at || !goes_first(task, own) {
            continue;
        }
        above.push(place);
        if task.offset.is_some() {
            groups.entry(task.period).or_default().push(place);
        }
    }
    let with_own = |group: &Vec<usize>, period: Nanos| {
        group.len() + usize::from(period == own.period && own.offset.is_some())
    };
    if !groups
        .iter()
        .any(|(&period, group)| with_own(group, period) > 1)
    {
        return None;
    }
    let share = above.iter().chain([&at]).map(|&place| load[place].0);
    let all = above.iter().chain([&at]).map(|&place| &set.tasks[place]);
    if share.fold(0, u64::saturating_add) > WHOLE.0 && overloads(all.collect::<Vec<_>>()) {
        return Some(Bound::Unbounded);
    }
    let beside = match own.offset {
        Some(_) => groups.remove(&own.period).unwrap_or_default(),
        None => Vec::new(),
    };
    let loose = above
        .iter()
        .copied()
        .filter(|&place| set.tasks[place].offset.is_none());
    let mut others: Vec<Vec<usize>> = groups.into_values().collect();
    others.extend(loose.map(|place| vec![place]));
    let view = View {
        set,
        at,
        beside,
        others,
        steps: Steps::of(set.tasks.len()),
    };
    let candidates = view.beside.iter().copied().chain([at]);
    let mut worst: Option<(Nanos, Nanos)> = None;
    for candidate in candidates {
        match view.busy_period(candidate) {
            Some(found) => worst = worst.max(Some(found)),
            None => return Some(Bound::Unknown),
        }
    }
    let (response, done) = worst?;
    let waits = above.iter().map(|&place| {
        let task = &set.tasks[place];
        Wait::of(place, task, done.div_ceil(task.period))
    });
    Some(Bound::At {
        response,
        blocking: own.blocking,
        blocker: None,
        waits: interference(waits),
    })
}

struct View<'a> {
    set: &'a TaskSet,
    at: usize,
    /// More urgent tasks of the own group.
    beside: Vec<usize>,
    /// The other groups, and tasks alone.
    others: Vec<Vec<usize>>,
    steps: Steps,
}

impl View<'_> {
    /// The worst response with `candidate` of the own group released last at the critical instant, and when that job is
    /// done.
    fn busy_period(&self, candidate: usize) -> Option<(Nanos, Nanos)> {
        let tasks = &self.set.tasks;
        let own = &tasks[self.at];
        let phase = phase(own, &tasks[candidate]);
        let (period, jitter) = (i128::from(own.period), i128::from(own.jitter));
        let first = 1 - (jitter + phase) / period;
        let mut worst = (0, 0);
        for job in first..first + MOST_JOBS {
            let jobs = u128::try_from(job - first + 1).ok()?;
            let base = u128::from(own.blocking) + jobs * u128::from(own.wcet);
            let start = u64::try_from(base).ok()?;
            let done = settle(&self.steps, start, |time| {
                let beside = self
                    .beside
                    .iter()
                    .map(|&place| work(&tasks[place], &tasks[candidate], time));
                let others = self.others.iter().map(|group| self.worst_of(group, time));
                base + beside.chain(others).sum::<u128>()
            })?;
            let nominal = phase + (job - 1) * period;
            let response = u64::try_from(i128::from(done) - nominal).unwrap_or(0);
            worst = worst.max((response, done));
            let next = nominal + period;
            if job >= 0 && next >= i128::from(done) {
                return Some(worst);
            }
        }
        None
    }

    fn worst_of(&self, group: &[usize], time: Nanos) -> u128 {
        let tasks = &self.set.tasks;
        let sums = group.iter().map(|&candidate| {
            let parts = group
                .iter()
                .map(|&place| work(&tasks[place], &tasks[candidate], time));
            parts.sum::<u128>()
        });
        sums.max().unwrap_or(0)
    }
}

/// From the critical instant, at which `candidate` is released as late as it may, to the next nominal release of `task`.
/// In (0, period].
fn phase(task: &Task, candidate: &Task) -> i128 {
    let period = i128::from(task.period);
    let offset = |task: &Task| i128::from(task.offset.unwrap_or(0));
    let since = offset(candidate) + i128::from(candidate.jitter) - offset(task);
    period - since.rem_euclid(period)
}

/// Work of a task that is released by `time` after the critical instant, that which jitter kept until then included.
fn work(task: &Task, candidate: &Task, time: Nanos) -> u128 {
    let phase = phase(task, candidate);
    let (period, jitter) = (i128::from(task.period), i128::from(task.jitter));
    let kept = (jitter + phase) / period;
    let after = i128::from(time) - phase;
    let later = match after > 0 {
        true => (after + period - 1) / period,
        false => 0,
    };
    u128::try_from(kept + later).unwrap_or(0) * u128::from(task.wcet)
}
