//! End to end across nodes: processors and links are resources, and a step begins when the one before it is done (Tindell
//! and Clark).
//!
//! What a step waits for on its resource makes the release of the next one jitter; that in turn makes it wait differently.
//! All responses are computed again and again until none changes. A link is a resource whose jobs are messages, which
//! nothing interrupts.
//!
//! Where a step has no bound, nothing is known of when the next one begins, nor of whatever shares a resource with that.

use super::verdict::{Method, Outcome};
use super::{Verdict, analyse};
use crate::task::TaskSet;
use crate::time::Nanos;

/// A processor or a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// What reports call it.
    pub name: String,
    /// What runs on it, or what it carries: a link's tasks are messages, with the time they take on it.
    pub set: TaskSet,
}

/// Names a task of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    /// Place of the resource.
    pub resource: usize,
    /// Place of the task in it.
    pub task: usize,
}

/// Steps that follow one another, each begun by the end of the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// What reports call it.
    pub name: String,
    /// In order; all with the same period.
    pub steps: Vec<Step>,
    /// From the release of the first step to the end of the last.
    pub deadline: Nanos,
}

/// What was found for one flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndToEnd {
    /// From the nominal release of the first step to the end of each step at worst; `None` from the first one on that has no
    /// bound.
    pub by: Vec<Option<Nanos>>,
    /// Of the whole flow.
    pub response: Option<Nanos>,
    /// Whether the deadline is met for sure.
    pub meets: bool,
}

/// What was found for all.
#[derive(Debug, Clone, PartialEq)]
pub struct Holistic {
    /// As they were given, with the jitter that steps have from those before them.
    pub resources: Vec<Resource>,
    /// By resource and task; responses are from the nominal release of the flow.
    pub verdicts: Vec<Vec<Verdict>>,
    /// By flow.
    pub flows: Vec<EndToEnd>,
    /// Rounds until nothing changed any more.
    pub rounds: u32,
}

/// Rounds before giving up.
const MOST_ROUNDS: u32 = 200;

/// Periods by which a step may be late before it counts as having no bound: beyond it each round takes long, and no deadline
/// is there.
const MOST_PERIODS: u64 = 1_000;

/// Why a system is none.
#[derive(Clone, PartialEq, Eq)]
pub enum Wrong {
    /// A flow names a step that is not there.
    NoStep(String),
    /// The steps of a flow have different periods.
    Periods(String),
    /// A step is in two flows, or twice in one.
    Twice(String),
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wrong::NoStep(flow) => write!(f, "{flow} names a step that is not there"),
            Wrong::Periods(flow) => write!(f, "the steps of {flow} have different periods"),
            Wrong::Twice(step) => write!(f, "{step} is a step of more than one flow"),
        }
    }
}

impl std::fmt::Debug for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Wrong {}

/// Analyses flows over resources.
///
/// # Errors
/// What is wrong with the system.
pub fn analyse_flows(resources: &[Resource], flows: &[Flow]) -> Result<Holistic, Wrong> {
    check(resources, flows)?;
    let mut resources: Vec<Resource> = resources.to_vec();
    for rounds in 1.. {
        // The response of a step counts from the release of its flow.
        let verdicts: Vec<Vec<Verdict>> = resources
            .iter()
            .map(|resource| analyse(&resource.set).verdicts)
            .collect();
        let mut changed = false;
        for pair in flows.iter().flat_map(|flow| flow.steps.windows(2)) {
            let before = &resources[pair[0].resource].set.tasks[pair[0].task];
            let most = before.period.saturating_mul(MOST_PERIODS);
            let jitter = verdicts[pair[0].resource][pair[0].task].response;
            if let Some(jitter) = jitter.filter(|&jitter| jitter <= most) {
                let task = &mut resources[pair[1].resource].set.tasks[pair[1].task];
                changed |= task.jitter < jitter;
                // Responses never fall from round to round.
                task.jitter = task.jitter.max(jitter);
            }
        }
        if !changed || rounds == MOST_ROUNDS {
            let known = match changed {
                true => vec![false; resources.len()],
                false => known(&resources, &verdicts, flows),
            };
            return Ok(report(resources, verdicts, flows, rounds, &known));
        }
    }
    unreachable!("rounds end")
}

/// Whether it is known when the jobs of each resource begin.
fn known(resources: &[Resource], verdicts: &[Vec<Verdict>], flows: &[Flow]) -> Vec<bool> {
    let mut known = vec![true; resources.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for pair in flows.iter().flat_map(|flow| flow.steps.windows(2)) {
            let (before, after) = (pair[0], pair[1]);
            let response = verdicts[before.resource][before.task].response;
            let jitter = resources[after.resource].set.tasks[after.task].jitter;
            let bounded = response.is_some_and(|response| response <= jitter);
            if known[after.resource] && !(known[before.resource] && bounded) {
                known[after.resource] = false;
                changed = true;
            }
        }
    }
    known
}

