//! Response times of tasks with known phases, which cannot all arrive together (Tindell; Palencia
//! and González Harbour).
//!
//! Tasks of one [`Group`] have one period and offsets from one common event: a common start of the
//! whole set, or the release of a flow, with jitter for variations (dynamic offsets). Each member
//! of the own group is tried at the critical instant, released with its full jitter; of every other
//! group the worst member is used at every moment. Safe, and exact if there is one group.
//!
//! For an interval that begins when nothing of a level waits, and for each member, a release
//! belongs to the interval if its nominal time is before the interval's end, and not further before
//! the beginning than jitter. As the phase of the group moves, the work of all members together is
//! greatest just before one of them leaves at the beginning, which is when that one is released
//! with its full jitter. This holds whether the end belongs to the interval or not, so that the
//! start of a non-preemptive request is found in the same way, and then its end, which only
//! interrupting tasks delay.

use std::collections::BTreeMap;

use super::fixed::{Around, around};
use super::wait::{Bound, Steps, Wait, interference, settle};
use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet, Utilization, WHOLE, overloads};
use crate::time::Nanos;

/// Maximum number of jobs analysed in one busy period.
const MOST_JOBS: i128 = 10_000;

/// Common event from which offsets count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// Start of the set, for tasks of this period.
    Start(Nanos),
    /// Release of the flow with this index.
    Flow(usize),
}

/// Nominal release of a task, relative to the event of its group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phase {
    pub(super) group: Group,
    pub(super) offset: Nanos,
}

/// Returns the phases given by declared offsets.
pub(super) fn declared(set: &TaskSet) -> Vec<Option<Phase>> {
    let one = |task: &Task| {
        task.offset
            .filter(|_| is_alone(task))
            .map(|offset| Phase { group: Group::Start(task.period), offset })
    };
    set.tasks.iter().map(one).collect()
}

/// Reports whether a task is released by time alone, once a period.
fn is_alone(task: &Task) -> bool {
    task.burst.is_none() && task.delay == 0 && task.after.is_empty()
}

/// Returns the response time of the task at `at` with its declared offsets; `None` if offsets do
/// not shorten it. Other models than full preemption are analysed as if offsets were unknown.
pub(super) fn response(set: &TaskSet, at: usize, load: &[Utilization]) -> Option<Bound> {
    let own = &set.tasks[at];
    let mut others = set.tasks.iter().enumerate().filter(|(place, _)| *place != at);
    if set.model != DispatchModel::Urgency
        || set.tasks.iter().any(|task| task.delay > 0 || task.burst.is_some())
        || others.any(|(_, task)| task.shares_thread(own))
    {
        return None;
    }
    bound(set, at, &declared(set), load)
}

/// Returns the response time of the task at `at`, whose priority is static, with these phases;
/// `None` if phases do not shorten it.
pub(super) fn bound(
    set: &TaskSet,
    at: usize,
    phases: &[Option<Phase>],
    load: &[Utilization],
) -> Option<Bound> {
    let own = &set.tasks[at];
    if own.dispatching != Dispatching::Static || !is_alone(own) {
        return None;
    }
    let around = around(set, at);
    let mut groups: BTreeMap<Group, Vec<usize>> = BTreeMap::new();
    let mut others: Vec<Vec<usize>> = Vec::new();
    for &place in &around.above {
        match phases[place] {
            Some(phase) => groups.entry(phase.group).or_default().push(place),
            None => others.push(vec![place]),
        }
    }
    let own_group = phases[at].map(|phase| phase.group);
    let beside = own_group.and_then(|group| groups.remove(&group));
    let beside = beside.unwrap_or_default();
    if beside.is_empty() && groups.values().all(|group| group.len() < 2) {
        return None;
    }
    let members = || around.above.iter().chain([&at]);
    let share = members().map(|&place| load[place].0);
    let all = members().map(|&place| &set.tasks[place]);
    if share.fold(0, u64::saturating_add) > WHOLE.0 && overloads(all.collect::<Vec<_>>()) {
        return Some(Bound::Unbounded);
    }
    others.extend(groups.into_values());
    let looks = others.iter().map(|group| group.len() * group.len());
    let looks = looks.sum::<usize>() + beside.len() + 1;
    let view = View {
        tasks: &set.tasks,
        phases,
        at,
        interrupts: (0..set.tasks.len())
            .map(|place| set.interrupts(&set.tasks[place], own))
            .collect(),
        beside,
        others,
        around: &around,
        steps: Steps::of(looks),
    };
    let candidates = view.beside.iter().copied().chain([at]);
    let mut worst: Option<Latest> = None;
    for candidate in candidates {
        match view.busy_period(candidate) {
            Some(found) if worst.is_some_and(|worst| worst.response >= found.response) => {}
            Some(found) => worst = Some(found),
            None => return Some(Bound::Unknown),
        }
    }
    let worst = worst?;
    Some(Bound::At {
        response: worst.response,
        blocking: around.blocking,
        blocker: around.blocker,
        waits: interference(view.waits(worst)),
    })
}

