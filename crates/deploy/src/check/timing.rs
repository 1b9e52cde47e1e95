//! Response times of all jobs of a plan, over all nodes.
//!
//! Each node is one processor with fixed priorities and full preemption. All jobs triggered by one release form a
//! transaction. Consecutive steps of a chain on one node are analysed as one piece of work at the lowest of their
//! priorities: before a step, all earlier ones have run, and any other work that runs meanwhile is at least as urgent.
//! Other transactions interfere as often as their periods and jitter permit (Tindell and Clark); the rest of the same
//! transaction interferes once, provided that all of it ends before its next release. The analysis gives no bound for a
//! job that takes longer than its period, nor for the jobs of the same transaction that this job may delay. Jobs of
//! equal priority wait for each other. Events are sent at the end of the work that emits them. A direct push blocks its
//! sender until the consumer is done, so that the next push follows the whole path of the previous one; a push through
//! a channel does not block. If the thread that releases a chain may still be blocked at the next release, no job of the
//! chain has a bound.

use std::collections::HashMap;
use std::fmt::Write as _;

use oxorb_sched::analysis::{self, Verdict};
use oxorb_sched::time::{Nanos, Show};
use oxorb_sched::{Task, TaskSet, Utilization};

use super::jobs::{Job, Jobs};
use crate::finding::{Finding, Place, Source};
use crate::model::rtcad::Level;

/// Path of work from its release to one of its ends, with its response time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Works in order: `instance.port`, or the instance.
    pub steps: Vec<String>,
    /// Node of the last work.
    pub node: String,
    /// CORBA priority of the last work; `None`: an ordinary thread.
    pub priority: Option<i16>,
    /// Time between releases, in nanoseconds.
    pub period: Nanos,
    /// Longest permitted time from the release of the first work to the end of the last, in nanoseconds.
    pub deadline: Nanos,
    /// Longest time from the release of the first work to the end of the last, in nanoseconds; `None`: unbounded.
    pub response: Option<Nanos>,
    /// Whether a miss prevents deployment.
    pub is_critical: bool,
    /// Composition of the response time.
    pub because: String,
    /// Assumption of the response time that nothing ensures, so that the deadline is not proved; `None`: there is none.
    pub unproved: Option<String>,
    /// Position of the last work in the document of resources.
    pub place: Place,
}

impl Chain {
    /// Reports whether the chain is proved to meet its deadline.
    pub fn meets(&self) -> bool {
        self.fits() && self.unproved.is_none()
    }

    /// Reports whether the response time has a bound within the deadline, which may depend on an assumption
    /// ([`Chain::unproved`]).
    pub fn fits(&self) -> bool {
        self.response.is_some_and(|response| response <= self.deadline)
    }
}

/// Response times of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// Chains, one for each work at which a chain ends.
    pub chains: Vec<Chain>,
    /// Nodes with the utilisation of one processor by their works.
    pub nodes: Vec<(String, f64)>,
}

impl Timing {
    /// Maximum number of jobs that are analysed.
    pub const MOST_JOBS: usize = 1_000;

    /// Maximum number of steps over connections, including calls that are a part of their caller.
    pub const MOST_STEPS: usize = 10_000;

    /// Maximum number of consecutive connections that are followed.
    pub const MOST_DEPTH: usize = 256;

    /// Reports whether all critical deadlines are proved to be met.
    pub fn is_safe(&self) -> bool {
        self.chains.iter().all(|chain| chain.meets() || !chain.is_critical)
    }

    /// Returns a finding for each deadline that may be missed.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let missed = self.chains.iter().filter(|chain| !chain.fits());
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
                "may take {} to the end of {last}, but its deadline is {}",
                Show(response),
                Show(self.deadline)
            ),
            None => {
                write!(what, "may not complete {last} within its period of {}", Show(self.period))
            }
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

/// Number of rounds after which a value that still grows counts as unbounded.
const MOST_ROUNDS: usize = 100;

/// State of a job in a round. Values only grow.
#[derive(Debug, Clone, Copy, PartialEq)]
struct State {
    /// Latest release, relative to that of its chain; `None`: unbounded.
    arrival: Option<Nanos>,
    /// Time from the release of its segment to its end.
    alone: Nanos,
    /// Part of that time in which the job waits for other nodes.
    suspended: Nanos,
    /// Latest end, relative to the release of its chain; `None`: unbounded.
    response: Option<Nanos>,
}

/// Relations between jobs.
struct Shape {
    children: Vec<Vec<usize>>,
    /// Time-released job of each job's tree.
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

    /// Adds a job and all its descendants.
    fn below(&self, at: usize, into: &mut Vec<usize>) {
        into.push(at);
        self.children[at].iter().for_each(|&child| self.below(child, into));
    }
}

/// Consecutive steps on one node that end with a job, and the jobs to consider with them.
struct Segment {
    top: usize,
    /// Jobs whose time is part of the segment: its steps, and calls on the same node.
    parts: Vec<usize>,
    /// Calls to other nodes.
    elsewhere: Vec<usize>,
    /// Jobs of the same transaction on the node that may interfere once.
    beside: Vec<usize>,
    /// Lowest priority of its parts.
    priority: Option<i16>,
    /// Longest delay by less urgent jobs that hold resources.
    blocking: Nanos,
}

