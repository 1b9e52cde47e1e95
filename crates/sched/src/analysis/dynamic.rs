//! Response times where a queue is ordered by deadline or laxity.
//!
//! Jobs that wait in such a queue never change places: by deadline because it is fixed, by laxity because the laxity of all
//! that wait falls alike and none has begun. So both are orders by a fixed key, the deadline or the latest moment to begin,
//! and the worst response is found by trying the arrivals at which keys meet (Spuri; George, Rivierre and Spuri). Only laxity
//! with full preemption is no such order, as the laxity of the running job stays.

use super::fixed::{arrived, task_jobs};
use super::wait::{Bound, Wait, interference, settle};
use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet, Utilization, WHOLE, overloads};
use crate::time::Nanos;

/// Arrivals times tasks that are tried for one task.
const MOST_WORK: usize = 2_000_000;

/// Relative key of a task's jobs: the smaller one goes first.
fn key(task: &Task) -> Nanos {
    match task.dispatching {
        Dispatching::Laxity => task.deadline.saturating_sub(task.wcet),
        _ => task.deadline,
    }
}

/// The others as one task sees them, by place.
struct Around {
    /// Of more urgent levels.
    above: Vec<usize>,
    /// Of those, the ones that may interrupt.
    interrupting: Vec<usize>,
    /// Of the same level.
    peers: Vec<usize>,
    /// The longest of less urgent levels that cannot be interrupted.
    below: Option<usize>,
}

fn around(set: &TaskSet, at: usize) -> Around {
    let own = &set.tasks[at];
    let mut found = Around {
        above: Vec::new(),
        interrupting: Vec::new(),
        peers: Vec::new(),
        below: None,
    };
    for (place, other) in set.tasks.iter().enumerate() {
        if place == at {
            continue;
        }
        if other.level < own.level {
            found.above.push(place);
            if set.interrupts(other, own) {
                found.interrupting.push(place);
            }
        } else if other.level == own.level {
            found.peers.push(place);
        } else if !set.interrupts(own, other) {
            let longest = found
                .below
                .map_or(0, |longest: usize| set.tasks[longest].wcet);
            if other.wcet > longest {
                found.below = Some(place);
            }
        }
    }
    found
}

/// A bound on the response time of the task at `at`; exact for one level dispatched by deadline with full preemption, and
/// never below the truth.
pub(super) fn response(set: &TaskSet, at: usize, load: &[Utilization]) -> Bound {
    let own = &set.tasks[at];
    let around = around(set, at);
    let tasks = &set.tasks;
    let members = || {
        let places = around.above.iter().chain(&around.peers).chain([&at]);
        places.copied()
    };
    let share = members()
        .map(|place| load[place].0)
        .fold(0, u64::saturating_add);
    let all = || members().map(|place| &tasks[place]);
    if share > WHOLE.0 && overloads(all().collect::<Vec<_>>()) {
        return Bound::Unbounded;
    }
    let blocked = all().map(|task| task.blocking).max().unwrap_or(0);
    let below = around
        .below
        .map_or(0, |place| tasks[place].wcet.saturating_sub(1));
    let below = below.saturating_add(blocked);
    let first = all().fold(below, |sum, task| sum.saturating_add(task.wcet));
    let busy = settle(first, |time| {
        let jobs = all().map(|task| u128::from(task_jobs(task, time)) * u128::from(task.wcet));
        u128::from(below) + jobs.sum::<u128>()
    });
    let Some(busy) = busy else {
        return Bound::Unknown;
    };
    if own.dispatching == Dispatching::Laxity && set.model == DispatchModel::Urgency {
        // Whatever the order, the job is done when everything is.
        let jobs = members().map(|place| {
            let jobs = task_jobs(&tasks[place], busy);
            Wait::of(place, &tasks[place], jobs - u64::from(place == at))
        });
        return Bound::At {
            response: busy.saturating_add(own.jitter),
            blocking: below,
            blocker: around.below,
            waits: interference(jobs),
        };
    }
    let candidates: u64 = around
        .peers
        .iter()
        .chain([&at])
        .map(|&place| busy / tasks[place].period + 2)
        .sum();
    if (candidates as usize).saturating_mul(tasks.len()) > MOST_WORK {
        return Bound::Unknown;
    }
    let mut worst = Bound::Unknown;
    let mut latest = 0;
    for arrival in arrivals(tasks, &around.peers, at, busy) {
        let Some((done, blocker, blocking)) = run(set, at, &around, arrival, below) else {
            return Bound::Unknown;
        };
        let response = i128::from(done) - arrival;
        let response = u64::try_from(response)
            .unwrap_or(0)
            .max(own.wcet.saturating_add(own.jitter));
        if response > latest {
            latest = response;
            let waits = around
                .above
                .iter()
                .map(|&place| Wait::of(place, &tasks[place], task_jobs(&tasks[place], done)));
            let peers = around.peers.iter().map(|&place| {
                let jobs = before(&tasks[place], own, arrival).min(task_jobs(&tasks[place], done));
                Wait::of(place, &tasks[place], jobs)
            });
            worst = Bound::At {
                response,
                blocking,
                blocker,
                waits: interference(waits.chain(peers)),
            };
        }
    }
    worst
}

