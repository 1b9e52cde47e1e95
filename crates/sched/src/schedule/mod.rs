//! Schedule: steps 2 to 6 of paper 3 (3.3), from the repository to priorities and queues.

mod priorities;
mod rank;

use std::collections::HashMap;

pub use priorities::OsPriorities;

use crate::analysis::generalised;
use crate::analysis::resources::{self, Kept};
use crate::anomaly::{Anomaly, Severity};
use crate::error::Error;
use crate::graph::CallGraph;
use crate::graph::threads::{Dispatch, Flow, follow};
use crate::level::{Criticality, Importance};
use crate::overheads::Overheads;
use crate::repository::{Assigned, CallKind, Characteristics, Handle, Repository, Section};
use crate::strategy::{Dispatching, InputMapping, OutputMapping};
use crate::task::{Task, TaskSet, Utilization, overloads};
use crate::time::{self, Nanos, Show};
use rank::Ranked;

/// Assignment of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Handle of the operation.
    pub handle: Handle,
    /// Name of the operation.
    pub entry_point: String,
    /// Priorities.
    pub assigned: Assigned,
    /// Order of the operation's queue.
    pub dispatching: Dispatching,
    /// Period of the operation, its own or implied.
    pub period: Nanos,
    /// Longest time from release to completion, in ns.
    pub deadline: Nanos,
    /// Worst-case time of one dispatch with all its two-way calls, in ns.
    pub worst_case: Nanos,
    /// Cost of being late.
    pub criticality: Criticality,
    /// Order among operations that are equal otherwise.
    pub importance: Importance,
    /// Whether the operation must not miss a deadline.
    pub critical: bool,
}

/// Dispatching priority and its queue (`RtecScheduler::Config_Info`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// Dispatching priority; 0 is the most urgent one.
    pub preemption_priority: i32,
    /// Native priority of the thread that serves the queue.
    pub os_priority: i32,
    /// Order of the queue.
    pub dispatching: Dispatching,
    /// Periods of the level's operations, shortest first.
    pub periods: Vec<Nanos>,
}

/// Computed schedule.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Name of the strategy.
    pub strategy: String,
    /// Assignments, one for each operation that has a rate, in the order of handles.
    pub assignments: Vec<Assignment>,
    /// Queues, the most urgent one first.
    pub levels: Vec<Level>,
    /// Dispatched tasks, for analysis and simulation.
    pub tasks: TaskSet,
    /// Number of threads of all operations that have threads of their own.
    pub threads: usize,
    /// Time after which the schedule repeats; `None` if longer than 36 years.
    pub frame: Option<Nanos>,
    /// Utilisation of all operations.
    pub total: Utilization,
    /// Utilisation of the critical operations.
    pub critical: Utilization,
    /// Rule by which operations are critical.
    pub critical_set: CriticalSet,
    /// Least urgent level with a critical operation (paper 3, 2.1).
    pub minimum_critical_priority: Option<i32>,
    /// Least urgent level down to which every deadline is guaranteed by the paper's generalised
    /// test (paper 3, B.3); `None` if not even the most urgent level is.
    pub minimum_guaranteed_priority: Option<i32>,
    /// Anomalies of the schedule.
    pub anomalies: Vec<Anomaly>,
    /// Problems that make the schedule unusable, the worst first; see [`check`](Self::check).
    pub problems: Vec<Error>,
}

/// Set of operations that must not miss a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CriticalSet {
    /// All operations, because the strategy ignores criticality: RMS, DM, EDF, MLF.
    All,
    /// Operations of high and very high criticality: MUF, RMS+MLF.
    Marked,
    /// All operations, because the strategy uses criticality and none is of high or very high
    /// criticality.
    NoneMarked,
}

impl std::fmt::Display for CriticalSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CriticalSet::All => "all operations",
            CriticalSet::Marked => "operations of criticality HIGH and VERY_HIGH",
            CriticalSet::NoneMarked => {
                "all operations, because none is of criticality HIGH or VERY_HIGH"
            }
        })
    }
}

