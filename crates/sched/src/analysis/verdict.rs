//! Verdicts of the analysis, with explanations.

use std::fmt;

use super::bounds::Bounds;
use super::demand;
use super::wait::Wait;
use crate::task::{TaskSet, Utilization};
use crate::time::{Nanos, Show};

/// Whether a deadline is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadlineOutcome {
    /// The deadline is always met.
    Meets,
    /// The deadline is missed in the worst case, which can happen.
    Misses,
    /// The applicable test is sufficient but not exact, and does not decide.
    Unproven,
}

/// Method of the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Exact response-time analysis for static priorities.
    ResponseTime,
    /// Response-time analysis that uses known offsets.
    Offsets,
    /// Response times in a queue ordered by deadline or laxity, found by trying the arrivals at
    /// which the jobs' keys (deadlines or latest starts) meet.
    Keys,
    /// Length of the busy period, by whose end all work of the level and of more urgent levels is
    /// done.
    BusyPeriod,
    /// Processor demand of the whole level.
    Demand(demand::DemandOutcome),
    /// Response times across nodes.
    Holistic,
}

/// Verdict on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Index of the task in the set.
    pub task: usize,
    /// Result for the deadline of the operation.
    pub outcome: DeadlineOutcome,
    /// Method that decided.
    pub method: Method,
    /// Worst time from nominal release to completion; `None` if unbounded or not computed.
    pub response: Option<Nanos>,
    /// Blocking by a less urgent task.
    pub blocking: Nanos,
    /// Task whose non-preemptive request causes the blocking; `None` if no such request does.
    pub blocker: Option<usize>,
    /// Waits for more urgent tasks, the longest first.
    pub waits: Vec<Wait>,
}

impl Verdict {
    pub(super) fn without(task: usize, outcome: DeadlineOutcome, method: Method) -> Verdict {
        Verdict {
            task,
            outcome,
            method,
            response: None,
            blocking: 0,
            blocker: None,
            waits: Vec::new(),
        }
    }

    /// Returns the verdict as sentences, with names from its set.
    pub fn explain<'a>(&'a self, set: &'a TaskSet) -> Explained<'a> {
        Explained { verdict: self, set }
    }

    /// Returns the parts of its response: its own time, its release delay, and its waits.
    pub fn reasons<'a>(&'a self, set: &'a TaskSet) -> Reasons<'a> {
        Reasons { verdict: self, set }
    }
}

/// Verdict as printable sentences.
#[derive(Debug, Clone, Copy)]
pub struct Explained<'a> {
    verdict: &'a Verdict,
    set: &'a TaskSet,
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explained { verdict, set } = self;
        let task = &set.tasks[verdict.task];
        write!(f, "{}: ", task.name)?;
        match verdict.outcome {
            DeadlineOutcome::Meets => write!(f, "meets its deadline of {}", Show(task.deadline))?,
            DeadlineOutcome::Misses => write!(f, "misses its deadline of {}", Show(task.deadline))?,
            DeadlineOutcome::Unproven => {
                write!(f, "may miss its deadline of {}", Show(task.deadline))?
            }
        }
        match (verdict.response, verdict.outcome, verdict.method) {
            (Some(response), DeadlineOutcome::Meets, _) => {
                write!(f, ", response at most {}", Show(response))?;
            }
            (Some(response), ..) => write!(
                f,
                ", response up to {}, {} too long",
                Show(response),
                Show(response.saturating_sub(task.deadline))
            )?,
            (None, _, Method::Demand(demand::DemandOutcome::Meets)) => {
                f.write_str(", because all work fits within its deadlines")?;
            }
            (None, DeadlineOutcome::Misses, _) => {
                f.write_str(", the more urgent work never ends")?;
            }
            (None, _, Method::Demand(demand::DemandOutcome::Short { .. })) => {}
            (None, DeadlineOutcome::Unproven, _) => {
                f.write_str(", because the analysis found no bound")?;
            }
            (None, ..) => {}
        }
        if let Method::Demand(demand::DemandOutcome::Short { at, by }) = verdict.method {
            write!(
                f,
                "; {} after all operations are released together, {} more work is due than fits",
                Show(at),
                Show(by)
            )?;
        }
        match verdict.response {
            Some(_) => write!(f, ": {}", verdict.reasons(set)),
            None => Ok(()),
        }
    }
}

