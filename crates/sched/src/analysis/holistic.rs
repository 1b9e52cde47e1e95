//! End-to-end analysis across nodes: processors and links are resources, and a step begins when the
//! previous one is done (Tindell and Clark).
//!
//! The response of a step on its resource is release jitter of the next step, which changes the
//! latter's response in turn. All responses are computed repeatedly until a fixed point is reached.
//! A link is a resource whose jobs are messages, which nothing interrupts.
//!
//! Everything is analysed twice. The first analysis is that of Tindell and Clark, which allows any
//! steps of a resource to be released together. The steps of one flow never are: each has an offset
//! from the release of the flow, its earliest start, and jitter, the possible delay of that start
//! (dynamic offsets; Palencia and González Harbour, "Schedulability Analysis for Tasks with Static
//! and Dynamic Offsets", RTSS 1998, with the upper bound of interference). In each round of the
//! second analysis a step gets the shorter of both responses, so that the second analysis never
//! exceeds the first; the second is reported, unless its rounds do not converge.
//!
//! A flow need not be released by a clock: a period is the least time between two releases. If
//! steps of a flow on one resource all begin within a period of each other, a late release only
//! moves the next run away from the previous one, and the closest runs are the worst case. If they
//! do not, a late release may bring together steps of two runs that the clock would keep apart, and
//! the offsets are ignored there.
//!
//! Where best-case times are declared, a step begins no earlier than the best-case end of the
//! previous steps, so that only the difference is jitter. Only tasks that are not steps may have
//! bursts.
//!
//! A step after the first has no release of its own: a declared offset would tie it to a start that
//! its flow does not have, and is refused ([`Wrong::Offset`]). Its declared jitter is added to that
//! of the previous steps. The first step may have both, and the flow counts from its nominal
//! release.
//!
//! If a step is unbounded, the start of the next step is unknown, and so are the responses of all
//! tasks that share a resource with the next step.

use std::collections::HashMap;

use super::offsets::{self, Group, Phase};
use super::verdict::{DeadlineOutcome, Method};
use super::{Verdict, analyse_with, best};
use crate::task::TaskSet;
use crate::time::Nanos;

/// Processor or link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Name in reports.
    pub name: String,
    /// Tasks that run on a processor, or messages that a link carries, each with its transmission
    /// time.
    pub set: TaskSet,
}

/// Identity of a task on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    /// Index of the resource.
    pub resource: usize,
    /// Index of the task in it.
    pub task: usize,
}

/// Sequence of steps, each begun by the end of the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Name in reports.
    pub name: String,
    /// Steps in order; all with the same period.
    pub steps: Vec<Step>,
    /// Longest time from the release of the first step to the end of the last.
    pub deadline: Nanos,
}

/// Verdict on a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndToEnd {
    /// Worst time from the nominal release of the first step to the end of each step; `None` from
    /// the first unbounded step on.
    pub by: Vec<Option<Nanos>>,
    /// Best time from the nominal release of the first step to the end of each step; 0 if no
    /// best-case times are declared.
    pub best: Vec<Nanos>,
    /// Response of the whole flow: the tighter of `holistic` and `offsets`.
    pub response: Option<Nanos>,
    /// Response of the whole flow if any steps may be released together.
    pub holistic: Option<Nanos>,
    /// Response of the whole flow if steps of one flow keep their distances.
    pub offsets: Option<Nanos>,
    /// Whether the deadline is proved.
    pub meets: bool,
}

/// Result of the holistic analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct Holistic {
    /// Given resources, with the jitter that steps inherit from previous steps.
    pub resources: Vec<Resource>,
    /// Verdicts by resource and task; responses are from the nominal release of the flow.
    pub verdicts: Vec<Vec<Verdict>>,
    /// Verdicts by flow.
    pub flows: Vec<EndToEnd>,
    /// Number of rounds to the fixed point.
    pub rounds: u32,
}

/// Maximum number of rounds.
const MOST_ROUNDS: u32 = 200;

