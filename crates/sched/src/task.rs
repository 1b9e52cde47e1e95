//! Tasks of analysis and simulation: streams of jobs with their urgency.

use std::collections::HashMap;

use crate::burst::Burst;
use crate::level::{Criticality, Importance};
use crate::overheads::Overheads;
use crate::repository::Handle;
use crate::strategy::{DispatchModel, Dispatching};
use crate::time::Nanos;

/// Stream of jobs: an operation that is dispatched repeatedly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Name in reports.
    pub name: String,
    /// Operation in the repository; `None` for tasks that do not come from one.
    pub handle: Option<Handle>,
    /// Worst-case execution time of a job, with all its parts.
    pub wcet: Nanos,
    /// Number of requests in a job, dispatched one after the other and equally long; at least 1.
    /// Without full preemption other tasks may run between two of them.
    pub parts: u64,
    /// Best-case execution time of one request of a job; 0 if unknown.
    pub bcet: Nanos,
    /// Worst-case execution time of a job of high criticality, where `wcet` is a less conservative estimate; `None`:
    /// `wcet` is never exceeded. Only mixed-criticality analysis reads it.
    pub overrun: Option<Nanos>,
    /// Shortest time between two releases, or, with a burst, the window of the burst; more than 0.
    pub period: Nanos,
    /// Number of releases in a period; `None` for one.
    pub burst: Option<Burst>,
    /// Longest time from release to completion; more than 0.
    pub deadline: Nanos,
    /// Release jitter: the longest delay of a release. Response and deadline count from the nominal
    /// release.
    pub jitter: Nanos,
    /// Names of the tasks whose events release this task: job n is released once job n of each of them has ended.
    /// Response and deadline count from that release. It is empty if time releases the task.
    pub after: Vec<String>,
    /// Longest delay of a release by the tasks in `after`. The analysis computes it if those tasks are in the same
    /// set.
    pub delay: Nanos,
    /// Longest time for which less urgent tasks hold resources that this task or a more urgent one needs.
    pub blocking: Nanos,
    /// Time of the first release after the common start; `None` if unknown.
    pub offset: Option<Nanos>,
    /// Cost of being late.
    pub criticality: Criticality,
    /// Order among tasks that are equal otherwise.
    pub importance: Importance,
    /// Whether the task must not miss a deadline.
    pub critical: bool,
    /// Static priority level; 0 is the most urgent one.
    pub level: u32,
    /// Dispatching priority; 0 is the most urgent one.
    pub band: u32,
    /// Dispatching order within its level.
    pub dispatching: Dispatching,
    /// Position in the static order; unique.
    pub order: u32,
}

impl Task {
    /// Returns a task whose deadline is its period, for tests and tools.
    pub fn periodic(name: impl Into<String>, wcet: Nanos, period: Nanos) -> Task {
        Task {
            name: name.into(),
            handle: None,
            wcet,
            parts: 1,
            bcet: 0,
            overrun: None,
            period,
            burst: None,
            deadline: period,
            jitter: 0,
            after: Vec::new(),
            delay: 0,
            blocking: 0,
            offset: None,
            criticality: Criticality::default(),
            importance: Importance::default(),
            critical: true,
            level: 0,
            band: 0,
            dispatching: Dispatching::Static,
            order: 0,
        }
    }
}

impl Task {
    /// Returns the execution time of one request of a job.
    pub(crate) fn part(&self) -> Nanos {
        self.wcet.div_ceil(self.parts.max(1))
    }

    /// Reports whether both tasks are streams of one operation with static priority, whose requests
    /// one thread serves in turn.
    pub(crate) fn shares_thread(&self, other: &Task) -> bool {
        self.dispatching == Dispatching::Static
            && self.handle.is_some()
            && self.handle == other.handle
    }

    /// Returns the time by which two jobs may be closer to each other than a period.
    pub(crate) fn late(&self) -> Nanos {
        self.jitter.saturating_add(self.delay)
    }
}

/// Tasks that share one processor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskSet {
    /// Tasks in any order.
    pub tasks: Vec<Task>,
    /// Rule by which a task may interrupt another.
    pub model: DispatchModel,
    /// Costs of dispatching.
    pub overheads: Overheads,
}

impl TaskSet {
    /// Returns a set under fully preemptive fixed priorities: each task has its index as its level and a separate band,
    /// the first task being the most urgent.
    ///
    /// ```
    /// use oxorb_sched::{Task, TaskSet};
    ///
    /// let set = TaskSet::fixed_priority([Task::periodic("fast", 1, 4), Task::periodic("slow", 2, 9)]);
    /// assert!(set.tasks[0].level < set.tasks[1].level);
    /// ```
    pub fn fixed_priority(tasks: impl IntoIterator<Item = Task>) -> TaskSet {
        let mut set = TaskSet {
            tasks: tasks.into_iter().collect(),
            model: DispatchModel::Urgency,
            overheads: Overheads::default(),
        };
        for (place, task) in set.tasks.iter_mut().enumerate() {
            let place = place as u32;
            (task.level, task.band, task.order) = (place, place, place);
            task.dispatching = Dispatching::Static;
        }
        set
    }

