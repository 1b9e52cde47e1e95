//! End to end across nodes: processors and links are resources, and a step begins when the one before it is done (Tindell
//! and Clark).
//!
//! What a step waits for on its resource makes the release of the next one jitter; that in turn makes it wait differently.
//! All responses are computed again and again until none changes. A link is a resource whose jobs are messages, which
//! nothing interrupts.

use super::verdict::{Method, Outcome};
use super::{Verdict, analyse};
use crate::task::TaskSet;
use crate::time::{LONGEST, Nanos};

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
    /// By resource and task; responses are from the nominal release of the flow.
    pub verdicts: Vec<Vec<Verdict>>,
    /// By flow.
    pub flows: Vec<EndToEnd>,
    /// Rounds until nothing changed any more.
    pub rounds: u32,
}

/// Rounds before giving up.
const MOST_ROUNDS: u32 = 1_000;

/// Why a system is none.
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl std::error::Error for Wrong {}

/// Analyses flows over resources.
///
/// # Errors
/// What is wrong with the system.
pub fn analyse_flows(resources: &[Resource], flows: &[Flow]) -> Result<Holistic, Wrong> {
    check(resources, flows)?;
    let mut resources: Vec<Resource> = resources.to_vec();
    // The response that a step has counts from the release of its flow, so its own deadline must not stop the search.
    let mut rounds = 0;
    loop {
        rounds += 1;
        let verdicts: Vec<Vec<Verdict>> = resources
            .iter()
            .map(|resource| analyse(&resource.set).verdicts)
            .collect();
        let response = |step: Step| verdicts[step.resource][step.task].response;
        let mut changed = false;
        let mut lost = false;
        for flow in flows {
            for pair in flow.steps.windows(2) {
                let jitter = response(pair[0]).filter(|&jitter| jitter <= LONGEST);
                let Some(jitter) = jitter else {
                    lost = true;
                    break;
                };
                let task = &mut resources[pair[1].resource].set.tasks[pair[1].task];
                changed |= task.jitter < jitter;
                // Responses never fall from round to round.
                task.jitter = task.jitter.max(jitter);
            }
        }
        if !changed || lost || rounds == MOST_ROUNDS {
            let settled = !changed && !lost;
            return Ok(report(verdicts, flows, rounds, settled));
        }
    }
}

fn report(mut verdicts: Vec<Vec<Verdict>>, flows: &[Flow], rounds: u32, settled: bool) -> Holistic {
    let mut found = Vec::new();
    for flow in flows {
        let mut by = Vec::new();
        for step in &flow.steps {
            let verdict = &mut verdicts[step.resource][step.task];
            verdict.method = Method::Holistic;
            let known = by.last().is_none_or(Option::is_some);
            by.push(verdict.response.filter(|_| settled && known));
            if by.last() == Some(&None) {
                verdict.outcome = Outcome::Unproven;
            }
        }
        let response = by.last().copied().flatten();
        found.push(EndToEnd {
            by,
            response,
            meets: response.is_some_and(|response| response <= flow.deadline),
        });
    }
    Holistic {
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
}