/// Largest jitter of a step, in periods. Longer jitter is treated as unbounded, because rounds
/// become slow and deadlines are missed anyway.
const MOST_PERIODS: u64 = 1_000;

/// Reason why a system is invalid.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// A flow names a step that does not exist.
    #[error("{0} names a step that does not exist")]
    NoStep(String),
    /// The steps of a flow have different periods.
    #[error("the steps of {0} have different periods")]
    Periods(String),
    /// A step belongs to two flows, or twice to one.
    #[error("{0} is a step of more than one flow")]
    Twice(String),
    /// A step has bursts.
    #[error("{0} is a step of a flow and comes in bursts")]
    Burst(String),
    /// A step after the first has an offset.
    #[error(
        "{0} has an offset and is released by the step before it in its flow; only a first step may have one"
    )]
    Offset(String),
    /// Events on its resource, or a server, release or delay a step.
    #[error(
        "{0} is a step of a flow and released by events as well; make their sender a step of the flow"
    )]
    Events(String),
}

impl std::fmt::Debug for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Analyses flows over resources, with and without the distances between the steps of a flow.
///
/// Takes O(n^2) for n tasks of a resource, multiplied by the jobs in a busy period, the members of
/// a flow, and the rounds.
///
/// # Errors
/// [`Wrong`].
pub fn analyse_flows(resources: &[Resource], flows: &[Flow]) -> Result<Holistic, Wrong> {
    check(resources, flows)?;
    let system = System { said: resources, flows, early: Early::of(resources, flows) };
    let apart = system.settle(None);
    let phased = system.settle(Some(system.phases()));
    let response = |settled: &Settled| -> Vec<Option<Nanos>> {
        let last = |flow: &Flow| system.done(settled, *flow.steps.last()?);
        flows.iter().map(last).collect()
    };
    let (holistic, offsets) = (response(&apart), response(&phased));
    // Offsets never make a bound longer, but their rounds may not converge. If that loses a result,
    // report the analysis without offsets.
    let lost = apart.known.iter().zip(&phased.known).any(|(apart, phased)| *apart && !phased);
    let mut found = system.report(if lost { apart } else { phased });
    for (flow, (holistic, offsets)) in found.flows.iter_mut().zip(holistic.into_iter().zip(offsets))
    {
        (flow.holistic, flow.offsets) = (holistic, offsets);
    }
    Ok(found)
}

/// System under analysis.
struct System<'a> {
    /// Given resources.
    said: &'a [Resource],
    flows: &'a [Flow],
    early: Early,
}

/// Fixed point of the jitters.
struct Settled {
    /// Resources with the jitter that steps inherit from previous steps.
    resources: Vec<Resource>,
    verdicts: Vec<Vec<Verdict>>,
    /// Whether the starts of the jobs of each resource are known.
    known: Vec<bool>,
    rounds: u32,
}

