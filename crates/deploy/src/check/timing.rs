//! Response times of all jobs of a plan, over all nodes.
//!
//! Each node is one processor with fixed priorities and full preemption. All that one release sets going is a transaction.
//! The steps of a chain that follow one another on a node are analysed as one piece of work at the least of their priorities:
//! before a step, all those before it have run, and whatever else runs meanwhile is at least as urgent. Other transactions
//! interfere as often as their periods and jitter allow (Tindell and Clark); the rest of the own one does once, as long as all
//! of it is done before its next release. What takes longer than its period has no bound here, and neither has what such a
//! job may delay of its own transaction. Jobs of one priority wait for each other. Events leave when the work that emits them
//! ends. One that is pushed directly keeps its sender until its consumer is done, so that what is pushed next follows the whole
//! way of the one before; one that a channel takes is not waited for.

use std::collections::HashMap;
use std::fmt::Write as _;

use oxorb_sched::analysis::{self, Verdict};
use oxorb_sched::time::{Nanos, Show};
use oxorb_sched::{Task, TaskSet, Utilization};

use super::jobs::{Job, Jobs};
use crate::finding::{Finding, Place, Source};
use crate::model::rtcad::Level;

/// The way of work from its release to one of its ends, and how long that takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Works in order: `instance.port`, or the instance.
    pub steps: Vec<String>,
    /// Node of the last one.
    pub node: String,
    /// CORBA priority of the last one; `None`: an ordinary thread.
    pub priority: Option<i16>,
    /// Time between releases, in nanoseconds.
    pub period: Nanos,
    /// Longest allowed time from the release of the first to the end of the last, in nanoseconds.
    pub deadline: Nanos,
    /// The longest from the release of the first to the end of the last, in nanoseconds; `None`: there is no bound.
    pub response: Option<Nanos>,
    /// Whether a miss forbids deployment.
    pub is_critical: bool,
    /// Parts of the response.
    pub because: String,
    /// Position of the last work in the document of resources.
    pub place: Place,
}

impl Chain {
    /// Reports whether the deadline is proved.
    pub fn meets(&self) -> bool {
        self.response.is_some_and(|response| response <= self.deadline)
    }
}

/// Response times of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// All works, each at the end of its chain.
    pub chains: Vec<Chain>,
    /// Nodes with the share of one processor that their works take.
    pub nodes: Vec<(String, f64)>,
}

impl Timing {
    /// Jobs that are analysed at most.
    pub const MOST_JOBS: usize = 1_000;

    /// Steps over connections that are followed at most, calls that are a part of their caller included.
    pub const MOST_STEPS: usize = 10_000;

    /// Connections in a row that are followed at most.
    pub const MOST_DEPTH: usize = 256;

    /// Reports whether every critical deadline is proved.
    pub fn is_safe(&self) -> bool {
        self.chains.iter().all(|chain| chain.meets() || !chain.is_critical)
    }

    /// Returns a finding for each deadline that is not proved.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let missed = self.chains.iter().filter(|chain| !chain.meets());
        missed.map(Chain::finding).collect()
    }
}

impl Chain {
    fn finding(&self) -> Finding {
        let (last, path) = (self.steps.last().map_or("", String::as_str), self.steps.join(" -> "));
        let mut what = format!("on node {:?}, chain {path} ", self.node);
        let _ = match self.response {
            Some(response) => write!(
                what,
                "may take {} to the end of {last}, and its deadline is {}",
                Show(response),
                Show(self.deadline)
            ),
            None => write!(
                what,
                "may not be done with {last} within its period of {}",
                Show(self.period)
            ),
        };
        if !self.because.is_empty() {
            let _ = write!(what, " ({})", self.because);
        }
        let finding = match self.is_critical {
            true => Finding::error(self.place, what),
            false => Finding::warning(self.place, what),
        };
        let cure =
            "let --assign choose priorities, lower a rate, or move an instance to another node";
        finding.cure(cure).within(Source::Rtcad)
    }
}

/// Rounds after which what still grows has no bound.
const MOST_ROUNDS: usize = 100;

/// State of a job in a round. It only grows.
#[derive(Debug, Clone, Copy, PartialEq)]
struct State {
    /// Latest release, from that of its chain; none: no bound.
    arrival: Option<Nanos>,
    /// Time from the release of its segment to its end.
    alone: Nanos,
    /// Part of that for which it waits for other nodes.
    suspended: Nanos,
    /// Latest end, from the release of its chain; none: no bound.
    response: Option<Nanos>,
}

/// Places of jobs among each other.
struct Shape {
    children: Vec<Vec<usize>>,
    /// The job that time releases.
    root: Vec<usize>,
}