/// Latest job of a busy period.
#[derive(Debug, Clone, Copy)]
struct Latest {
    candidate: usize,
    response: Nanos,
    began: Nanos,
    done: Nanos,
    /// Number of jobs of its own task before it in the busy period.
    before: u64,
}

struct View<'a> {
    tasks: &'a [Task],
    phases: &'a [Option<Phase>],
    at: usize,
    /// Flags by task index: whether a task may interrupt the own one.
    interrupts: Vec<bool>,
    /// More urgent tasks of the own group.
    beside: Vec<usize>,
    /// Members of each other group, and tasks without a group.
    others: Vec<Vec<usize>>,
    around: &'a Around<'a>,
    steps: Steps,
}

impl View<'_> {
    /// Returns the latest job of a busy period with `candidate` of the own group released last at
    /// the critical instant.
    fn busy_period(&self, candidate: usize) -> Option<Latest> {
        let own = &self.tasks[self.at];
        let blocking = u128::from(self.around.blocking);
        let phase = self.phase(self.at, candidate);
        let (period, jitter) = (i128::from(own.period), i128::from(own.jitter));
        let first = 1 - (jitter + phase) / period;
        let busy = match self.around.is_pushed() {
            true => Some(settle(&self.steps, 1, |time| {
                let all = |place| self.within(place, candidate, time);
                blocking
                    + all(self.at)
                    + self.work(candidate, &|place, by| self.within(place, by, time))
            })?),
            false => None,
        };
        // Until the last part of a job begins, more urgent tasks may run, so count the earlier
        // parts as work before the start.
        let earlier_parts = own.wcet - own.part();
        let mut start = self.around.blocking.saturating_add(earlier_parts);
        let mut worst: Option<Latest> = None;
        for job in first..first + MOST_JOBS {
            let before = u64::try_from(job - first).ok()?;
            let base =
                blocking + u128::from(before) * u128::from(own.wcet) + u128::from(earlier_parts);
            let began = settle(&self.steps, start, |time| {
                base + self.work(candidate, &|place, by| self.by(place, by, time))
            })?;
            start = began;
            let part = own.part();
            let done = settle(&self.steps, began.saturating_add(part), |time| {
                let until = |place: usize, by| self.until(place, by, began, time);
                base + u128::from(part) + self.work(candidate, &until)
            })?;
            let nominal = phase + (job - 1) * period;
            let response = u64::try_from(i128::from(done) - nominal).unwrap_or(0);
            if worst.is_none_or(|worst| response > worst.response) {
                worst = Some(Latest { candidate, response, began, done, before });
            }
            let next = nominal + period;
            if job >= 0 && next >= i128::from(busy.unwrap_or(done)) {
                return worst;
            }
        }
        None
    }

    /// Returns the work of all more urgent tasks, with `candidate` of the own group and the worst
    /// member of each other group at the critical instant. `of` returns the work of one task with
    /// another at that instant.
    fn work(&self, candidate: usize, of: &dyn Fn(usize, usize) -> u128) -> u128 {
        let beside = self.beside.iter().map(|&place| of(place, candidate));
        let others = self.others.iter().map(|group| {
            let sum = |&by: &usize| group.iter().map(|&place| of(place, by)).sum::<u128>();
            group.iter().map(sum).max().unwrap_or(0)
        });
        beside.sum::<u128>() + others.sum::<u128>()
    }

    /// Returns the work released by the beginning of a job, or, for tasks that may interrupt it,
    /// before its end.
    fn until(&self, place: usize, candidate: usize, began: Nanos, done: Nanos) -> u128 {
        match self.interrupts[place] {
            true => self.within(place, candidate, done),
            false => self.by(place, candidate, began),
        }
    }

    /// Returns the work of a task released before `time` after the critical instant, including
    /// releases delayed by jitter until then.
    fn within(&self, place: usize, candidate: usize, time: Nanos) -> u128 {
        let task = &self.tasks[place];
        let jobs = match self.phases[place] {
            None => u128::from(task.released_within(time)),
            Some(_) => {
                let phase = self.phase(place, candidate);
                let after = (i128::from(time) - phase).max(0);
                kept(task, phase) + u128::try_from(after).unwrap_or(0).div_ceil(task.period.into())
            }
        };
        jobs * u128::from(task.wcet)
    }

    /// Returns the work as [`within`](Self::within) does, including releases at `time`.
    fn by(&self, place: usize, candidate: usize, time: Nanos) -> u128 {
        let task = &self.tasks[place];
        let jobs = match self.phases[place] {
            None => u128::from(task.released_by(time)),
            Some(_) => {
                let phase = self.phase(place, candidate);
                let after = u128::try_from(i128::from(time) - phase);
                kept(task, phase) + after.map_or(0, |after| after / u128::from(task.period) + 1)
            }
        };
        jobs * u128::from(task.wcet)
    }

    /// Returns the time from the critical instant, where `candidate` is released with its full
    /// jitter, to the next nominal release of the task at `place`; in (0, period].
    fn phase(&self, place: usize, candidate: usize) -> i128 {
        let period = i128::from(self.tasks[place].period);
        let offset = |place: usize| self.phases[place].map_or(0, |phase| i128::from(phase.offset));
        let since = offset(candidate) + i128::from(self.tasks[candidate].jitter) - offset(place);
        period - since.rem_euclid(period)
    }

    /// Returns the waits of the latest job.
    fn waits(&self, latest: Latest) -> impl Iterator<Item = Wait> {
        let Latest { began, done, .. } = latest;
        let until = move |place: usize, by: usize| self.until(place, by, began, done);
        let worst = self.others.iter().flat_map(move |group| {
            let sum = |by: &usize| group.iter().map(|&place| until(place, *by)).sum::<u128>();
            let by = group.iter().copied().max_by_key(sum);
            by.into_iter().flat_map(move |by| group.iter().map(move |&place| (place, by)))
        });
        let beside = self.beside.iter().map(move |&place| (place, latest.candidate));
        let others = beside.chain(worst).map(move |(place, by)| {
            let task = &self.tasks[place];
            let jobs = until(place, by) / u128::from(task.wcet.max(1));
            Wait::of(place, task, u64::try_from(jobs).unwrap_or(u64::MAX))
        });
        let own = Wait::of(self.at, &self.tasks[self.at], latest.before);
        others.chain((latest.before > 0).then_some(own))
    }
}

/// Returns the number of jobs delayed by jitter until the critical instant.
fn kept(task: &Task, phase: i128) -> u128 {
    u128::try_from((i128::from(task.jitter) + phase) / i128::from(task.period)).unwrap_or(0)
}
