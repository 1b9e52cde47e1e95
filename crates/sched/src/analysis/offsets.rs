//! Response times where tasks have known phases to each other, so that not all can arrive together (Tindell; Palencia and
//! González Harbour).
//!
//! Tasks of one [`Group`] have one period and offsets from one common event: a start that the whole set has, or the release of
//! a flow, with jitter for what varies (dynamic offsets). Of the own group each member is tried at the critical instant,
//! released as late as it may; of other groups the worst is taken at every moment. Safe, and exact where there is one group.
//!
//! For an interval that begins when nothing of a level waits, and for each member: releases in it are those of which the
//! nominal one is before its end, and not further before its beginning than jitter. If the phase of the group moves, that is
//! most for all members together just before one of them drops out at the beginning, which is when that one is released as late
//! as it may. The same holds whether the end belongs to the interval or not, so that the start of what cannot be interrupted is
//! found in this way, too, and then its end, which only those delay that may interrupt it.

use std::collections::BTreeMap;

use super::fixed::{Around, around};
use super::wait::{Bound, Steps, Wait, interference, settle};
use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet, Utilization, WHOLE, overloads};
use crate::time::Nanos;

/// Jobs of one busy period that are looked at.
const MOST_JOBS: i128 = 10_000;

/// Common event from which offsets count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// The start of the set, for tasks of this period.
    Start(Nanos),
    /// The release of the flow in this place.
    Flow(usize),
}

/// Nominal release of a task from the event of its group on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phase {
    pub(super) group: Group,
    pub(super) offset: Nanos,
}

/// Returns the phases that declared offsets make.
pub(super) fn declared(set: &TaskSet) -> Vec<Option<Phase>> {
    let one = |task: &Task| {
        task.offset
            .filter(|_| is_alone(task))
            .map(|offset| Phase { group: Group::Start(task.period), offset })
    };
    set.tasks.iter().map(one).collect()
}

/// Reports whether time alone releases a task, once in a period.
fn is_alone(task: &Task) -> bool {
    task.burst.is_none() && task.delay == 0 && task.after.is_empty()
}

/// The response time of the task at `at` with its declared offsets; `None` where none helps. Only for full preemption; other
/// models are analysed as if offsets were unknown.
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

/// The response time of the task at `at`, whose priority is static, with these phases; `None` where none helps.
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

/// The latest job of a busy period.
#[derive(Debug, Clone, Copy)]
struct Latest {
    candidate: usize,
    response: Nanos,
    began: Nanos,
    done: Nanos,
    /// Jobs of its own task before it in the busy period.
    before: u64,
}

struct View<'a> {
    tasks: &'a [Task],
    phases: &'a [Option<Phase>],
    at: usize,
    /// Flags by place: whether a task may interrupt the own one.
    interrupts: Vec<bool>,
    /// More urgent tasks of the own group.
    beside: Vec<usize>,
    /// The other groups, and tasks alone.
    others: Vec<Vec<usize>>,
    around: &'a Around<'a>,
    steps: Steps,
}

impl View<'_> {
    /// The latest job of a busy period with `candidate` of the own group released last at the critical instant.
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
        // Whoever goes first may run before the last part of a job begins.
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

    /// Work of all that goes first, with `candidate` of the own group and the worst member of each other at the critical
    /// instant. `of` is the work of one task with another at that instant.
    fn work(&self, candidate: usize, of: &dyn Fn(usize, usize) -> u128) -> u128 {
        let beside = self.beside.iter().map(|&place| of(place, candidate));
        let others = self.others.iter().map(|group| {
            let sum = |&by: &usize| group.iter().map(|&place| of(place, by)).sum::<u128>();
            group.iter().map(sum).max().unwrap_or(0)
        });
        beside.sum::<u128>() + others.sum::<u128>()
    }

    /// Work released by the beginning of a job, or before its end by what may interrupt it.
    fn until(&self, place: usize, candidate: usize, began: Nanos, done: Nanos) -> u128 {
        match self.interrupts[place] {
            true => self.within(place, candidate, done),
            false => self.by(place, candidate, began),
        }
    }

    /// Work of a task that is released before `time` after the critical instant, that which jitter kept until then included.
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

    /// Returns the work like [`within`](Self::within), with what is released at `time`.
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

    /// Returns the time from the critical instant, at which `candidate` is released as late as it
    /// may, to the next nominal release of the task at `place`. In (0, period].
    fn phase(&self, place: usize, candidate: usize) -> i128 {
        let period = i128::from(self.tasks[place].period);
        let offset = |place: usize| self.phases[place].map_or(0, |phase| i128::from(phase.offset));
        let since = offset(candidate) + i128::from(self.tasks[candidate].jitter) - offset(place);
        period - since.rem_euclid(period)
    }

    /// Returns what the latest job waits for.
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

/// Jobs that jitter kept until the critical instant.
fn kept(task: &Task, phase: i128) -> u128 {
    u128::try_from((i128::from(task.jitter) + phase) / i128::from(task.period)).unwrap_or(0)
}