impl System<'_> {
    /// Returns the phases of steps: each has its earliest start as its offset from the release of
    /// the flow. Jitter is the delay beyond it.
    fn phases(&self) -> Vec<Vec<Option<Phase>>> {
        let sets = self.said.iter().map(|resource| &resource.set);
        let mut phases: Vec<Vec<Option<Phase>>> = sets.map(offsets::declared).collect();
        for (place, flow) in self.flows.iter().enumerate() {
            for &step in &flow.steps {
                phases[step.resource][step.task] =
                    Some(Phase { group: Group::Flow(place), offset: self.early.begin(step) });
            }
        }
        phases
    }

    /// Analyses resources until no jitter changes, or the maximum number of rounds is reached.
    fn settle(&self, mut phases: Option<Vec<Vec<Option<Phase>>>>) -> Settled {
        let mut resources = self.said.to_vec();
        for rounds in 1.. {
            // The analysis counts the response of a step from its earliest start.
            let verdicts: Vec<Vec<Verdict>> = resources
                .iter()
                .enumerate()
                .map(|(at, resource)| {
                    analyse_with(&resource.set, phases.as_ref().map(|phases| &*phases[at])).verdicts
                })
                .collect();
            let mut changed = false;
            for pair in self.pairs() {
                let before = &resources[pair[0].resource].set.tasks[pair[0].task];
                let most = before.period.saturating_mul(MOST_PERIODS);
                let jitter = self.jitter(&verdicts, pair);
                if let Some(jitter) = jitter.filter(|&jitter| jitter <= most) {
                    let task = &mut resources[pair[1].resource].set.tasks[pair[1].task];
                    changed |= task.jitter < jitter;
                    // Responses never decrease from round to round, so jitter must not decrease
                    // either.
                    task.jitter = task.jitter.max(jitter);
                }
            }
            if let Some(phases) = &mut phases {
                changed |= self.forget_overlaps(&resources, phases);
            }
            if !changed || rounds == MOST_ROUNDS {
                let known = match changed {
                    true => vec![false; resources.len()],
                    false => self.known(&resources, &verdicts),
                };
                return Settled { resources, verdicts, known, rounds };
            }
        }
        unreachable!("rounds end")
    }

    /// Removes the phases of a flow on a resource where its steps can begin further apart than a
    /// period, and reports whether there were any. A flow released later than a period after its
    /// last release then has steps of two runs there at a distance that no offset describes.
    fn forget_overlaps(&self, resources: &[Resource], phases: &mut [Vec<Option<Phase>>]) -> bool {
        let mut forgotten = false;
        for flow in self.flows {
            for (at, resource) in resources.iter().enumerate() {
                let here = || flow.steps.iter().filter(|step| step.resource == at);
                let begin = |step: &Step| self.early.begin(*step);
                let latest =
                    |step: &Step| begin(step).saturating_add(resource.set.tasks[step.task].jitter);
                let (Some(first), Some(last)) = (here().map(begin).min(), here().map(latest).max())
                else {
                    continue;
                };
                for step in here() {
                    if last - first > resource.set.tasks[step.task].period {
                        forgotten |= phases[at][step.task].take().is_some();
                    }
                }
            }
        }
        forgotten
    }

    fn pairs(&self) -> impl Iterator<Item = &[Step]> {
        self.flows.iter().flat_map(|flow| flow.steps.windows(2))
    }

    /// Returns the release jitter of the second of two steps from the response found for the first.
    fn jitter(&self, verdicts: &[Vec<Verdict>], pair: &[Step]) -> Option<Nanos> {
        let own = self.said[pair[1].resource].set.tasks[pair[1].task].jitter;
        let response = verdicts[pair[0].resource][pair[0].task].response?;
        let done = response.saturating_add(self.early.begin(pair[0]));
        let late = done.saturating_sub(self.early.begin(pair[1]));
        Some(late.saturating_add(own))
    }

    /// Returns for each resource whether the starts of its jobs are known.
    fn known(&self, resources: &[Resource], verdicts: &[Vec<Verdict>]) -> Vec<bool> {
        let mut known = vec![true; resources.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for pair in self.pairs() {
                let (before, after) = (pair[0], pair[1]);
                let counted = resources[after.resource].set.tasks[after.task].jitter;
                let jitter = self.jitter(verdicts, pair);
                let bounded = jitter.is_some_and(|jitter| jitter <= counted);
                if known[after.resource] && !(known[before.resource] && bounded) {
                    known[after.resource] = false;
                    changed = true;
                }
            }
        }
        known
    }

    /// Returns the time from the nominal release of its flow to the end of a step.
    fn done(&self, settled: &Settled, step: Step) -> Option<Nanos> {
        let response = settled.verdicts[step.resource][step.task].response;
        let response = response.filter(|_| settled.known[step.resource])?;
        Some(response.saturating_add(self.early.begin(step)))
    }

    fn report(&self, settled: Settled) -> Holistic {
        let mut found = Vec::new();
        for flow in self.flows {
            let by: Vec<Option<Nanos>> =
                flow.steps.iter().map(|step| self.done(&settled, *step)).collect();
            let response = by.last().copied().flatten();
            found.push(EndToEnd {
                by,
                best: flow.steps.iter().map(|step| self.early.end(*step)).collect(),
                response,
                holistic: None,
                offsets: None,
                meets: response.is_some_and(|response| response <= flow.deadline),
            });
        }
        let Settled { resources, mut verdicts, known, rounds } = settled;
        for (verdicts, known) in verdicts.iter_mut().zip(known) {
            for verdict in verdicts.iter_mut().filter(|_| !known) {
                *verdict =
                    Verdict::without(verdict.task, DeadlineOutcome::Unproven, verdict.method);
            }
        }
        let ends = self.flows.iter().zip(&found);
        for (step, by) in ends.flat_map(|(flow, end)| flow.steps.iter().zip(&end.by)) {
            let verdict = &mut verdicts[step.resource][step.task];
            verdict.method = Method::Holistic;
            verdict.response = *by;
            let deadline = resources[step.resource].set.tasks[step.task].deadline;
            if by.is_some_and(|by| by > deadline) && verdict.outcome == DeadlineOutcome::Meets {
                verdict.outcome = DeadlineOutcome::Unproven;
            }
        }
        Holistic { resources, verdicts, flows: found, rounds }
    }
}

