//! Does it hold, and why: schedulability of tasks on one processor, on several, and across nodes.
//!
//! [`analyse`] gives a [`Verdict`] for each task of a set: whether it meets its deadline, its worst response time, and
//! what it waits for. Whatever the strategy and the dispatching model, a verdict of [`Meets`](Outcome::Meets) is a proof:
//! no simulation of the set misses that deadline, with the overheads of the set.

pub mod best;
pub mod bounds;
mod bursts;
mod chain;
pub mod chance;
mod delays;
pub mod demand;
mod dynamic;
mod fixed;
pub mod generalised;
pub mod global;
pub mod holistic;
pub mod mixed;
mod offsets;
pub mod partition;
pub mod priorities;
pub mod resources;
pub mod sensitivity;
pub mod servers;
mod verdict;
mod wait;

use std::collections::BTreeMap;

pub use verdict::{End, Explained, Method, NoChain, Outcome, Reasons, Report, Unchained, Verdict};
pub use wait::Wait;

use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet, Utilization};
use wait::Bound;

/// Analyses every task of a set.
///
/// Exact for static priorities with any dispatching model (without offsets, jitter and events), and for earliest deadline
/// first with full preemption; safe everywhere else. Counts the [overheads](TaskSet::overheads) of the set, and where events
/// release jobs, the response of what sends them. Takes O(n^2) for n tasks and a little more for each job in a busy period.
pub fn analyse(set: &TaskSet) -> Report {
    analyse_with(set, None)
}

/// Analyses like [`analyse`], with these phases of tasks to each other where they make a response
/// shorter.
fn analyse_with(set: &TaskSet, phases: Option<&[Option<offsets::Phase>]>) -> Report {
    let charged = set.overheads.charge(set);
    let delayed = delays::settle(&charged);
    let (mut verdicts, load) = verdicts(&delayed.set);
    if let Some(phases) = phases {
        for verdict in &mut verdicts {
            shorten(&delayed.set, verdict, phases, &load);
        }
    }
    let chains = delayed.ends(&verdicts);
    let unchained = delayed.unchained();
    for (verdict, known) in verdicts.iter_mut().zip(&delayed.known) {
        // What was found of it counts too few jobs of others: neither a proof nor a bound.
        if !known && (verdict.outcome == Outcome::Meets || verdict.response.is_some()) {
            *verdict = Verdict::without(verdict.task, Outcome::Unproven, verdict.method);
        }
    }
    Report { verdicts, bounds: bounds::Bounds::of(&charged.tasks), load, chains, unchained }
}

/// Analyses one task of a set.
pub fn analyse_one(set: &TaskSet, at: usize) -> Verdict {
    if set.tasks.iter().any(|task| !task.after.is_empty()) {
        return analyse(set).verdicts.swap_remove(at);
    }
    let set = &*set.overheads.charge(set);
    if let Some(streams) = bursts::Streams::of(set) {
        return streams.verdicts().swap_remove(at);
    }
    let load: Vec<Utilization> = set.tasks.iter().map(Utilization::of_one).collect();
    let mut verdicts = vec![judge(set, at, &load, &mut Levels::new())];
    if verdicts[0].outcome == Outcome::Unproven {
        settle_by_demand(set, &mut verdicts);
    }
    verdicts.swap_remove(0)
}

/// Verdicts of all tasks, whose costs are charged and whose delays are known, and the utilisation of each.
fn verdicts(set: &TaskSet) -> (Vec<Verdict>, Vec<Utilization>) {
    let load: Vec<Utilization> = set.tasks.iter().map(Utilization::of_one).collect();
    if let Some(streams) = bursts::Streams::of(set) {
        return (streams.verdicts(), load);
    }
    let mut levels = Levels::new();
    let tasks = 0..set.tasks.len();
    let mut verdicts: Vec<Verdict> = tasks.map(|at| judge(set, at, &load, &mut levels)).collect();
    settle_by_demand(set, &mut verdicts);
    (verdicts, load)
}

/// Common part of the tasks of a level, as far as it was needed.
type Levels = BTreeMap<u32, dynamic::Level>;

