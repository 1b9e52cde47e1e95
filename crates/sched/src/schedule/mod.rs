//! The schedule: steps 2 to 6 of paper 3 (3.3), from the repository to priorities and queues.

mod priorities;
mod rank;

use std::collections::HashMap;

pub use priorities::OsPriorities;

use crate::analysis::generalised;
use crate::anomaly::{Anomaly, Severity};
use crate::error::Error;
use crate::graph::CallGraph;
use crate::graph::threads::{Dispatch, Flow, follow};
use crate::level::{Criticality, Importance};
use crate::overheads::Overheads;
use crate::repository::{Assigned, Handle, Repository};
use crate::strategy::{Dispatching, InputMapping, OutputMapping};
use crate::task::{Task, TaskSet, Utilization, overloads};
use crate::time::{self, Nanos, Show};
use rank::Ranked;

/// What one operation was assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Its handle.
    pub handle: Handle,
    /// Its name.
    pub entry_point: String,
    /// Priorities.
    pub assigned: Assigned,
    /// The queue it waits in.
    pub dispatching: Dispatching,
    /// Its own or implied period.
    pub period: Nanos,
    /// From release to completion.
    pub deadline: Nanos,
    /// The longest that one dispatch takes, with all it calls two-way.
    pub worst_case: Nanos,
    /// Cost of being late.
    pub criticality: Criticality,
    /// Decides between equals.
    pub importance: Importance,
    /// Whether it must not miss a deadline.
    pub critical: bool,
}

/// One dispatching priority and its queue (`RtecScheduler::Config_Info`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// 0 is the most urgent one.
    pub preemption_priority: i32,
    /// Of the thread that serves the queue.
    pub os_priority: i32,
    /// The order of the queue.
    pub dispatching: Dispatching,
    /// Periods of the operations in it, shortest first.
    pub periods: Vec<Nanos>,
}

/// A computed schedule.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Name of the strategy.
    pub strategy: String,
    /// One for each operation that has a rate, in the order of handles.
    pub assignments: Vec<Assignment>,
    /// Queues, the most urgent one first.
    pub levels: Vec<Level>,
    /// What is dispatched, for analysis and simulation.
    pub tasks: TaskSet,
    /// Threads of their own among the operations (A11.3).
    pub threads: usize,
    /// After which everything repeats; `None` if longer than 36 years (A12.20).
    pub frame: Option<Nanos>,
    /// Of all operations.
    pub total: Utilization,
    /// Of the critical ones (A12.21).
    pub critical: Utilization,
    /// Which operations are critical.
    pub critical_set: CriticalSet,
    /// The least urgent level with a critical operation (paper 3, 2.1).
    pub minimum_critical_priority: Option<i32>,
    /// The least urgent level down to which every deadline is met for sure, by the paper's generalised test
    /// (paper 3, B.3); `None` if not even the most urgent one is.
    pub minimum_guaranteed_priority: Option<i32>,
    /// What there is against it.
    pub anomalies: Vec<Anomaly>,
    /// What makes it worthless, the worst first; see [`check`](Self::check).
    pub problems: Vec<Error>,
}

/// Which operations of a schedule must not miss a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CriticalSet {
    /// All, because the strategy does not look at criticality: RMS, DM, EDF, MLF.
    All,
    /// Those of high and very high criticality: MUF, RMS+MLF.
    Marked,
    /// All, because the strategy looks at criticality and no operation is of high or very high criticality.
    NoneMarked,
}

impl std::fmt::Display for CriticalSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CriticalSet::All => "all operations",
            CriticalSet::Marked => "operations of criticality HIGH and VERY_HIGH",
            CriticalSet::NoneMarked => {
                "all operations, as none is of criticality HIGH or VERY_HIGH"
            }
        })
    }
}

impl CriticalSet {
    /// Settles it: an empty critical set would make any schedule a safe one.
    fn settle(ranked: &mut [Ranked]) -> CriticalSet {
        let marked = ranked.iter().filter(|one| one.critical).count();
        if marked == ranked.len() {
            return CriticalSet::All;
        }
        if marked > 0 {
            return CriticalSet::Marked;
        }
        for one in ranked {
            one.critical = true;
        }
        CriticalSet::NoneMarked
    }
}

