//! Response times in queues that are ordered by deadline or laxity.
//!
//! Jobs that wait in such a queue never change their order: deadlines are fixed, and the laxities
//! of waiting jobs, none of which has begun, fall alike. So each job has a fixed key, its deadline
//! or its latest start, by which the queue is ordered. The worst response is found by trying the
//! arrivals at which keys meet, that is, at which the keys of two jobs are equal (Spuri; George,
//! Rivierre and Spuri). With laxity and full preemption the order is not fixed, as the laxity of
//! the running job stays constant.

use super::fixed::{arrived, task_jobs};
use super::verdict::Method;
use super::wait::{Bound, Steps, Wait, interference, settle};
use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet, Utilization, WHOLE, overloads};
use crate::time::Nanos;

/// Limit on the steps of one analysis over all tasks and arrivals; beyond it, only the length of
/// the busy period is used as the bound.
const MOST_WORK: u128 = 5_000_000;

/// Returns the key of a task's jobs relative to their arrival; the job with the smaller key goes
/// first.
fn key(task: &Task) -> i128 {
    match task.dispatching {
        // The key is negative if the job cannot meet its deadline even alone.
        Dispatching::Laxity => i128::from(task.deadline) - i128::from(task.part()),
        _ => i128::from(task.deadline),
    }
}

/// Tasks that all tasks of a level compete with, by index.
pub(super) struct Level {
    /// Tasks of more urgent levels.
    above: Vec<usize>,
    /// Tasks among them that may interrupt.
    interrupting: Vec<usize>,
    /// Tasks of this level.
    peers: Vec<usize>,
    /// Task with the longest request of less urgent levels that cannot be interrupted.
    below: Option<usize>,
    /// Blocking by that task and by shared resources before the first job.
    blocking: Nanos,
    busy: Busy,
}

/// Longest time for which the level and all above it are busy.
#[derive(Clone, Copy)]
enum Busy {
    For(Nanos),
    /// The tasks need more than the processor.
    Always,
    Unknown,
}

/// Analyses the level of `own`.
pub(super) fn level(set: &TaskSet, own: &Task, load: &[Utilization]) -> Level {
    let tasks = &set.tasks;
    let mut level = Level {
        above: Vec::new(),
        interrupting: Vec::new(),
        peers: Vec::new(),
        below: None,
        blocking: 0,
        busy: Busy::Unknown,
    };
    for (place, other) in tasks.iter().enumerate() {
        if other.level < own.level {
            level.above.push(place);
            if set.interrupts(other, own) {
                level.interrupting.push(place);
            }
        } else if other.level == own.level {
            level.peers.push(place);
        } else if !set.interrupts(own, other) {
            let longest = level.below.map_or(0, |longest| tasks[longest].part());
            if other.part() > longest {
                level.below = Some(place);
            }
        }
    }
    let members: Vec<&Task> =
        level.above.iter().chain(&level.peers).map(|&place| &tasks[place]).collect();
    let resources = members.iter().map(|task| task.blocking).max().unwrap_or(0);
    let below = level.below.map_or(0, |place| tasks[place].part() - 1);
    level.blocking = below.saturating_add(resources);
    let share = level.above.iter().chain(&level.peers);
    let share = share.map(|&place| load[place].0).fold(0, u64::saturating_add);
    if share > WHOLE.0 && overloads(members.clone()) {
        level.busy = Busy::Always;
        return level;
    }
    let first = members.iter().fold(level.blocking, |sum, task| sum.saturating_add(task.wcet));
    let busy = settle(&Steps::of(tasks.len()), first, |time| {
        let jobs =
            members.iter().map(|task| u128::from(task_jobs(task, time)) * u128::from(task.wcet));
        u128::from(level.blocking) + jobs.sum::<u128>()
    });
    if let Some(busy) = busy {
        level.busy = Busy::For(busy);
    }
    level
}

/// Returns a bound on the response time of the task at index `at`, and the method that gave it:
/// trying the arrivals at which keys meet (`Keys`), or the length of the busy period
/// (`BusyPeriod`). Exact for a single fully preemptive EDF level; otherwise a safe upper bound.
pub(super) fn response(set: &TaskSet, at: usize, level: &Level) -> (Bound, Method) {
    let own = &set.tasks[at];
    let tasks = &set.tasks;
    let busy = match level.busy {
        Busy::For(busy) => busy,
        Busy::Always => return (Bound::Unbounded, Method::BusyPeriod),
        Busy::Unknown => return (Bound::Unknown, Method::BusyPeriod),
    };
    let candidates = level
        .peers
        .iter()
        .map(|&place| u128::from(busy.saturating_add(own.late()) / tasks[place].period + 2));
    let many = tasks.len() as u128;
    let too_many = candidates.sum::<u128>() > MOST_WORK / (many * many);
    let no_keys = own.dispatching == Dispatching::Laxity && set.model == DispatchModel::Urgency;
    if too_many || no_keys {
        // Whatever the order of the queue, the job is done by the end of the busy period.
        let members = level.above.iter().chain(&level.peers);
        let jobs = members.map(|&place| {
            let jobs = task_jobs(&tasks[place], busy);
            Wait::of(place, &tasks[place], jobs.saturating_sub(u64::from(place == at)))
        });
        let bound = Bound::At {
            response: busy.saturating_add(own.jitter),
            blocking: level.blocking,
            blocker: level.below,
            waits: interference(jobs),
        };
        return (bound, Method::BusyPeriod);
    }
    let mut worst = Bound::Unknown;
    let mut latest = 0;
    let steps = Steps::of(tasks.len());
    for arrival in arrivals(tasks, &level.peers, at, busy) {
        let Some((done, blocker, blocking)) = run(set, at, level, arrival, &steps) else {
            return (Bound::Unknown, Method::Keys);
        };
        let response = u64::try_from(i128::from(done) - arrival).unwrap_or(0);
        let response = response.max(own.wcet.saturating_add(own.jitter));
        if response > latest || worst == Bound::Unknown {
            latest = response;
            let above = level
                .above
                .iter()
                .map(|&place| Wait::of(place, &tasks[place], task_jobs(&tasks[place], done)));
            let peers = others(level, at).map(|place| {
                let jobs = before(&tasks[place], own, arrival).min(task_jobs(&tasks[place], done));
                Wait::of(place, &tasks[place], jobs)
            });
            worst =
                Bound::At { response, blocking, blocker, waits: interference(above.chain(peers)) };
        }
    }
    (worst, Method::Keys)
}

