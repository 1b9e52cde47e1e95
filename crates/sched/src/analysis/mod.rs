//! Schedulability analysis of tasks on one processor, on several, and across nodes.
//!
//! [`analyse`] returns a [`Verdict`] for each task of a set: whether it meets its deadline, its
//! worst response time, and the causes of its waiting. For any strategy and dispatching model, a
//! verdict of [`Meets`](DeadlineOutcome::Meets) is a proof: no simulation of the set misses that deadline,
//! with the overheads of the set.

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

pub use verdict::{
    DeadlineOutcome, End, Explained, Method, NoChain, Reasons, Report, Unchained, Verdict,
};
pub use wait::Wait;
pub(crate) use wait::Work;

use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet, Utilization};
use wait::Bound;

/// Analyses every task of a set.
///
/// Exact for static priorities with any dispatching model (without offsets, jitter and events), and
/// for earliest deadline first with full preemption; safe everywhere else. Counts the
/// [overheads](TaskSet::overheads) of the set and, where events release jobs, the responses of
/// their senders. Takes O(n^2) for n tasks, and more for each job in a busy period.
pub fn analyse(set: &TaskSet) -> Report {
    analyse_with(set, None)
}

/// Analyses like [`analyse`] and uses the given phases of tasks if they shorten a response.
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
        // If a delay is unknown, the verdict counts too few jobs of other tasks, so it is neither a
        // proof nor a bound.
        if !known && (verdict.outcome == DeadlineOutcome::Meets || verdict.response.is_some()) {
            *verdict = Verdict::without(verdict.task, DeadlineOutcome::Unproven, verdict.method);
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
    if verdicts[0].outcome == DeadlineOutcome::Unproven {
        settle_by_demand(set, &mut verdicts);
    }
    verdicts.swap_remove(0)
}

/// Analyses one task of a set like [`analyse_one`], within a budget of visits that several verdicts share. The set has
/// static priorities and no overheads; `load` has the utilisation of each of its tasks.
pub(crate) fn analyse_within(
    set: &TaskSet,
    at: usize,
    load: &[Utilization],
    work: &Work,
) -> Verdict {
    let is_plain =
        |task: &Task| task.burst.is_none() && task.offset.is_none() && task.after.is_empty();
    if !set.tasks.iter().all(is_plain) {
        return analyse_one(set, at);
    }
    let found = work.spend(set.tasks.len(), |steps| fixed::response_within(set, at, load, steps));
    verdict(set, at, found, Method::ResponseTime)
}

/// Returns the verdicts of all tasks, whose costs are charged and whose delays are known, and the
/// utilisation of each.
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

/// Analyses of dynamic levels, cached because all tasks of a level share one.
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
    verdict(set, at, bound, method)
}

/// Returns the verdict that follows from a bound on the response of a task.
fn verdict(set: &TaskSet, at: usize, bound: Bound, method: Method) -> Verdict {
    let task = &set.tasks[at];
    // A bound that is not exact can prove that a deadline is met, but never that it is missed.
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
                true => DeadlineOutcome::Meets,
                false if exact => DeadlineOutcome::Misses,
                false => DeadlineOutcome::Unproven,
            },
            method,
            response: Some(response),
            blocking,
            blocker,
            waits,
        },
        Bound::Unbounded => Verdict::without(at, DeadlineOutcome::Misses, method),
        Bound::Unknown => Verdict::without(at, DeadlineOutcome::Unproven, method),
    }
}

fn fixed_priority(set: &TaskSet, at: usize, load: &[Utilization]) -> (Bound, Method) {
    if let Some(bound) = offsets::response(set, at, load) {
        return (bound, Method::Offsets);
    }
    (fixed::response(set, at, load), Method::ResponseTime)
}

/// Largest jitter of a task, in periods, for which phases are analysed.
const MOST_PERIODS_LATE: u64 = 32;

/// Replaces the response by that with phases, if it is shorter.
fn shorten(
    set: &TaskSet,
    verdict: &mut Verdict,
    phases: &[Option<offsets::Phase>],
    load: &[Utilization],
) {
    // With more jitter a busy period has so many jobs that this analysis takes too long, and the
    // plain analysis suffices to find missed deadlines.
    let own = &set.tasks[verdict.task];
    if own.jitter > own.period.saturating_mul(MOST_PERIODS_LATE) {
        return;
    }
    let found = offsets::bound(set, verdict.task, phases, load);
    let Some(Bound::At { response, blocking, blocker, waits }) = found else {
        return;
    };
    // If the deadline is met and no response was computed, the deadline itself bounds the response.
    let plain = match (verdict.outcome, verdict.response) {
        (DeadlineOutcome::Meets, None) => Some(set.tasks[verdict.task].deadline),
        (_, response) => response,
    };
    if plain.is_none_or(|plain| response < plain) {
        *verdict = Verdict {
            task: verdict.task,
            outcome: match response <= set.tasks[verdict.task].deadline {
                true => DeadlineOutcome::Meets,
                false => DeadlineOutcome::Unproven,
            },
            method: Method::Offsets,
            response: Some(response),
            blocking,
            blocker,
            waits,
        };
    }
}

/// Reports whether all tasks of the set have the level of this task, without jitter and without
/// blocking.
fn alone(set: &TaskSet, task: &Task) -> bool {
    let same = |other: &Task| other.level == task.level && other.jitter == 0 && other.blocking == 0;
    set.tasks.iter().all(same)
}

/// Decides the uppermost level by the demand test if it is dynamic and fully preemptive: that test
/// is exact, even where the response times are not.
fn settle_by_demand(set: &TaskSet, verdicts: &mut [Verdict]) {
    let dynamic = |task: &Task| {
        set.model == DispatchModel::Urgency
            && task.level == 0
            && task.dispatching != Dispatching::Static
    };
    let open = |verdict: &Verdict| {
        verdict.outcome == DeadlineOutcome::Unproven && dynamic(&set.tasks[verdict.task])
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
        if outcome == demand::DemandOutcome::Meets {
            verdict.outcome = DeadlineOutcome::Meets;
            // The bound from the busy period exceeds the deadline. The demand test proves that the
            // deadline is met, so that bound is useless.
            verdict.response = None;
            verdict.waits.clear();
        }
    }
}

#[cfg(test)]
mod tests;