impl Schedule {
    /// Computes a schedule. It is computed for overloaded operations as well, so that it can be looked at and simulated;
    /// [`check`](Self::check) says whether it may be used.
    ///
    /// Takes O(n log n) for n operations and their dependencies, and allocates.
    ///
    /// # Errors
    /// [`Cycles`](Error::Cycles), [`Invalid`](Error::Invalid) if counts or times overflow, or if the output mapping
    /// puts a less urgent operation above a more urgent one.
    pub fn compute(
        repository: &Repository,
        input: &dyn InputMapping,
        output: &dyn OutputMapping,
        priorities: &OsPriorities,
    ) -> Result<Schedule, Error> {
        let graph = CallGraph::of(repository).map_err(Error::Cycles)?;
        let Flow {
            dispatches,
            periods,
            mut anomalies,
        } = follow(repository, &graph)?;
        let mut ranked = rank::rank(repository, &graph, &dispatches, &periods, input);
        let critical_set = CriticalSet::settle(&mut ranked);
        let bands = bands(&ranked, output)?;
        let subpriorities = subpriorities(&ranked, &bands);

        let mut assignments = Vec::new();
        for (one, (&band, &subpriority)) in ranked.iter().zip(bands.iter().zip(&subpriorities)) {
            let info = &repository.infos()[one.place];
            let said = &info.characteristics;
            assignments.push(Assignment {
                handle: info.handle,
                entry_point: info.entry_point.clone(),
                assigned: Assigned {
                    os_priority: priorities.of(band),
                    subpriority,
                    preemption_priority: band as i32,
                },
                dispatching: one.dispatching,
                period: one.period,
                deadline: said.constraints.deadline.unwrap_or(one.period),
                worst_case: one.worst_case,
                criticality: said.criticality,
                importance: said.importance,
                critical: one.critical,
            });
        }
        assignments.sort_by_key(|assignment| assignment.handle);

        let tasks = TaskSet {
            tasks: tasks(repository, &ranked, &bands),
            model: output.model(),
            overheads: Overheads::default(),
        };
        anomalies.extend(tasks.tasks.iter().filter_map(too_long));
        let levels = levels(&ranked, &bands, priorities);
        let mut problems = Vec::new();
        if levels.len() > priorities.len() {
            problems.push(Error::InsufficientThreadPriorityLevels {
                needed: levels.len(),
                available: priorities.len(),
            });
        }
        let critical = || tasks.tasks.iter().filter(|task| task.critical);
        if overloads(critical().collect::<Vec<_>>()) {
            problems.push(Error::UtilizationBoundExceeded {
                critical: Utilization::of(critical()),
            });
        }
        let total = Utilization::of(&tasks.tasks);
        if overloads(&tasks.tasks) {
            let why = format!("all operations together need {total} of the processor");
            anomalies.push(Anomaly::new(Severity::Warning, None, why));
        }
        let infos = repository.infos().iter();
        Ok(Schedule {
            strategy: input.name().into(),
            threads: infos
                .filter(|info| info.is_enabled())
                .map(|info| info.characteristics.threads as usize)
                .sum(),
            frame: time::frame(tasks.tasks.iter().map(|task| task.period)),
            total,
            critical: Utilization::of(critical()),
            critical_set,
            minimum_critical_priority: critical().map(|task| task.band as i32).max(),
            minimum_guaranteed_priority: generalised::guaranteed(&tasks).map(|band| band as i32),
            assignments,
            levels,
            tasks,
            anomalies,
            problems,
        })
    }

    /// Whether the schedule may be used: enough thread priorities, and not more critical work than the processor has.
    ///
    /// # Errors
    /// [`InsufficientThreadPriorityLevels`](Error::InsufficientThreadPriorityLevels) or
    /// [`UtilizationBoundExceeded`](Error::UtilizationBoundExceeded).
    pub fn check(&self) -> Result<(), Error> {
        self.problems.first().cloned().map_or(Ok(()), Err)
    }

    /// Returns for each task the place of its operation among the assignments, which is that of its row in a
    /// [`DispatchTable`](crate::DispatchTable).
    pub fn rows(&self) -> Vec<usize> {
        let place = |task: &Task| {
            let handle = task.handle.unwrap_or(Handle(0));
            let rows = &self.assignments;
            rows.partition_point(|row| row.handle < handle)
        };
        self.tasks.tasks.iter().map(place).collect()
    }

    /// What an operation was assigned; O(log n).
    pub fn assignment(&self, handle: Handle) -> Option<&Assignment> {
        let found = self
            .assignments
            .binary_search_by_key(&handle, |assignment| assignment.handle);
        found.ok().map(|place| &self.assignments[place])
    }
}

/// The dispatching priority of each ranked operation.
fn bands(ranked: &[Ranked], output: &dyn OutputMapping) -> Result<Vec<usize>, Error> {
    let places = ranked.iter().enumerate();
    let bands: Vec<usize> = places
        .map(|(place, one)| output.band(one.level as usize, place))
        .collect();
    if let Some(at) = bands.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(Error::Invalid(format!(
            "the output mapping gives dispatching priority {} to an operation and {} to a less urgent one",
            bands[at],
            bands[at + 1]
        )));
    }
    // Without gaps, whatever numbers the mapping uses.
    let mut next = 0;
    let mut dense = Vec::with_capacity(bands.len());
    for (at, band) in bands.iter().enumerate() {
        next += usize::from(at > 0 && bands[at - 1] != *band);
        dense.push(next);
    }
    Ok(dense)
}