/// Earliest starts and ends of steps, from the nominal release of their flow on.
struct Early(HashMap<Step, (Nanos, Nanos)>);

impl Early {
    fn of(resources: &[Resource], flows: &[Flow]) -> Early {
        let mut early = HashMap::new();
        for flow in flows {
            let mut begin: Nanos = 0;
            for &step in &flow.steps {
                let alone = best::alone(&resources[step.resource].set.tasks[step.task]);
                let end = begin.saturating_add(alone);
                early.insert(step, (begin, end));
                begin = end;
            }
        }
        Early(early)
    }

    fn begin(&self, step: Step) -> Nanos {
        self.0.get(&step).map_or(0, |(begin, _)| *begin)
    }

    fn end(&self, step: Step) -> Nanos {
        self.0.get(&step).map_or(0, |(_, end)| *end)
    }
}

fn check(resources: &[Resource], flows: &[Flow]) -> Result<(), Wrong> {
    let mut seen = std::collections::HashSet::new();
    for flow in flows {
        let mut period = None;
        for (at, step) in flow.steps.iter().enumerate() {
            let resource = resources.get(step.resource);
            let task = resource.and_then(|resource| resource.set.tasks.get(step.task));
            let task = task.ok_or_else(|| Wrong::NoStep(flow.name.clone()))?;
            if *period.get_or_insert(task.period) != task.period {
                return Err(Wrong::Periods(flow.name.clone()));
            }
            if task.burst.is_some() {
                return Err(Wrong::Burst(task.name.clone()));
            }
            if at > 0 && task.offset.is_some() {
                return Err(Wrong::Offset(task.name.clone()));
            }
            if !task.after.is_empty() || task.delay > 0 {
                return Err(Wrong::Events(task.name.clone()));
            }
            if !seen.insert(*step) {
                return Err(Wrong::Twice(task.name.clone()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::{DispatchModel, Dispatching};
    use crate::task::Task;

    fn step(resource: usize, task: usize) -> Step {
        Step { resource, task }
    }

    #[test]
    fn a_flow_over_a_link() {
        let node = |name: &str, tasks: Vec<Task>| Resource {
            name: name.into(),
            set: TaskSet::fixed_priority(tasks),
        };
        let link = Resource {
            name: "link".into(),
            set: TaskSet {
                model: DispatchModel::NonPreemptive,
                ..TaskSet::dynamic(
                    [Task::periodic("m", 2, 50), Task::periodic("bulk", 5, 50)],
                    Dispatching::Static,
                    DispatchModel::NonPreemptive,
                )
            },
        };
        let resources = [
            node("one", vec![Task::periodic("urgent", 3, 10), Task::periodic("send", 4, 50)]),
            link,
            node("two", vec![Task::periodic("receive", 6, 50), Task::periodic("rest", 10, 60)]),
        ];
        let flow = Flow {
            name: "flow".into(),
            steps: vec![step(0, 1), step(1, 0), step(2, 0)],
            deadline: 25,
        };
        let found = analyse_flows(&resources, std::slice::from_ref(&flow)).unwrap();
        // `send` takes 4 + 3. The message takes 2 and is blocked by 4 of `bulk`. `receive` takes 6.
        assert_eq!(found.flows[0].by, [Some(7), Some(13), Some(19)]);
        assert!(found.flows[0].meets);
        // The other task of node two sees `receive` with a jitter of 13.
        assert_eq!(found.verdicts[2][1].response, Some(16));
        let told = found.verdicts[2][0].reasons(&found.resources[2].set);
        assert_eq!(told.to_string(), "own 6 ns, released up to 13 ns late");
        let tight = Flow { deadline: 18, ..flow.clone() };
        assert!(!analyse_flows(&resources, &[tight]).unwrap().flows[0].meets);
        let twice = analyse_flows(&resources, &[flow.clone(), flow.clone()]);
        assert_eq!(twice, Err(Wrong::Twice("send".into())));
        let nowhere = Flow { steps: vec![step(3, 0)], ..flow };
        assert!(matches!(analyse_flows(&resources, &[nowhere]), Err(Wrong::NoStep(_))));
    }

    #[test]
    fn what_comes_after_a_step_without_a_bound_is_not_proved() {
        let node = |name: &str, tasks: Vec<Task>| Resource {
            name: name.into(),
            set: TaskSet::fixed_priority(tasks),
        };
        // The first node is overloaded; the third node has no step of the flow.
        let resources = [
            node("full", vec![Task::periodic("a", 8, 10), Task::periodic("b", 8, 20)]),
            node("next", vec![Task::periodic("c", 1, 20), Task::periodic("rest", 1, 50)]),
            node("other", vec![Task::periodic("d", 1, 20)]),
        ];
        let flow =
            Flow { name: "flow".into(), steps: vec![step(0, 1), step(1, 0)], deadline: 1_000 };
        let found = analyse_flows(&resources, &[flow]).unwrap();
        assert_eq!(found.flows[0].by, [None, None]);
        assert!(!found.flows[0].meets);
        let outcome = |resource: usize, task: usize| found.verdicts[resource][task].outcome;
        assert_eq!(outcome(0, 0), DeadlineOutcome::Meets);
        assert_eq!(outcome(0, 1), DeadlineOutcome::Misses);
        assert_eq!(
            (outcome(1, 0), outcome(1, 1)),
            (DeadlineOutcome::Unproven, DeadlineOutcome::Unproven)
        );
        assert_eq!(outcome(2, 0), DeadlineOutcome::Meets);
    }

    #[test]
    fn flows_that_delay_each_other_in_a_ring_come_to_an_end() {
        let node = |name: &str, tasks: Vec<Task>| Resource {
            name: name.into(),
            set: TaskSet::fixed_priority(tasks),
        };
        let flow = |name: &str, steps| Flow { name: name.into(), steps, deadline: 100 };
        let task = |name: &str, wcet| Task::periodic(name, wcet, 20);
        for (wcet, meets) in [(4, true), (10, false)] {
            // Each flow ends on the node where the other one begins, and has the higher priority
            // there.
            let resources = [
                node("one", vec![task("b2", wcet), task("a1", wcet)]),
                node("two", vec![task("a2", wcet), task("b1", wcet)]),
            ];
            let flows =
                [flow("a", vec![step(0, 1), step(1, 0)]), flow("b", vec![step(1, 1), step(0, 0)])];
            let found = analyse_flows(&resources, &flows).unwrap();
            assert_eq!(found.flows[0].meets, meets, "{found:?}");
            assert_eq!(found.flows[1].meets, meets);
        }
    }
}