fn judge(set: &TaskSet, at: usize, load: &[Utilization], levels: &mut Levels) -> Verdict {
    let task = &set.tasks[at];
    let (bound, method) = match task.dispatching {
        Dispatching::Static => fixed_priority(set, at, load),
        _ => {
            let level = levels.entry(task.level).or_insert_with(|| dynamic::level(set, task, load));
            dynamic::response(set, at, level)
        }
    };
    // A bound that is not exact proves that deadlines are met, never that one is missed.
    let exact = match method {
        _ if set.tasks.iter().any(|task| !task.after.is_empty()) => false,
        Method::ResponseTime => task.jitter == 0,
        Method::Keys => set.model == DispatchModel::Urgency && alone(set, task),
        _ => false,
    };
    match bound {
        Bound::At { response, blocking, blocker, waits } => Verdict {
            task: at,
            outcome: match response <= task.deadline {
                true => Outcome::Meets,
                false if exact => Outcome::Misses,
                false => Outcome::Unproven,
            },
            method,
            response: Some(response),
            blocking,
            blocker,
            waits,
        },
        Bound::Unbounded => Verdict::without(at, Outcome::Misses, method),
        Bound::Unknown => Verdict::without(at, Outcome::Unproven, method),
    }
}

fn fixed_priority(set: &TaskSet, at: usize, load: &[Utilization]) -> (Bound, Method) {
    if let Some(bound) = offsets::response(set, at, load) {
        return (bound, Method::Offsets);
    }
    (fixed::response(set, at, load), Method::ResponseTime)
}

/// Periods by which a task may be late for phases to be looked at.
const MOST_PERIODS_LATE: u64 = 32;

/// Takes the response that phases make, if it is shorter.
fn shorten(
    set: &TaskSet,
    verdict: &mut Verdict,
    phases: &[Option<offsets::Phase>],
    load: &[Utilization],
) {
    // Later than that, a busy period has many jobs, and the plain analysis is good enough to find that deadlines are missed.
    let own = &set.tasks[verdict.task];
    if own.jitter > own.period.saturating_mul(MOST_PERIODS_LATE) {
        return;
    }
    let found = offsets::bound(set, verdict.task, phases, load);
    let Some(Bound::At { response, blocking, blocker, waits }) = found else {
        return;
    };
    // A response that was not needed is within the deadline.
    let plain = match (verdict.outcome, verdict.response) {
        (Outcome::Meets, None) => Some(set.tasks[verdict.task].deadline),
        (_, response) => response,
    };
    if plain.is_none_or(|plain| response < plain) {
        *verdict = Verdict {
            task: verdict.task,
            outcome: match response <= set.tasks[verdict.task].deadline {
                true => Outcome::Meets,
                false => Outcome::Unproven,
            },
            method: Method::Offsets,
            response: Some(response),
            blocking,
            blocker,
            waits,
        };
    }
}

/// Whether nothing but its own level competes with a task.
fn alone(set: &TaskSet, task: &Task) -> bool {
    let same = |other: &Task| other.level == task.level && other.jitter == 0 && other.blocking == 0;
    set.tasks.iter().all(same)
}

/// The demand test decides for the uppermost level where it is dynamic and fully preemptive: it is exact, also where the
/// response times are not.
fn settle_by_demand(set: &TaskSet, verdicts: &mut [Verdict]) {
    let dynamic = |task: &Task| {
        set.model == DispatchModel::Urgency
            && task.level == 0
            && task.dispatching != Dispatching::Static
    };
    let open = |verdict: &Verdict| {
        verdict.outcome == Outcome::Unproven && dynamic(&set.tasks[verdict.task])
    };
    if !verdicts.iter().any(open) {
        return;
    }
    let level: Vec<&Task> = set.tasks.iter().filter(|task| dynamic(task)).collect();
    let steps = level.iter().any(|task| task.dispatching == Dispatching::Laxity);
    let left_over = match steps {
        true => demand::lost_by_steps(&level, set.overheads.step),
        false => 0,
    };
    let outcome = demand::test_with(&level, left_over);
    for verdict in verdicts.iter_mut().filter(|verdict| open(verdict)) {
        verdict.method = Method::Demand(outcome);
        if outcome == demand::Outcome::Meets {
            verdict.outcome = Outcome::Meets;
            // What was found is no bound that is worth telling: it lies beyond a deadline that is met.
            verdict.response = None;
            verdict.waits.clear();
        }
    }
}

#[cfg(test)]
mod tests;