impl CriticalSet {
    /// Determines the critical set. If no operation is marked as critical, all are: with an empty
    /// critical set any schedule would be safe.
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
    /// Computes a schedule, even for overloaded operations, so that it can be inspected and
    /// simulated; [`check`](Self::check) reports whether it may be used.
    ///
    /// Takes O(n log n) for n operations and their dependencies, and allocates.
    ///
    /// # Errors
    /// [`Cycles`](Error::Cycles); [`Overflow`](Error::Overflow) if counts or times overflow;
    /// [`Invalid`](Error::Invalid) if bursts, overruns or critical sections are not supported as
    /// declared, or if the output mapping puts a less urgent operation above a more urgent one.
    pub fn compute(
        repository: &Repository,
        input: &dyn InputMapping,
        output: &dyn OutputMapping,
        priorities: &OsPriorities,
    ) -> Result<Schedule, Error> {
        let graph = CallGraph::of(repository).map_err(Error::Cycles)?;
        let Flow { dispatches, periods, mut anomalies } = follow(repository, &graph)?;
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

        let mut tasks = TaskSet {
            tasks: tasks(repository, &ranked, &bands)?,
            model: output.model(),
            overheads: Overheads::default(),
        };
        check_overruns(repository, &graph)?;
        block(&mut tasks, repository, &graph)?;
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
            problems
                .push(Error::UtilizationBoundExceeded { critical: Utilization::of(critical()) });
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

    /// Checks that the schedule may be used: enough thread priorities, and no more critical work
    /// than the processor can do.
    ///
    /// # Errors
    /// [`InsufficientThreadPriorityLevels`](Error::InsufficientThreadPriorityLevels) or
    /// [`UtilizationBoundExceeded`](Error::UtilizationBoundExceeded).
    pub fn check(&self) -> Result<(), Error> {
        self.problems.first().cloned().map_or(Ok(()), Err)
    }

    /// Returns for each task the index of its operation among the assignments, which is its row in
    /// a [`DispatchTable`](crate::DispatchTable).
    pub fn rows(&self) -> Vec<usize> {
        let place = |task: &Task| {
            let handle = task.handle.unwrap_or(Handle(0));
            let rows = &self.assignments;
            rows.partition_point(|row| row.handle < handle)
        };
        self.tasks.tasks.iter().map(place).collect()
    }

    /// Returns the assignment of an operation; O(log n).
    pub fn assignment(&self, handle: Handle) -> Option<&Assignment> {
        let found = self.assignments.binary_search_by_key(&handle, |assignment| assignment.handle);
        found.ok().map(|place| &self.assignments[place])
    }
}

/// Returns the dispatching priority of each operation in the order of rank.
fn bands(ranked: &[Ranked], output: &dyn OutputMapping) -> Result<Vec<usize>, Error> {
    let places = ranked.iter().enumerate();
    let bands: Vec<usize> =
        places.map(|(place, one)| output.band(one.level as usize, place)).collect();
    if let Some(at) = bands.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(Error::Invalid(format!(
            "the output mapping gives dispatching priority {} to an operation and {} to a less urgent one",
            bands[at],
            bands[at + 1]
        )));
    }
    // Renumber the priorities without gaps, because a mapping may skip numbers.
    let mut next = 0;
    let mut dense = Vec::with_capacity(bands.len());
    for (at, band) in bands.iter().enumerate() {
        next += usize::from(at > 0 && bands[at - 1] != *band);
        dense.push(next);
    }
    Ok(dense)
}

/// Returns subpriorities, which count down to 0 within each band, one for each dispatch in a
/// period; an operation dispatched several times has the number of its last dispatch, as in TAO.
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

/// Adds the blocking by critical sections. A task has the sections of all operations that its
/// thread runs.
fn block(set: &mut TaskSet, repository: &Repository, graph: &CallGraph) -> Result<(), Error> {
    if repository.sections().is_empty() || !resources::is_needed(set.model) {
        return Ok(());
    }
    let mut of: HashMap<Handle, Vec<&Section>> = HashMap::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for section in repository.sections() {
        of.entry(section.operation).or_default().push(section);
        let next = numbers.len();
        numbers.entry(&section.resource).or_insert(next);
    }
    let mut kept = Vec::new();
    for (place, task) in set.tasks.iter().enumerate() {
        let Some(entry) = task.handle.and_then(Handle::index) else {
            continue;
        };
        for operation in graph.thread_of(entry) {
            let handle = repository.infos()[operation].handle;
            let sections = of.get(&handle).into_iter().flatten();
            kept.extend(sections.map(|section| Kept {
                task: place,
                resource: numbers[section.resource.as_str()],
                longest: section.longest,
            }));
        }
    }
    let waits = resources::blocking(set, &kept, repository.protocol());
    let waits = waits.map_err(|error| Error::Invalid(error.to_string()))?;
    for (task, wait) in set.tasks.iter_mut().zip(waits) {
        task.blocking = task.blocking.saturating_add(wait).min(time::LONGEST);
    }
    Ok(())
}