/// Printable parts of a response.
#[derive(Debug, Clone, Copy)]
pub struct Reasons<'a> {
    verdict: &'a Verdict,
    set: &'a TaskSet,
}

impl fmt::Display for Reasons<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reasons { verdict, set } = self;
        let task = &set.tasks[verdict.task];
        write!(f, "own {}", Show(task.wcet))?;
        if task.jitter > 0 {
            write!(f, ", released up to {} late", Show(task.jitter))?;
        }
        for wait in &verdict.waits {
            let name = &set.tasks[wait.task].name;
            write!(f, ", {} for {name} x{}", Show(wait.time), wait.jobs)?;
        }
        match (verdict.blocker, verdict.blocking) {
            (_, 0) => Ok(()),
            (Some(blocker), blocking) => {
                write!(f, ", blocked {} by {}", Show(blocking), set.tasks[blocker].name)
            }
            (None, blocking) => write!(f, ", blocked {}", Show(blocking)),
        }
    }
}

/// Report on a set.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Verdicts, one for each task, in the order of the set.
    pub verdicts: Vec<Verdict>,
    /// Bounds by utilisation alone.
    pub bounds: Bounds,
    /// Utilisation of each task.
    pub load: Vec<Utilization>,
    /// Chains of tasks that send each other events, one for each last task, in the order of the
    /// set. Tasks of several periods form no chain, as the numbers of their jobs diverge.
    pub chains: Vec<End>,
    /// Last tasks that end no chain, with the reason, in the order of the set.
    pub unchained: Vec<Unchained>,
}

/// Task released by events that sends none, without an end-to-end bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unchained {
    /// Index of the task in its set.
    pub task: usize,
    /// Reason why there is no chain.
    pub why: NoChain,
}

/// Reason why tasks that send each other events form no chain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoChain {
    /// Indices of the first senders, whose periods differ.
    Periods(Vec<usize>),
    /// Index of a step that is not released by events alone: it has an offset, jitter, or another
    /// period than its senders.
    Step(usize),
    /// The task receives its own events through other tasks.
    Circle,
}

/// Chain of tasks, each released by the end of the previous ones, with its end-to-end response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Indices of the tasks in their set, senders before receivers.
    pub steps: Vec<usize>,
    /// Number of tasks at the beginning of `steps` that are released by time; at least 1.
    pub firsts: usize,
    /// Worst time from the nominal release of the first task to the completion of the last one;
    /// `None` if unbounded. With several first tasks it counts from the last of their releases and
    /// is the maximum over the paths from each of them.
    pub response: Option<Nanos>,
}

impl Report {
    /// Reports whether every deadline is proved.
    pub fn is_feasible(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.outcome == DeadlineOutcome::Meets)
    }

    /// Reports whether every deadline of the critical set is proved (paper 0, 4.5.5).
    pub fn protects_critical(&self, set: &TaskSet) -> bool {
        self.verdicts.iter().all(|verdict| {
            verdict.outcome == DeadlineOutcome::Meets || !set.tasks[verdict.task].critical
        })
    }

    /// Returns the least urgent dispatching priority down to which all deadlines are proved
    /// (required by paper 0, 4.5.2).
    pub fn guaranteed_priority(&self, set: &TaskSet) -> Option<u32> {
        let first_lost = self
            .verdicts
            .iter()
            .filter(|verdict| verdict.outcome != DeadlineOutcome::Meets)
            .map(|verdict| set.tasks[verdict.task].band)
            .min();
        let bands = set.tasks.iter().map(|task| task.band);
        bands.filter(|&band| first_lost.is_none_or(|lost| band < lost)).max()
    }
}