/// Nominal arrivals of the task at which its key meets that of another job, or at which it arrives with all others. Those
/// before 0 are jobs that jitter delayed.
fn arrivals(tasks: &[Task], peers: &[usize], at: usize, busy: Nanos) -> Vec<i128> {
    let own = &tasks[at];
    let mut found = vec![-i128::from(own.jitter)];
    for &place in peers.iter().chain([&at]) {
        let other = &tasks[place];
        let mut due = i128::from(key(other)) - i128::from(other.jitter) - i128::from(key(own));
        while due < i128::from(busy) {
            if due >= -i128::from(own.jitter) {
                found.push(due);
            }
            due += i128::from(other.period);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Jobs of a peer whose key is no later than that of the own job with this arrival.
fn before(peer: &Task, own: &Task, arrival: i128) -> u64 {
    let later = arrival + i128::from(key(own)) - i128::from(key(peer)) + i128::from(peer.jitter);
    match later {
        ..0 => 0,
        later => u64::try_from(later / i128::from(peer.period) + 1).unwrap_or(u64::MAX),
    }
}

/// When the job with this arrival is done, who blocked it, and for how long.
fn run(
    set: &TaskSet,
    at: usize,
    around: &Around,
    arrival: i128,
    below: Nanos,
) -> Option<(Nanos, Option<usize>, Nanos)> {
    let own = &set.tasks[at];
    let tasks = &set.tasks;
    let own_jobs =
        u64::try_from((arrival + i128::from(own.jitter)) / i128::from(own.period)).ok()? + 1;
    let own_before = u128::from(own_jobs - 1) * u128::from(own.wcet);
    let preemptive = set.model == DispatchModel::Urgency;
    let mut blocking = below;
    let mut blocker = around.below;
    if !preemptive {
        let later = around
            .peers
            .iter()
            .filter(|&&place| before(&tasks[place], own, arrival) == 0);
        if let Some(&longest) = later.max_by_key(|&&place| tasks[place].wcet)
            && tasks[longest].wcet.saturating_sub(1) > below
        {
            (blocking, blocker) = (tasks[longest].wcet - 1, Some(longest));
        }
    }
    let start = u64::try_from(own_before).ok()?.saturating_add(blocking);
    if preemptive {
        let whole = start.saturating_add(own.wcet);
        let done = settle(whole, |time| {
            let above = around.above.iter().map(|&place| {
                u128::from(task_jobs(&tasks[place], time)) * u128::from(tasks[place].wcet)
            });
            let peers = around.peers.iter().map(|&place| {
                let jobs = task_jobs(&tasks[place], time).min(before(&tasks[place], own, arrival));
                u128::from(jobs) * u128::from(tasks[place].wcet)
            });
            u128::from(whole) + above.chain(peers).sum::<u128>()
        })?;
        return Some((done, blocker, blocking));
    }
    let began = settle(start, |time| {
        let above = around
            .above
            .iter()
            .map(|&place| u128::from(arrived(&tasks[place], time)) * u128::from(tasks[place].wcet));
        let peers = around.peers.iter().map(|&place| {
            let jobs = arrived(&tasks[place], time).min(before(&tasks[place], own, arrival));
            u128::from(jobs) * u128::from(tasks[place].wcet)
        });
        u128::from(start) + above.chain(peers).sum::<u128>()
    })?;
    let done = settle(began.saturating_add(own.wcet), |time| {
        let above = around.interrupting.iter().map(|&place| {
            let since =
                task_jobs(&tasks[place], time).saturating_sub(arrived(&tasks[place], began));
            u128::from(since) * u128::from(tasks[place].wcet)
        });
        u128::from(began) + u128::from(own.wcet) + above.sum::<u128>()
    })?;
    Some((done, blocker, blocking))
}