impl Shape {
    fn of(all: &[Job<'_>]) -> Shape {
        let mut shape =
            Shape { children: vec![Vec::new(); all.len()], root: (0..all.len()).collect() };
        for (at, job) in all.iter().enumerate() {
            if let Some(parent) = job.parent {
                shape.children[parent].push(at);
                shape.root[at] = shape.root[parent];
            }
        }
        shape
    }

    /// Adds a job and all below it.
    fn below(&self, at: usize, into: &mut Vec<usize>) {
        into.push(at);
        self.children[at].iter().for_each(|&child| self.below(child, into));
    }
}

/// The steps on one node that end with a job, and what has to be done with them.
struct Segment {
    top: usize,
    /// Jobs whose time is a part of the segment: its steps, and calls on the same node.
    parts: Vec<usize>,
    /// Calls to other nodes.
    elsewhere: Vec<usize>,
    /// Jobs of the same transaction on the node that may come once.
    beside: Vec<usize>,
    /// The least priority of its parts.
    priority: Option<i16>,
}

impl Segment {
    fn of(at: usize, all: &[Job<'_>], shape: &Shape) -> Segment {
        let node = all[at].node;
        let mut before = vec![false; all.len()];
        let mut is_part = vec![false; all.len()];
        let mut parts = vec![at];
        is_part[at] = true;
        let mut above = all[at].parent;
        let (mut top, mut is_here) = (at, true);
        while let Some(parent) = above {
            is_here = is_here && all[parent].node == node;
            if is_here {
                parts.push(parent);
                is_part[parent] = true;
                top = parent;
            }
            before[parent] = true;
            above = all[parent].parent;
        }
        let (mut elsewhere, mut next) = (Vec::new(), 0);
        while next < parts.len() {
            for &child in shape.children[parts[next]].iter().filter(|&&child| all[child].is_call) {
                if is_part[child] || before[child] {
                    continue;
                }
                match all[child].node == node {
                    true => {
                        is_part[child] = true;
                        parts.push(child);
                    }
                    false => elsewhere.push(child),
                }
            }
            next += 1;
        }
        let mut later = Vec::new();
        for &child in shape.children[at].iter().filter(|&&child| !all[child].is_call) {
            shape.below(child, &mut later);
        }
        let mut is_later = vec![false; all.len()];
        later.iter().for_each(|&job| is_later[job] = true);
        let priority = parts.iter().map(|&part| all[part].priority).min().flatten();
        let priority =
            if parts.iter().any(|&part| all[part].priority.is_none()) { None } else { priority };
        let is_beside = |&other: &usize| {
            shape.root[other] == shape.root[at]
                && all[other].node == node
                && all[other].priority >= priority
                && !before[other]
                && !is_part[other]
                && !is_later[other]
        };
        Segment {
            top,
            beside: (0..all.len()).filter(is_beside).collect(),
            parts,
            elsewhere,
            priority,
        }
    }
}

/// Analyses all jobs.
pub(super) fn analyse(jobs: &Jobs<'_>) -> Timing {
    let all = &jobs.jobs;
    let shape = Shape::of(all);
    let segments: Vec<Segment> = (0..all.len()).map(|at| Segment::of(at, all, &shape)).collect();
    let start = |job: &Job<'_>| State {
        arrival: Some(job.jitter),
        alone: job.wcet,
        suspended: 0,
        response: Some(job.jitter.saturating_add(job.wcet)),
    };
    let mut states: Vec<State> = all.iter().map(start).collect();
    let mut verdicts: Vec<Option<(TaskSet, Verdict)>> = vec![None; all.len()];
    for round in 0..=MOST_ROUNDS {
        let before = states.clone();
        for (at, job) in all.iter().enumerate() {
            // Parents come first, so that a change goes all the way down in one round.
            let released = |at: usize, states: &[State]| match all[at].parent {
                None => Some(all[at].jitter),
                Some(parent) => Some(states[parent].response?.saturating_add(all[at].delay)),
            };
            let caller = job.parent.filter(|_| job.is_call);
            states[at].arrival = released(at, &states);
            let suspended = segments[at].elsewhere.iter().map(|&call| {
                let delay = all[call].delay.saturating_mul(2);
                states[call].alone.saturating_add(delay)
            });
            states[at].suspended = suspended.fold(0, Nanos::saturating_add);
            let set = competition(at, &segments[at], all, &shape, &states);
            let verdict = set.map(|set| {
                let verdict = analysis::analyse_one(&set, set.tasks.len() - 1);
                (set, verdict)
            });
            let alone = verdict.as_ref().and_then(|(_, verdict)| verdict.response);
            let begun = released(segments[at].top, &states);
            let mut response = begun.zip(alone).map(|(begun, alone)| begun.saturating_add(alone));
            if let (Some(found), Some(caller)) = (response, caller) {
                // The caller ends later than its call.
                response = states[caller].response.map(|caller| caller.min(found)).or(Some(found));
            }
            states[at].alone = alone.unwrap_or(job.period).min(job.period).max(states[at].alone);
            let is_known = states[at].response.is_some() && round < MOST_ROUNDS;
            states[at].response = response.filter(|&response| is_known && response <= job.period);
            verdicts[at] = verdict;
        }
        overrun(all, &segments, &shape, &mut states);
        if states == before {
            break;
        }
    }
    report(jobs, &states, &verdicts)
}

/// Takes the bound from all of a chain that its own overrun may delay: a job that may still run when its chain is released
/// anew stands before whatever of the chain is on that node and no more urgent, which was bounded as if it came once.
fn overrun(all: &[Job<'_>], segments: &[Segment], shape: &Shape, states: &mut [State]) {
    let mut most: HashMap<(usize, usize), Option<i16>> = HashMap::new();
    for (at, job) in all.iter().enumerate() {
        if states[at].response.is_none() {
            let known = most.entry((shape.root[at], job.node));
            known.and_modify(|known| *known = (*known).max(job.priority)).or_insert(job.priority);
        }
    }
    for (at, job) in all.iter().enumerate() {
        if most.get(&(shape.root[at], job.node)).is_some_and(|late| segments[at].priority <= *late)
        {
            states[at].response = None;
        }
    }
}

/// Returns what competes with a segment, and the segment itself as the last and least urgent task; `None` if something that
/// competes has no bound.
fn competition(
    at: usize,
    segment: &Segment,
    all: &[Job<'_>],
    shape: &Shape,
    states: &[State],
) -> Option<TaskSet> {
    let own = &all[at];
    let competes = |(other, job): &(usize, &Job<'_>)| {
        shape.root[*other] != shape.root[at]
            && job.node == own.node
            && job.priority >= segment.priority
    };
    let mut tasks: Vec<Task> = Vec::new();
    for (other, job) in all.iter().enumerate().filter(competes) {
        let state = &states[other];
        let mut task = Task::periodic(&job.name, job.wcet, job.period);
        task.jitter = state.arrival?;
        if state.suspended > 0 {
            match job.priority == segment.priority {
                // It may hold the thread that both need.
                true => task.wcet = task.wcet.saturating_add(state.suspended),
                false => task.jitter = task.jitter.max(state.response?.saturating_sub(job.wcet)),
            }
        }
        tasks.push(task);
    }
    let sum = |jobs: &[usize], of: fn(&Job<'_>) -> Nanos| -> Nanos {
        jobs.iter().fold(0, |sum, &job| sum.saturating_add(of(&all[job])))
    };
    let work =
        sum(&segment.parts, |job| job.wcet).saturating_add(sum(&segment.beside, |job| job.wcet));
    let mut task = Task::periodic(&own.name, work.saturating_add(states[at].suspended), own.period);
    task.blocking = sum(&segment.parts, |job| job.blocking);
    tasks.push(task);
    Some(TaskSet::fixed_priority(tasks))
}

fn report(jobs: &Jobs<'_>, states: &[State], verdicts: &[Option<(TaskSet, Verdict)>]) -> Timing {
    let all = &jobs.jobs;
    let marks_critical = all.iter().any(|job| job.level >= Level::High);
    let chains = all.iter().enumerate().map(|(at, job)| {
        let mut steps = vec![job.name.clone()];
        let mut from = job.from;
        while let Some(above) = from {
            steps.push(all[above].name.clone());
            from = all[above].from;
        }
        steps.reverse();
        let because = verdicts[at]
            .as_ref()
            .filter(|(_, verdict)| verdict.response.is_some() && states[at].response.is_some());
        Chain {
            steps,
            node: jobs.nodes.get(job.node).copied().unwrap_or_default().to_owned(),
            priority: job.priority,
            period: job.period,
            deadline: job.deadline,
            response: states[at].response,
            is_critical: !marks_critical || job.level >= Level::High,
            because: because
                .map_or(String::new(), |(set, verdict)| verdict.reasons(set).to_string()),
            place: job.place,
        }
    });
    let share = |node: usize| {
        let tasks: Vec<Task> = all
            .iter()
            .filter(|job| job.node == node)
            .map(|job| Task::periodic(&job.name, job.wcet, job.period))
            .collect();
        Utilization::of(&tasks).fraction()
    };
    Timing {
        chains: chains.collect(),
        nodes: jobs
            .nodes
            .iter()
            .enumerate()
            .map(|(at, name)| ((*name).to_owned(), share(at)))
            .collect(),
    }
}