/// Counts down to 0 within each band, one for each dispatch in a period; an operation that is dispatched several times has
/// the number of the last. So does TAO (F3).
fn subpriorities(ranked: &[Ranked], bands: &[usize]) -> Vec<i32> {
    let mut next = 0i32;
    let mut last_band = usize::MAX;
    let mut numbers = vec![0; ranked.len()];
    for (at, one) in ranked.iter().enumerate().rev() {
        if bands[at] != last_band {
            (last_band, next) = (bands[at], 0);
        }
        numbers[at] = next;
        next = next.saturating_add(i32::try_from(one.dispatches).unwrap_or(i32::MAX));
    }
    numbers
}

fn tasks(repository: &Repository, ranked: &[Ranked], bands: &[usize]) -> Vec<Task> {
    let mut tasks = Vec::new();
    let streams: HashMap<usize, &[Dispatch]> = ranked
        .iter()
        .map(|one| (one.place, one.streams.as_slice()))
        .collect();
    for (order, (one, &band)) in ranked.iter().zip(bands).enumerate() {
        let info = &repository.infos()[one.place];
        let said = &info.characteristics;
        for dispatch in &one.streams {
            let mut after = Vec::new();
            for &cause in &dispatch.causes {
                let all = streams.get(&cause).copied().unwrap_or_default();
                let same = all.iter().filter(|it| it.period == dispatch.period);
                after.extend(same.map(|it| name(repository, all, it)));
            }
            tasks.push(Task {
                name: name(repository, &one.streams, dispatch),
                handle: Some(info.handle),
                wcet: dispatch.worst_case.saturating_mul(dispatch.count),
                parts: dispatch.count,
                period: dispatch.period,
                // One for all its requests, as nothing tells them apart when they arrive.
                deadline: said.constraints.deadline.unwrap_or(one.period),
                jitter: said.constraints.jitter,
                after,
                delay: 0,
                blocking: said.constraints.blocking,
                // Events come when they come.
                offset: said.constraints.offset.filter(|_| !dispatch.by_events),
                criticality: said.criticality,
                importance: said.importance,
                critical: one.critical,
                level: one.level,
                band: band as u32,
                dispatching: one.dispatching,
                order: order as u32,
            });
        }
    }
    // As they were declared, which is how people look for them.
    tasks.sort_by_key(|task| (task.handle, task.period));
    for (order, place) in by_order(&tasks).into_iter().enumerate() {
        tasks[place].order = order as u32;
    }
    tasks
}

/// Returns the name of one of several streams of an operation in reports.
fn name(repository: &Repository, streams: &[Dispatch], one: &Dispatch) -> String {
    let operation = &repository.infos()[one.entry].entry_point;
    let twice = streams.iter().filter(|it| it.period == one.period).count() > 1;
    match (streams.len(), twice && one.by_events) {
        (1, _) => operation.clone(),
        (_, false) => format!("{operation} each {}", Show(one.period)),
        (_, true) => format!("{operation} each {} by events", Show(one.period)),
    }
}

/// Places in the static order, which several streams of one operation share so far.
fn by_order(tasks: &[Task]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..tasks.len()).collect();
    places.sort_by_key(|&place| (tasks[place].order, place));
    places
}

fn too_long(task: &Task) -> Option<Anomaly> {
    let limit = task.deadline.min(task.period);
    (task.wcet > limit).then(|| {
        let why = format!(
            "{}: takes {} at worst and has {} for it",
            task.name,
            Show(task.wcet),
            Show(limit)
        );
        Anomaly::new(Severity::Error, Some(&task.name), why)
    })
}

fn levels(ranked: &[Ranked], bands: &[usize], priorities: &OsPriorities) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for (one, &band) in ranked.iter().zip(bands) {
        if levels.len() == band {
            levels.push(Level {
                preemption_priority: band as i32,
                os_priority: priorities.of(band),
                dispatching: one.dispatching,
                periods: Vec::new(),
            });
        }
        let level = &mut levels[band];
        // A queue for operations of several levels keeps the order of the most demanding one.
        level.dispatching = level.dispatching.max(one.dispatching);
        level
            .periods
            .extend(one.streams.iter().map(|stream| stream.period));
    }
    for level in &mut levels {
        level.periods.sort_unstable();
        level.periods.dedup();
    }
    levels
}