    /// Returns a set with all tasks in one level with this dispatching order; ties are decided by
    /// index.
    pub fn dynamic(
        tasks: impl IntoIterator<Item = Task>,
        dispatching: Dispatching,
        model: DispatchModel,
    ) -> TaskSet {
        let mut set = TaskSet::fixed_priority(tasks);
        set.model = model;
        for task in &mut set.tasks {
            (task.level, task.band) = (0, 0);
            task.dispatching = dispatching;
        }
        set
    }

    /// Reports whether running jobs may preempt each other repeatedly because their laxity changes.
    pub(crate) fn takes_turns(&self) -> bool {
        let by_laxity = |task: &Task| task.dispatching == Dispatching::Laxity;
        self.model == DispatchModel::Urgency && self.tasks.iter().any(by_laxity)
    }

    /// Returns, for each task, the indices of the tasks in its `after`, except names that are not in the set.
    pub(crate) fn causes(&self) -> Vec<Vec<usize>> {
        if self.tasks.iter().all(|task| task.after.is_empty()) {
            return vec![Vec::new(); self.tasks.len()];
        }
        let places = self.tasks.iter().enumerate();
        let places: HashMap<&str, usize> =
            places.map(|(place, task)| (task.name.as_str(), place)).collect();
        let known = |name: &String| places.get(name.as_str()).copied();
        let tasks = self.tasks.iter();
        tasks.map(|task| task.after.iter().filter_map(known).collect()).collect()
    }

    /// Reports whether jobs of `one` may interrupt jobs of `other` if they are more urgent.
    pub(crate) fn interrupts(&self, one: &Task, other: &Task) -> bool {
        match self.model {
            DispatchModel::Urgency => !one.shares_thread(other),
            DispatchModel::Band | DispatchModel::NonPreemptive => one.band < other.band,
        }
    }
}

/// Utilisation of a processor, in parts per billion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Utilization(pub u64);

/// Utilisation of a fully used processor.
pub const WHOLE: Utilization = Utilization(1_000_000_000);

impl Utilization {
    /// Returns the utilisation of these tasks: the sum of C/T, rounded up (paper 3, B.2).
    pub fn of<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Utilization {
        let parts = tasks.into_iter().map(Utilization::of_one);
        Utilization(parts.fold(0, |sum, part| sum.saturating_add(part.0)))
    }

    /// Returns the utilisation of a task.
    pub fn of_one(task: &Task) -> Utilization {
        let whole = u128::from(WHOLE.0);
        let work = u128::from(task.wcet).saturating_mul(u128::from(task.per_period()));
        let part = work.saturating_mul(whole).div_ceil(u128::from(task.period.max(1)));
        Utilization(u64::try_from(part).unwrap_or(u64::MAX))
    }

    /// Returns the utilisation as a fraction.
    pub fn fraction(self) -> f64 {
        self.0 as f64 / WHOLE.0 as f64
    }
}

impl std::fmt::Display for Utilization {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hundredths = self.0.div_ceil(100_000);
        f.pad(&format!("{}.{:02} %", hundredths / 100, hundredths % 100))
    }
}

/// Reports whether tasks need more than the whole processor. The result is exact if their frame is at most 36 years;
/// otherwise the utilisation is rounded up.
pub fn overloads<'a>(tasks: impl IntoIterator<Item = &'a Task> + Clone) -> bool {
    let up = Utilization::of(tasks.clone());
    if up <= WHOLE {
        return false;
    }
    // The utilisation of each of the `many` tasks was rounded up by less than one unit, so the exact sum is more
    // than `up - many`.
    let many = tasks.clone().into_iter().count() as u64;
    if up.0.saturating_sub(many) > WHOLE.0 {
        return true;
    }
    let Some(frame) = crate::time::frame(tasks.clone().into_iter().map(|task| task.period)) else {
        return true;
    };
    let needed = tasks.into_iter().map(|task| {
        let jobs =
            u128::from(frame / task.period.max(1)).saturating_mul(u128::from(task.per_period()));
        u128::from(task.wcet).saturating_mul(jobs)
    });
    needed.fold(0, u128::saturating_add) > u128::from(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_processor_in_thirds_is_no_overload() {
        let third = |name: &str| Task::periodic(name, 1, 3);
        let mut tasks = vec![third("a"), third("b"), third("c")];
        assert!(Utilization::of(&tasks) > WHOLE);
        assert!(!overloads(&tasks));
        tasks.push(Task::periodic("d", 1, 1_000_000_000));
        assert!(overloads(&tasks));
        tasks.push(third("e"));
        assert!(overloads(&tasks));
    }
}
