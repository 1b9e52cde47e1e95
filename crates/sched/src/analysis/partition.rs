//! Partitioning: tasks are assigned to processors and never migrate.

use super::{Report, analyse};
use crate::task::{TaskSet, Utilization};
use crate::time::Nanos;

/// Rule that selects a processor if a task fits on several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fit {
    /// First processor.
    #[default]
    First,
    /// Processor with the highest load, which leaves the others free.
    Best,
    /// Processor with the lowest load, which spreads the tasks.
    Worst,
}

impl Fit {
    /// All rules.
    pub const ALL: [Fit; 3] = [Fit::First, Fit::Best, Fit::Worst];

    /// Returns the name used in options.
    pub fn name(self) -> &'static str {
        match self {
            Fit::First => "first",
            Fit::Best => "best",
            Fit::Worst => "worst",
        }
    }
}

impl std::fmt::Display for Fit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-fit decreasing", self.name())
    }
}

impl std::str::FromStr for Fit {
    type Err = String;

    fn from_str(text: &str) -> Result<Fit, String> {
        let found = Fit::ALL.into_iter().find(|fit| fit.name() == text);
        found.ok_or_else(|| {
            format!("there is no fit {text:?}; expected one of first, best and worst")
        })
    }
}

/// Error for a task that fits on no processor.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("task {task} fits on none of {} processors", .assigned.len())]
pub struct NoRoom {
    /// Index of the task in the set.
    pub task: usize,
    /// Tasks assigned before it, by processor.
    pub assigned: Vec<Vec<usize>>,
}

impl std::fmt::Debug for NoRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Tasks by processor.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// Indices in the set of the tasks of each processor.
    pub processors: Vec<Vec<usize>>,
    /// Report of the analysis on each processor.
    pub reports: Vec<Report>,
}

/// Assigns tasks to processors, the heaviest first, so that all deadlines on each processor are
/// proved.
///
/// # Errors
/// [`NoRoom`] for the first task that fits on no processor. Another assignment might exist: this is
/// a heuristic, as finding the best one is NP-hard.
pub fn partition(set: &TaskSet, processors: usize, fit: Fit) -> Result<Partition, NoRoom> {
    let load: Vec<Utilization> = set.tasks.iter().map(Utilization::of_one).collect();
    let mut heaviest: Vec<usize> = (0..set.tasks.len()).collect();
    heaviest.sort_by_key(|&task| (std::cmp::Reverse(load[task]), task));
    let mut assigned: Vec<Vec<usize>> = vec![Vec::new(); processors];
    for task in heaviest {
        let used = |place: &usize| -> u64 { assigned[*place].iter().map(|&at| load[at].0).sum() };
        let mut places: Vec<usize> = (0..processors).collect();
        match fit {
            Fit::First => {}
            Fit::Best => places.sort_by_key(|place| (std::cmp::Reverse(used(place)), *place)),
            Fit::Worst => places.sort_by_key(|place| (used(place), *place)),
        }
        let fits = |place: &usize| {
            let mut tried = assigned[*place].clone();
            tried.push(task);
            analyse(&part(set, &tried)).is_feasible()
        };
        let Some(place) = places.into_iter().find(fits) else {
            return Err(NoRoom { task, assigned });
        };
        assigned[place].push(task);
    }
    for part in &mut assigned {
        part.sort_unstable();
    }
    let reports = assigned.iter().map(|tasks| analyse(&part(set, tasks)));
    Ok(Partition { reports: reports.collect(), processors: assigned })
}

/// Returns the latest completion of each task, provided that it and all its senders meet their
/// deadlines.
fn by_deadlines(set: &TaskSet, causes: &[Vec<usize>]) -> Vec<Nanos> {
    let mut by = vec![0; set.tasks.len()];
    if causes.iter().all(Vec::is_empty) {
        return by;
    }
    // A chain of events has at most as many steps as there are tasks, so this number of rounds
    // suffices.
    for _ in 0..set.tasks.len() {
        let mut changed = false;
        for (place, task) in set.tasks.iter().enumerate() {
            let delays = causes[place].iter().map(|&cause| by[cause]);
            let delay: Nanos = delays.fold(task.delay, Nanos::max);
            let until = delay.saturating_add(task.deadline);
            changed |= by[place] < until;
            by[place] = until;
        }
        if !changed {
            break;
        }
    }
    by
}

/// Returns the tasks of one processor as a set. Senders of events on other processors are assumed
/// to end at their deadlines.
pub fn part(set: &TaskSet, tasks: &[usize]) -> TaskSet {
    let causes = set.causes();
    let by = by_deadlines(set, &causes);
    let task = |&task: &usize| {
        let mut one = set.tasks[task].clone();
        let elsewhere = |cause: &&usize| !tasks.contains(cause);
        let delays = causes[task].iter().filter(elsewhere).map(|&cause| by[cause]);
        one.delay = delays.fold(one.delay, Nanos::max);
        one
    };
    TaskSet { tasks: tasks.iter().map(task).collect(), model: set.model, overheads: set.overheads }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Task;

    #[test]
    fn what_fits_on_two_processors_and_not_on_one() {
        let tasks = (0..4).map(|at| Task::periodic(format!("t{at}"), 4, 10));
        let set = TaskSet::fixed_priority(tasks);
        let refused = partition(&set, 1, Fit::First).unwrap_err();
        assert_eq!((refused.task, refused.assigned[0].len()), (2, 2));
        let two = partition(&set, 2, Fit::First).unwrap();
        assert_eq!(two.processors, [[0, 1], [2, 3]]);
        assert!(two.reports.iter().all(Report::is_feasible));
        let shared = partition(&set, 4, Fit::Worst).unwrap();
        assert!(shared.processors.iter().all(|tasks| tasks.len() == 1));
    }
}
