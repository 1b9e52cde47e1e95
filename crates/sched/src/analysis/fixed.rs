//! Exact response times under fixed priorities, with jitter, blocking, and the preemption of the
//! dispatching model.
//!
//! The analysis follows the busy period of a task job by job: a job starts when all more urgent
//! work that has arrived is done; its end is delayed only by tasks that may interrupt it. With full
//! preemption this is the analysis of Joseph and Pandya, with jitter and busy periods as by
//! Tindell; without preemption, that of George, Rivierre and Spuri; between the two, that of
//! preemption thresholds (Wang and Saksena).

use super::wait::{Bound, Steps, Wait, interference, settle};
use crate::task::{Task, TaskSet, Utilization, WHOLE, overloads};
use crate::time::Nanos;

/// Maximum number of jobs analysed in one busy period.
const MOST_JOBS: u64 = 100_000;

/// Competing tasks as seen by one task.
pub(super) struct Around<'a> {
    own: &'a Task,
    /// Tasks that go first, by index.
    pub(super) above: Vec<usize>,
    /// Tasks among them that may interrupt.
    interrupting: Vec<usize>,
    /// Longest request that may have begun just before and cannot be interrupted.
    pub(super) blocking: Nanos,
    pub(super) blocker: Option<usize>,
}

impl Around<'_> {
    /// Reports whether non-preemptive work may be pushed into the next job; otherwise a busy period
    /// ends with the first job that is done before the next arrives.
    pub(super) fn is_pushed(&self) -> bool {
        self.interrupting.len() < self.above.len() || self.blocker.is_some()
    }
}

/// Reports whether `one` may precede `other` when both wait. Requests of one operation run in order
/// of arrival.
pub(super) fn goes_first(one: &Task, other: &Task) -> bool {
    (one.level, one.order) < (other.level, other.order) || one.shares_thread(other)
}

pub(super) fn around(set: &TaskSet, at: usize) -> Around<'_> {
    let own = &set.tasks[at];
    let mut found = Around {
        own,
        above: Vec::new(),
        interrupting: Vec::new(),
        blocking: own.blocking,
        blocker: None,
    };
    let mut longest = 0;
    for (place, other) in set.tasks.iter().enumerate() {
        if place == at {
            continue;
        }
        if goes_first(other, own) {
            found.above.push(place);
            if set.interrupts(other, own) {
                found.interrupting.push(place);
            }
        } else if !set.interrupts(own, other) && other.part().saturating_sub(1) > longest {
            // The blocking request began at least one nanosecond before, so it has at most the rest
            // to run.
            longest = other.part() - 1;
            found.blocker = Some(place);
        }
    }
    found.blocking = found.blocking.saturating_add(longest);
    found
}

/// Returns the worst response time of the task at `at`, measured from its nominal release. `load`
/// has the utilisation of each task of the set.
pub(super) fn response(set: &TaskSet, at: usize, load: &[Utilization]) -> Bound {
    response_within(set, at, load, &Steps::of(set.tasks.len()))
}

/// Returns what [`response`] does, in at most these steps.
pub(super) fn response_within(
    set: &TaskSet,
    at: usize,
    load: &[Utilization],
    steps: &Steps,
) -> Bound {
    let around = around(set, at);
    let share = around.above.iter().chain([&at]).map(|&place| load[place].0);
    let members = || around.above.iter().chain([&at]).map(|&place| &set.tasks[place]);
    if share.fold(0, u64::saturating_add) > WHOLE.0 && overloads(members().collect::<Vec<_>>()) {
        return Bound::Unbounded;
    }
    let Around { own, blocking, .. } = around;
    let tasks = &set.tasks;
    let busy = match around.is_pushed() {
        true => {
            let start = members().fold(blocking, |sum, task| sum.saturating_add(task.wcet));
            match settle(steps, start, |busy| {
                let jobs =
                    members().map(|task| u128::from(task_jobs(task, busy)) * u128::from(task.wcet));
                u128::from(blocking) + jobs.sum::<u128>()
            }) {
                Some(busy) => Some(busy),
                None => return Bound::Unknown,
            }
        }
        false => None,
    };
    let mut worst = Bound::Unknown;
    let mut latest = 0;
    // Until the last part of a job begins, more urgent tasks may run, so count the earlier parts as
    // work before the start.
    let earlier_parts = own.wcet - own.part();
    let mut start = blocking.saturating_add(earlier_parts);
    for job in 0..MOST_JOBS {
        let before = u128::from(job) * u128::from(own.wcet) + u128::from(earlier_parts);
        let began = settle(steps, start, |time| {
            let above = around.above.iter().map(|&place| &tasks[place]);
            // Count more urgent jobs that arrive at this very moment, because they go first as
            // well.
            let jobs = above.map(|task| u128::from(arrived(task, time)) * u128::from(task.wcet));
            u128::from(blocking) + before + jobs.sum::<u128>()
        });
        let Some(began) = began else {
            return Bound::Unknown;
        };
        start = began;
        let done = settle(steps, began.saturating_add(own.part()), |time| {
            let jobs = around.interrupting.iter().map(|&place| {
                let task = &tasks[place];
                let since = task_jobs(task, time).saturating_sub(arrived(task, began));
                u128::from(since) * u128::from(task.wcet)
            });
            u128::from(began) + u128::from(own.part()) + jobs.sum::<u128>()
        });
        let Some(done) = done else {
            return Bound::Unknown;
        };
        let released = own.earliest(job);
        // A job released by events arrives no earlier than the busy period begins, and its response
        // counts from that arrival. Only jitter can place its nominal release before the busy
        // period.
        let response = match u128::from(own.late()).checked_sub(released) {
            Some(early) => u128::from(done) + early.min(own.jitter.into()),
            None => (u128::from(done) + u128::from(own.late())).saturating_sub(released),
        };
        let response = u64::try_from(response).unwrap_or(Nanos::MAX);
        if response > latest || job == 0 {
            latest = response;
            let waits = around.above.iter().map(|&place| {
                let task = &tasks[place];
                let jobs = match set.interrupts(task, own) {
                    true => task_jobs(task, done).max(arrived(task, began)),
                    false => arrived(task, began),
                };
                Wait::of(place, task, jobs)
            });
            worst = Bound::At {
                response,
                blocking,
                blocker: around.blocker,
                waits: interference(waits.chain(own_earlier(at, own, job))),
            };
        }
        let next = own.earliest(job + 1);
        let next = next.saturating_sub(u128::from(own.late()));
        let over = match busy {
            Some(busy) => next >= u128::from(busy),
            None => u128::from(done) <= next,
        };
        if over {
            return worst;
        }
    }
    Bound::Unknown
}

/// Returns the number of jobs of a task that arrive before `time` when one arrives at 0 with its
/// full jitter.
pub(super) fn task_jobs(task: &Task, time: Nanos) -> u64 {
    task.released_within(time)
}

/// Returns the number of jobs that arrive up to and at `time`.
pub(super) fn arrived(task: &Task, time: Nanos) -> u64 {
    task.released_by(time)
}

fn own_earlier(at: usize, own: &Task, job: u64) -> Option<Wait> {
    (job > 0).then(|| Wait::of(at, own, job))
}