/// Returns the tasks of the level without the one at `at`.
fn others(level: &Level, at: usize) -> impl Iterator<Item = usize> {
    level.peers.iter().copied().filter(move |&place| place != at)
}

/// Returns the nominal arrivals of the task at which its key meets that of another job, or at which
/// it arrives together with all others. Arrivals before 0 are jobs delayed by jitter.
fn arrivals(tasks: &[Task], peers: &[usize], at: usize, busy: Nanos) -> Vec<i128> {
    let own = &tasks[at];
    let first = -i128::from(own.jitter);
    let mut found = vec![first];
    for &place in peers {
        let other = &tasks[place];
        let period = i128::from(other.period);
        let mut due = key(other) - i128::from(other.late()) - key(own);
        if due < first {
            due += (first - due + period - 1) / period * period;
        }
        while due < i128::from(busy) {
            found.push(due);
            due += period;
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the number of jobs of a peer whose key is no later than that of the own job with this
/// arrival.
fn before(peer: &Task, own: &Task, arrival: i128) -> u64 {
    let later = arrival + key(own) - key(peer) + i128::from(peer.late());
    match later {
        ..0 => 0,
        later => u64::try_from(later / i128::from(peer.period) + 1).unwrap_or(u64::MAX),
    }
}

/// Returns the completion of the job with this arrival, the task that blocked it, and for how long.
fn run(
    set: &TaskSet,
    at: usize,
    level: &Level,
    arrival: i128,
    steps: &Steps,
) -> Option<(Nanos, Option<usize>, Nanos)> {
    let own = &set.tasks[at];
    let tasks = &set.tasks;
    let own_jobs =
        u64::try_from((arrival + i128::from(own.late())) / i128::from(own.period)).ok()? + 1;
    let own_before = u128::from(own_jobs - 1) * u128::from(own.wcet);
    let preemptive = set.model == DispatchModel::Urgency;
    let mut blocking = level.blocking;
    let mut blocker = level.below;
    if !preemptive {
        let later = others(level, at).filter(|&place| before(&tasks[place], own, arrival) == 0);
        if let Some(longest) = later.max_by_key(|&place| tasks[place].part())
            && tasks[longest].part().saturating_sub(1) > blocking
        {
            (blocking, blocker) = (tasks[longest].part() - 1, Some(longest));
        }
    }
    let start = u64::try_from(own_before).ok()?.saturating_add(blocking);
    if preemptive {
        let whole = start.saturating_add(own.wcet);
        let done = settle(steps, whole, |time| {
            let above = level.above.iter().map(|&place| {
                u128::from(task_jobs(&tasks[place], time)) * u128::from(tasks[place].wcet)
            });
            let peers = others(level, at).map(|place| {
                let jobs = task_jobs(&tasks[place], time).min(before(&tasks[place], own, arrival));
                u128::from(jobs) * u128::from(tasks[place].wcet)
            });
            u128::from(whole) + above.chain(peers).sum::<u128>()
        })?;
        return Some((done, blocker, blocking));
    }
    let start = start.saturating_add(own.wcet - own.part());
    let began = settle(steps, start, |time| {
        let above = level
            .above
            .iter()
            .map(|&place| u128::from(arrived(&tasks[place], time)) * u128::from(tasks[place].wcet));
        let peers = others(level, at).map(|place| {
            let jobs = arrived(&tasks[place], time).min(before(&tasks[place], own, arrival));
            u128::from(jobs) * u128::from(tasks[place].wcet)
        });
        u128::from(start) + above.chain(peers).sum::<u128>()
    })?;
    let done = settle(steps, began.saturating_add(own.part()), |time| {
        let above = level.interrupting.iter().map(|&place| {
            let since =
                task_jobs(&tasks[place], time).saturating_sub(arrived(&tasks[place], began));
            u128::from(since) * u128::from(tasks[place].wcet)
        });
        u128::from(began) + u128::from(own.part()) + above.sum::<u128>()
    })?;
    Some((done, blocker, blocking))
}