impl Segment {
    fn of(at: usize, all: &[Job<'_>], shape: &Shape) -> Segment {
        let node = all[at].node;
        let mut before = vec![false; all.len()];
        let mut is_part = vec![false; all.len()];
        let mut parts = vec![at];
        is_part[at] = true;
        let mut above = all[at].parent;
        let (mut step, mut top, mut is_here) = (at, at, true);
        while let Some(parent) = above {
            // A message from another node takes time in which the node does other work: the sender of two direct pushes
            // gets the first one's reply before it sends the second.
            is_here = is_here && all[parent].node == node && all[step].delay == 0;
            if is_here {
                parts.push(parent);
                is_part[parent] = true;
                top = parent;
            }
            before[parent] = true;
            step = parent;
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
        let follows = |&&child: &&usize| !all[child].is_call && !all[child].is_early;
        for &child in shape.children[at].iter().filter(follows) {
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
        let beside: Vec<usize> = (0..all.len()).filter(is_beside).collect();
        let is_other = |&other: &usize| {
            shape.root[other] != shape.root[at]
                && all[other].node == node
                && all[other].priority >= priority
        };
        let others = (0..all.len()).filter(is_other).chain(beside.iter().copied());
        Segment {
            top,
            blocking: blocking(&parts, others, all, shape),
            beside,
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
    let mut is_late = vec![false; all.len()];
    let mut verdicts: Vec<Option<(TaskSet, Verdict)>> = vec![None; all.len()];
    for round in 0..=MOST_ROUNDS {
        let before = states.clone();
        for (at, job) in all.iter().enumerate() {
            // Parents precede their children, so that a change propagates to all descendants in one round.
            let released = |at: usize, states: &[State]| match all[at].parent {
                None => Some(all[at].jitter).filter(|_| !is_late[at]),
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
                // The caller waits for the call, so the call ends no later than the caller.
                response = states[caller].response.map(|caller| caller.min(found)).or(Some(found));
            }
            states[at].alone = alone.unwrap_or(job.period).min(job.period).max(states[at].alone);
            let is_known = states[at].response.is_some() && round < MOST_ROUNDS;
            states[at].response = response.filter(|&response| is_known && response <= job.period);
            verdicts[at] = verdict;
        }
        overrun(all, &segments, &shape, &mut states);
        late(jobs, &shape, &mut is_late, &mut states);
        if states == before {
            break;
        }
    }
    report(jobs, &states, &verdicts)
}

/// Marks as unbounded the jobs of a chain that its own overrun may delay: a job that may still run at the next release
/// of its chain precedes jobs of the chain on that node that are not more urgent, which were analysed as if it
/// interfered once.
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

/// Marks as unbounded all jobs of a chain whose thread may be busy at the next release. The thread waits for its calls
/// and direct pushes, so that the release is then late or lost. `is_late` contains the time-released jobs of such chains.
fn late(jobs: &Jobs<'_>, shape: &Shape, is_late: &mut [bool], states: &mut [State]) {
    for end in &jobs.ends {
        let ended = states[end.last].response.map(|ended| ended.saturating_add(end.returning));
        is_late[end.root] |= ended.is_none_or(|ended| ended > jobs.jobs[end.root].period);
    }
    for (at, state) in states.iter_mut().enumerate() {
        if is_late[shape.root[at]] {
            (state.arrival, state.response) = (None, None);
        }
    }
}

/// Returns the tasks that compete with a segment, and the segment itself as the last and least urgent one; `None` if a
/// competing task is unbounded.
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
                // While a job of equal priority waits, it may hold a thread that both jobs need, so its waiting counts
                // as execution.
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
    task.blocking = segment.blocking;
    tasks.push(task);
    Some(TaskSet::fixed_priority(tasks))
}

/// Returns the longest time for which less urgent jobs that hold resources delay jobs that run one after the other.
/// `others` are the other jobs of the node that are as urgent or more urgent.
///
/// Each job may wait for a resource that it needs. Another job that waits for a resource delays it, too, as the holder
/// of the resource then runs at the urgency of that job. A less urgent job enters a section only while no job waits for
/// the processor: before the first one begins, and during calls.
fn blocking(
    parts: &[usize],
    others: impl Iterator<Item = usize>,
    all: &[Job<'_>],
    shape: &Shape,
) -> Nanos {
    let calls = |part: usize| -> u64 {
        shape.children[part].iter().filter(|&&child| all[child].is_call).count() as u64
    };
    let times = |time: Nanos, calls: u64| time.saturating_mul(calls.saturating_add(1));
    let own = parts.iter().map(|&part| times(all[part].blocking, calls(part)));
    let own = own.fold(0, Nanos::saturating_add);
    // Jobs of the same work need the same resources, whose holder delays the others once.
    let mut by_work: HashMap<&str, Nanos> = HashMap::new();
    for job in others.map(|other| &all[other]) {
        let known = by_work.entry(&job.name).or_default();
        *known = job.blocking.max(*known);
    }
    let others = by_work.into_values().fold(0, Nanos::saturating_add);
    own.saturating_add(times(others, parts.iter().map(|&part| calls(part)).sum()))
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
            unproved: None,
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
