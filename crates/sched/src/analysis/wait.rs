//! Waits of a job, and how long each is at worst.

use std::cell::Cell;

use crate::task::Task;
use crate::time::{LONGEST, Nanos};

/// Budget of fixed-point steps for the analysis of one task; each step visits all tasks.
pub(super) struct Steps(Cell<u64>);

impl Steps {
    /// Returns the budget for a set of `tasks` tasks: four million visits of tasks for each
    /// verdict, and at least 20,000 steps.
    pub(super) fn of(tasks: usize) -> Steps {
        let tasks = (tasks as u64).max(1);
        Steps(Cell::new((4_000_000 / tasks).max(20_000)))
    }

    fn take(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left > 0
    }
}

/// Budget of visits to tasks for several verdicts together.
pub(crate) struct Work(Cell<u64>);

impl Work {
    /// Returns a budget of `visits` visits.
    pub(crate) fn of(visits: u64) -> Work {
        Work(Cell::new(visits))
    }

    /// Calls `analyse` with the steps of one verdict on a set of `tasks` tasks, as far as the budget has them. Takes
    /// the visits of the steps used from the budget, and one visit of each task.
    pub(super) fn spend<R>(&self, tasks: usize, analyse: impl FnOnce(&Steps) -> R) -> R {
        let steps = Steps::of(tasks);
        let tasks = (tasks as u64).max(1);
        let given = steps.0.get().min(self.0.get() / tasks);
        steps.0.set(given);
        let result = analyse(&steps);
        let used = given - steps.0.get() + 1;
        self.0.set(self.0.get().saturating_sub(used.saturating_mul(tasks)));
        result
    }
}

/// Maximum number of waits in a verdict, the longest first.
const MOST_WAITS: usize = 8;

/// Time that a job waits for the jobs of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Index of the task in its set.
    pub task: usize,
    /// Number of jobs of the task.
    pub jobs: u64,
    /// Total time of these jobs, in ns.
    pub time: Nanos,
}

impl Wait {
    pub(super) fn of(place: usize, task: &Task, jobs: u64) -> Wait {
        Wait { task: place, jobs, time: jobs.saturating_mul(task.wcet) }
    }
}

/// Bound on a response time, with its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bound {
    At {
        response: Nanos,
        blocking: Nanos,
        blocker: Option<usize>,
        waits: Vec<Wait>,
    },
    /// The response is unbounded, because the more urgent work never ends.
    Unbounded,
    /// The response is unknown, because the analysis would take too long.
    Unknown,
}

/// Returns the longest waits, at most [`MOST_WAITS`].
pub(super) fn interference(waits: impl Iterator<Item = Wait>) -> Vec<Wait> {
    let mut waits: Vec<Wait> = waits.filter(|wait| wait.time > 0).collect();
    let key = |wait: &Wait| (std::cmp::Reverse(wait.time), wait.task);
    if waits.len() > MOST_WAITS {
        waits.select_nth_unstable_by_key(MOST_WAITS, key);
        waits.truncate(MOST_WAITS);
    }
    waits.sort_unstable_by_key(key);
    waits
}

/// Returns the least fixed point of a non-decreasing demand. The search begins at `start`, which
/// must not exceed the fixed point. Returns `None` if the fixed point is beyond 36 years or the
/// steps are used up.
pub(super) fn settle(steps: &Steps, start: Nanos, demand: impl Fn(Nanos) -> u128) -> Option<Nanos> {
    let mut time = start;
    while steps.take() {
        let needed = demand(time);
        if needed <= u128::from(time) {
            return Some(time);
        }
        time = u64::try_from(needed).ok().filter(|&time| time <= LONGEST)?;
    }
    None
}