/// Refuses overruns of operations with two-way callers, whose own times would have to contain them.
fn check_overruns(repository: &Repository, graph: &CallGraph) -> Result<(), Error> {
    for (place, info) in repository.infos().iter().enumerate() {
        let mut callers = graph.callers[place].iter();
        let called = callers.any(|call| call.kind == CallKind::TwoWay);
        if called && info.is_enabled() && info.characteristics.constraints.overrun.is_some() {
            let name = &info.entry_point;
            let why = "an operation with two-way callers cannot have an overrun; declare the overrun for the caller";
            return Err(Error::Invalid(format!("{name}: {why}")));
        }
    }
    Ok(())
}

fn tasks(repository: &Repository, ranked: &[Ranked], bands: &[usize]) -> Result<Vec<Task>, Error> {
    let mut tasks = Vec::new();
    let streams: HashMap<usize, &[Dispatch]> =
        ranked.iter().map(|one| (one.place, one.streams.as_slice())).collect();
    for (order, (one, &band)) in ranked.iter().zip(bands).enumerate() {
        let info = &repository.infos()[one.place];
        let said = &info.characteristics;
        for dispatch in &one.streams {
            let problem = said.constraints.burst.and_then(|burst| burst.problem(dispatch.period));
            if let Some(problem) = problem {
                return Err(Error::Invalid(format!("{}: {problem}", info.entry_point)));
            }
            let mut after = Vec::new();
            let bursts = said.constraints.burst.is_some();
            for &cause in &dispatch.causes {
                let cause_info = &repository.infos()[cause];
                if bursts || cause_info.characteristics.constraints.burst.is_some() {
                    let why = "only operations that are released by time and send no events can have bursts";
                    let name = &info.entry_point;
                    return Err(Error::Invalid(format!("{name}: {why}")));
                }
                let all = streams.get(&cause).copied().unwrap_or_default();
                let same = all.iter().filter(|it| it.period == dispatch.period);
                after.extend(same.map(|it| name(repository, all, it)));
            }
            tasks.push(Task {
                name: name(repository, &one.streams, dispatch),
                handle: Some(info.handle),
                wcet: dispatch.worst_case.saturating_mul(dispatch.count),
                parts: dispatch.count,
                // The best case excludes two-way callees, because an execution may skip its calls.
                bcet: said.constraints.best_case,
                overrun: overrun(said, dispatch),
                period: dispatch.period,
                burst: said.constraints.burst,
                // Requests of an operation cannot be told apart on arrival, so those of all its
                // streams have one deadline.
                deadline: said.constraints.deadline.unwrap_or(one.period),
                jitter: said.constraints.jitter,
                after,
                delay: 0,
                blocking: said.constraints.blocking,
                // Events have no fixed arrival times, so an offset does not apply to them.
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
    // Sort the tasks in the order of declaration, in which users look for them.
    tasks.sort_by_key(|task| (task.handle, task.period));
    for (order, place) in by_order(&tasks).into_iter().enumerate() {
        tasks[place].order = order as u32;
    }
    Ok(tasks)
}

/// Returns the longest execution time of a job whose operation exceeds its worst case.
fn overrun(said: &Characteristics, dispatch: &Dispatch) -> Option<Nanos> {
    let more = said.constraints.overrun?.saturating_sub(said.worst_case);
    let one = dispatch.worst_case.saturating_add(more);
    Some(one.saturating_mul(dispatch.count))
}

/// Returns the name in reports of one of several streams of an operation.
fn name(repository: &Repository, streams: &[Dispatch], one: &Dispatch) -> String {
    let operation = &repository.infos()[one.entry].entry_point;
    let twice = streams.iter().filter(|it| it.period == one.period).count() > 1;
    match (streams.len(), twice && one.by_events) {
        (1, _) => operation.clone(),
        (_, false) => format!("{operation} each {}", Show(one.period)),
        (_, true) => format!("{operation} each {} by events", Show(one.period)),
    }
}

/// Returns the task indices in the static order, where streams of one operation still have equal
/// orders.
fn by_order(tasks: &[Task]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..tasks.len()).collect();
    places.sort_by_key(|&place| (tasks[place].order, place));
    places
}

fn too_long(task: &Task) -> Option<Anomaly> {
    let limit = task.deadline.min(task.period);
    (task.wcet > limit).then(|| {
        let why = format!(
            "{}: takes at most {}, but has only {}",
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
        // If a queue serves operations of several levels, it uses the most demanding of their
        // orders: laxity, then deadline, then static.
        level.dispatching = level.dispatching.max(one.dispatching);
        level.periods.extend(one.streams.iter().map(|stream| stream.period));
    }
    for level in &mut levels {
        level.periods.sort_unstable();
        level.periods.dedup();
    }
    levels
}