fn report(
    resources: Vec<Resource>,
    mut verdicts: Vec<Vec<Verdict>>,
    flows: &[Flow],
    rounds: u32,
    known: &[bool],
) -> Holistic {
    for (verdicts, known) in verdicts.iter_mut().zip(known) {
        for verdict in verdicts.iter_mut().filter(|_| !known) {
            *verdict = Verdict::without(verdict.task, Outcome::Unproven, verdict.method);
        }
    }
    let mut found = Vec::new();
    for flow in flows {
        let mut by = Vec::new();
        for step in &flow.steps {
            let verdict = &mut verdicts[step.resource][step.task];
            verdict.method = Method::Holistic;
            by.push(verdict.response);
        }
        let response = by.last().copied().flatten();
        found.push(EndToEnd {
            by,
            response,
            meets: response.is_some_and(|response| response <= flow.deadline),
        });
    }
    Holistic {
        resources,
        verdicts,
        flows: found,
        rounds,
    }
}

fn check(resources: &[Resource], flows: &[Flow]) -> Result<(), Wrong> {
    let mut seen = std::collections::HashSet::new();
    for flow in flows {
        let mut period = None;
        for step in &flow.steps {
            let resource = resources.get(step.resource);
            let task = resource.and_then(|resource| resource.set.tasks.get(step.task));
            let task = task.ok_or_else(|| Wrong::NoStep(flow.name.clone()))?;
            if *period.get_or_insert(task.period) != task.period {
                return Err(Wrong::Periods(flow.name.clone()));
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
            node(
                "one",
                vec![
                    Task::periodic("urgent", 3, 10),
                    Task::periodic("send", 4, 50),
                ],
            ),
            link,
            node(
                "two",
                vec![
                    Task::periodic("receive", 6, 50),
                    Task::periodic("rest", 10, 60),
                ],
            ),
        ];
        let flow = Flow {
            name: "flow".into(),
            steps: vec![step(0, 1), step(1, 0), step(2, 0)],
            deadline: 25,
        };
        let found = analyse_flows(&resources, std::slice::from_ref(&flow)).unwrap();
        // send: 4 + 3; the message: behind 4 of bulk, 2; receive: 6.
        assert_eq!(found.flows[0].by, [Some(7), Some(13), Some(19)]);
        assert!(found.flows[0].meets);
        // The rest of node two sees receive jitter by 13.
        assert_eq!(found.verdicts[2][1].response, Some(16));
        let told = found.verdicts[2][0].reasons(&found.resources[2].set);
        assert_eq!(told.to_string(), "own 6 ns, released up to 13 ns late");
        let tight = Flow {
            deadline: 18,
            ..flow.clone()
        };
        assert!(!analyse_flows(&resources, &[tight]).unwrap().flows[0].meets);
        let twice = analyse_flows(&resources, &[flow.clone(), flow.clone()]);
        assert_eq!(twice, Err(Wrong::Twice("send".into())));
        let nowhere = Flow {
            steps: vec![step(3, 0)],
            ..flow
        };
        assert!(matches!(
            analyse_flows(&resources, &[nowhere]),
            Err(Wrong::NoStep(_))
        ));
    }

    #[test]
    fn what_comes_after_a_step_without_a_bound_is_not_proved() {
        let node = |name: &str, tasks: Vec<Task>| Resource {
            name: name.into(),
            set: TaskSet::fixed_priority(tasks),
        };
        // The first node has more than it can do; the third takes no part.
        let resources = [
            node(
                "full",
                vec![Task::periodic("a", 8, 10), Task::periodic("b", 8, 20)],
            ),
            node(
                "next",
                vec![Task::periodic("c", 1, 20), Task::periodic("rest", 1, 50)],
            ),
            node("other", vec![Task::periodic("d", 1, 20)]),
        ];
        let flow = Flow {
            name: "flow".into(),
            steps: vec![step(0, 1), step(1, 0)],
            deadline: 1_000,
        };
        let found = analyse_flows(&resources, &[flow]).unwrap();
        assert_eq!(found.flows[0].by, [None, None]);
        assert!(!found.flows[0].meets);
        let outcome = |resource: usize, task: usize| found.verdicts[resource][task].outcome;
        assert_eq!(outcome(0, 0), Outcome::Meets);
        assert_eq!(outcome(0, 1), Outcome::Misses);
        assert_eq!(
            (outcome(1, 0), outcome(1, 1)),
            (Outcome::Unproven, Outcome::Unproven)
        );
        assert_eq!(outcome(2, 0), Outcome::Meets);
    }

    #[test]
    fn flows_that_delay_each_other_in_a_ring_come_to_an_end() {
        let node = |name: &str, tasks: Vec<Task>| Resource {
            name: name.into(),
            set: TaskSet::fixed_priority(tasks),
        };
        let flow = |name: &str, steps| Flow {
            name: name.into(),
            steps,
            deadline: 100,
        };
        let task = |name: &str, wcet| Task::periodic(name, wcet, 20);
        for (wcet, meets) in [(4, true), (10, false)] {
            // Each flow ends where it goes first, and delays there the one that begins.
            let resources = [
                node("one", vec![task("b2", wcet), task("a1", wcet)]),
                node("two", vec![task("a2", wcet), task("b1", wcet)]),
            ];
            let flows = [
                flow("a", vec![step(0, 1), step(1, 0)]),
                flow("b", vec![step(1, 1), step(0, 0)]),
            ];
            let found = analyse_flows(&resources, &flows).unwrap();
            assert_eq!(found.flows[0].meets, meets, "{found:?}");
            assert_eq!(found.flows[1].meets, meets);
        }
    }
}
