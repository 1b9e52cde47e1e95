//! Dispatch tables, which the run-time scheduler reads while the application runs.
//!
//! Operations are looked up by name once, when an object is activated or a reference is first
//! called; later calls carry the index of their row.

use crate::level::{Criticality, Importance};
use crate::schedule::Schedule;
use crate::strategy::{DispatchModel, Dispatching};
use crate::time::Nanos;

/// Priorities and times of operations, and the queues that dispatch them. It is made from a [`Schedule`], or read from
/// a table that `oxorb sched emit` wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DispatchTable {
    model: DispatchModel,
    operations: Vec<Row>,
    queues: Vec<Queue>,
    /// First queue ordered by deadline or laxity that has operations of several static priorities.
    mixed: Option<usize>,
}

/// Row of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Scoped name of the operation or attribute: `nav::Display::show`.
    pub name: String,
    /// Native priority of the thread that runs the operation.
    pub os_priority: i32,
    /// Index of the operation's queue; 0 is the most urgent one.
    pub queue: usize,
    /// Order within the queue; a larger number is more urgent.
    pub subpriority: i32,
    /// Longest time of one request with all its two-way calls, in ns; 0 if not declared.
    pub worst_case: Nanos,
    /// Time between two requests, in ns; 0 if not declared.
    pub period: Nanos,
    /// Longest time from arrival to completion, in ns; 0 if not declared.
    pub deadline: Nanos,
    /// Cost of being late.
    pub criticality: Criticality,
    /// Order among operations that are equal otherwise.
    pub importance: Importance,
    /// Whether the strategy guarantees its deadlines.
    pub critical: bool,
}

/// Dispatching queue and the priority of its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Native priority of its thread.
    pub os_priority: i32,
    /// Order of the queue.
    pub dispatching: Dispatching,
}

/// Error for a row that names a queue outside the table.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name} is dispatched from queue {queue}, but the table has {queues} queues, counted from 0"
)]
pub struct NoQueue {
    /// Name of the operation.
    pub name: String,
    /// Index of the queue that the row names.
    pub queue: usize,
    /// Number of queues.
    pub queues: usize,
}

impl std::fmt::Debug for NoQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Reason why threads of fixed priorities, one for each queue, cannot enforce a table.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unenforceable {
    /// The schedule was analysed with full preemption by deadline or laxity, so the order of jobs changes while they
    /// run. A table defines only a static order.
    #[error(
        "the schedule was analysed with full preemption by {} (model urgency), which threads of fixed priorities do \
         not enforce; analyse and emit it with model band or non-preemptive, or under RMS or DM",
        order(.0)
    )]
    Preemption(Dispatching),
    /// A queue ordered by deadline or laxity has operations of several static priorities, which it cannot distinguish.
    #[error(
        "queue {queue} has operations of several static priorities in one order by deadline or laxity, and the schedule \
         was analysed with static priorities first; analyse and emit it with model band, or under RMS, DM, EDF or MLF"
    )]
    Levels {
        /// Index of the queue.
        queue: usize,
    },
    /// A queue is no more urgent than the next one.
    #[error(
        "queue {queue} of the table has the priority {first}, but the next, less urgent queue has {second}; give the \
         schedule more thread priorities"
    )]
    Order {
        /// Index of the first of the two queues.
        queue: usize,
        /// Priority of the queue's thread.
        first: i32,
        /// Priority of the thread of the next queue.
        second: i32,
    },
    /// An operation and its queue have different priorities.
    #[error("{name} has the priority {own} in the table and its queue {queue}")]
    Priority {
        /// Name of the operation.
        name: String,
        /// Priority of the operation.
        own: i32,
        /// Priority of the operation's queue.
        queue: i32,
    },
}

fn order(dispatching: &Dispatching) -> &'static str {
    match dispatching {
        Dispatching::Laxity => "laxity",
        _ => "deadline",
    }
}

impl std::fmt::Debug for Unenforceable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl DispatchTable {
    /// Returns a table for the analysed dispatching model, with these rows and these queues, the
    /// most urgent queue first.
    ///
    /// # Errors
    /// [`NoQueue`] for a row whose queue does not exist.
    pub fn new(
        model: DispatchModel,
        operations: Vec<Row>,
        queues: Vec<Queue>,
    ) -> Result<DispatchTable, NoQueue> {
        match operations.iter().find(|row| row.queue >= queues.len()) {
            Some(row) => {
                Err(NoQueue { name: row.name.clone(), queue: row.queue, queues: queues.len() })
            }
            None => Ok(DispatchTable { model, operations, queues, mixed: None }),
        }
    }

    /// Returns the dispatching model that was analysed.
    pub fn model(&self) -> DispatchModel {
        self.model
    }

    /// Checks that one thread of fixed priority for each queue enforces the analysed schedule:
    /// threads of more urgent queues interrupt the others, and a queue dispatches one request at a
    /// time in its order. This holds for the model band, for the model non-preemptive, which has
    /// one queue, and for the model urgency if all queues are static.
    ///
    /// # Errors
    /// [`Unenforceable`] for the first property that cannot be enforced.
    pub fn enforceable(&self) -> Result<(), Unenforceable> {
        let dynamic = |queue: &&Queue| queue.dispatching != Dispatching::Static;
        if self.model == DispatchModel::Urgency
            && let Some(queue) = self.queues.iter().find(dynamic)
        {
            return Err(Unenforceable::Preemption(queue.dispatching));
        }
        if let Some(queue) = self.mixed {
            return Err(Unenforceable::Levels { queue });
        }
        for (at, pair) in self.queues.windows(2).enumerate() {
            let [first, second] = [pair[0].os_priority, pair[1].os_priority];
            if first <= second {
                return Err(Unenforceable::Order { queue: at, first, second });
            }
        }
        for row in &self.operations {
            let queue = self.queues[row.queue].os_priority;
            if row.os_priority != queue {
                return Err(Unenforceable::Priority {
                    name: row.name.clone(),
                    own: row.os_priority,
                    queue,
                });
            }
        }
        Ok(())
    }

    /// Reports whether any queue has several operations to order. In that case thread priorities alone do not enforce
    /// the table.
    pub fn needs_queues(&self) -> bool {
        let mut seen = vec![false; self.queues.len()];
        let mut rows = self.operations.iter();
        rows.any(|row| std::mem::replace(&mut seen[row.queue], true))
    }

    /// Returns the rows, in the order of their indices.
    pub fn operations(&self) -> &[Row] {
        &self.operations
    }

    /// Returns the queues, the most urgent one first.
    pub fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// Returns the operation names on the wire that requests to an interface may carry, each with the index of its row.
    ///
    /// A row `nav::Display::show` belongs to the interface with the repository id `IDL:nav/Display:1.0`, under any
    /// prefix, and to derived interfaces, for which `is_a` of that id returns true; rows of the interface itself take
    /// precedence. A row of an attribute covers reading and writing it.
    ///
    /// Takes time in proportion to the table, and allocates.
    ///
    /// ```
    /// # use oxorb_sched::simulate::table_1;
    /// # use oxorb_sched::{DispatchModel, DispatchTable, OsPriorities, Repository, Schedule, Strategy};
    /// let mut repository = Repository::new();
    /// # let said = oxorb_sched::repository::Characteristics { worst_case: 1, period: 9, threads: 1, ..Default::default() };
    /// let show = repository.create("nav::Display::show")?;
    /// # repository.set(show, said)?;
    /// # let priorities = OsPriorities::range(1, 99)?;
    /// let schedule = Schedule::compute(&repository, &Strategy::MUF, &DispatchModel::Band, &priorities)?;
    /// let table = DispatchTable::from(&schedule);
    /// let names = table.interface("IDL:acme.com/nav/Display:1.0", |_| false);
    /// assert_eq!(names[0], ("show".to_owned(), 0));
    /// # Ok::<(), oxorb_sched::Error>(())
    /// ```
    pub fn interface(
        &self,
        repository_id: &str,
        is_a: impl Fn(&str) -> bool,
    ) -> Vec<(String, usize)> {
        let own = scope_of(repository_id);
        let mut names: Vec<(String, usize)> = Vec::new();
        let mut take = |wanted: &dyn Fn(&str) -> bool| {
            for (place, row) in self.operations.iter().enumerate() {
                let Some((scope, operation)) = row.name.rsplit_once("::") else {
                    continue;
                };
                if !wanted(scope) {
                    continue;
                }
                for name in
                    [operation.to_owned(), format!("_get_{operation}"), format!("_set_{operation}")]
                {
                    if !names.iter().any(|(known, _)| *known == name) {
                        names.push((name, place));
                    }
                }
            }
        };
        take(&|scope| is_scope(&own, scope));
        take(&|scope| {
            !is_scope(&own, scope) && is_a(&format!("IDL:{}:1.0", scope.replace("::", "/")))
        });
        names
    }
}

/// Reports whether `name`, such as `nav::Display::show`, is the operation or attribute with the
/// wire name `operation` in the interface with this repository id or in one of its bases.
///
/// ```
/// use oxorb_sched::table::names_operation;
///
/// let of_display = |name, operation| names_operation(name, "IDL:acme.com/nav/Display:1.0", |_| false, operation);
/// assert!(of_display("nav::Display::show", "show"));
/// assert!(of_display("nav::Display::colour", "_set_colour"));
/// assert!(!of_display("nav::Radar::show", "show"));
/// ```
pub fn names_operation(
    name: &str,
    repository_id: &str,
    is_a: impl Fn(&str) -> bool,
    operation: &str,
) -> bool {
    let Some((scope, known)) = name.rsplit_once("::") else {
        return false;
    };
    let attribute = || {
        let accessor = operation.strip_prefix("_get_");
        accessor.or_else(|| operation.strip_prefix("_set_")) == Some(known)
    };
    (operation == known || attribute())
        && (is_scope(&scope_of(repository_id), scope)
            || is_a(&format!("IDL:{}:1.0", scope.replace("::", "/"))))
}

/// Converts `IDL:acme.com/nav/Display:1.0` to `acme.com::nav::Display`.
fn scope_of(repository_id: &str) -> String {
    let body = repository_id.strip_prefix("IDL:").unwrap_or(repository_id);
    let body = body.rsplit_once(':').map_or(body, |(body, _)| body);
    body.replace('/', "::")
}

/// Reports whether `full` is `scope`, optionally behind a prefix.
fn is_scope(full: &str, scope: &str) -> bool {
    full.strip_suffix(scope).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with("::"))
}

fn mixed(schedule: &Schedule) -> Option<usize> {
    let mut levels: Vec<Option<u32>> = vec![None; schedule.levels.len()];
    let differs = schedule.tasks.tasks.iter().find(|task| {
        let queue = task.band as usize;
        let first = *levels[queue].get_or_insert(task.level);
        first != task.level && schedule.levels[queue].dispatching != Dispatching::Static
    });
    differs.map(|task| task.band as usize)
}

impl From<&Schedule> for DispatchTable {
    fn from(schedule: &Schedule) -> DispatchTable {
        let operations = schedule.assignments.iter().map(|one| Row {
            name: one.entry_point.clone(),
            os_priority: one.assigned.os_priority,
            queue: one.assigned.preemption_priority as usize,
            subpriority: one.assigned.subpriority,
            worst_case: one.worst_case,
            period: one.period,
            deadline: one.deadline,
            criticality: one.criticality,
            importance: one.importance,
            critical: one.critical,
        });
        let queues = schedule
            .levels
            .iter()
            .map(|level| Queue { os_priority: level.os_priority, dispatching: level.dispatching });
        DispatchTable {
            mixed: mixed(schedule),
            model: schedule.tasks.model,
            operations: operations.collect(),
            queues: queues.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str) -> Row {
        Row {
            name: name.into(),
            os_priority: 9,
            queue: 0,
            subpriority: 0,
            worst_case: 1,
            period: 2,
            deadline: 2,
            criticality: Criticality::High,
            importance: Importance::Low,
            critical: true,
        }
    }

    fn table(names: &[&str]) -> DispatchTable {
        let queue = Queue { os_priority: 9, dispatching: Dispatching::Static };
        let rows = names.iter().map(|name| row(name)).collect();
        DispatchTable::new(DispatchModel::Band, rows, vec![queue]).unwrap()
    }

    fn find(names: &[(String, usize)], name: &str) -> Option<usize> {
        let found = names.iter().find(|(known, _)| known == name);
        found.map(|(_, place)| *place)
    }

    #[test]
    fn rows_are_found_under_any_prefix_and_nowhere_else() {
        let table = table(&["nav::Display::show", "av::Display::show", "lonely"]);
        for id in ["IDL:nav/Display:1.0", "IDL:acme.com/nav/Display:2.3"] {
            assert_eq!(find(&table.interface(id, |_| false), "show"), Some(0));
        }
        assert!(table.interface("IDL:nav/Displays:1.0", |_| false).is_empty());
        assert!(table.interface("", |_| false).is_empty());
    }

    #[test]
    fn inherited_operations_have_the_row_of_their_base_unless_there_is_one_of_their_own() {
        let table = table(&["nav::Base::stop", "nav::Base::show", "nav::Display::show"]);
        let is_a = |id: &str| id == "IDL:nav/Base:1.0";
        let names = table.interface("IDL:nav/Display:1.0", is_a);
        assert_eq!(find(&names, "show"), Some(2));
        assert_eq!(find(&names, "stop"), Some(0));
    }

    #[test]
    fn an_attribute_stands_for_reading_and_writing_it() {
        let names = table(&["nav::Display::level"]).interface("IDL:nav/Display:1.0", |_| false);
        assert_eq!(find(&names, "_get_level"), Some(0));
        assert_eq!(find(&names, "_set_level"), Some(0));
    }

    #[test]
    fn a_queue_that_is_not_there_is_refused_by_name() {
        let refused = DispatchTable::new(DispatchModel::Band, vec![row("a::b")], Vec::new());
        let refused = refused.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a::b is dispatched from queue 0, but the table has 0 queues, counted from 0"
        );
    }

    /// Threads of fixed priorities do not preempt by deadline or laxity.
    #[test]
    fn what_threads_of_fixed_priorities_do_not_enforce_is_refused() {
        let queue = |os_priority, dispatching| Queue { os_priority, dispatching };
        let check = |model, queues: &[Queue]| {
            let table = DispatchTable::new(model, vec![row("a::b")], queues.to_vec());
            table.unwrap().enforceable()
        };
        for dispatching in [Dispatching::Deadline, Dispatching::Laxity] {
            let queues = [queue(9, dispatching)];
            assert_eq!(check(DispatchModel::Band, &queues), Ok(()));
            assert_eq!(check(DispatchModel::NonPreemptive, &queues), Ok(()));
            let refused = check(DispatchModel::Urgency, &queues);
            assert_eq!(refused, Err(Unenforceable::Preemption(dispatching)));
        }
        let fixed = [queue(9, Dispatching::Static), queue(8, Dispatching::Static)];
        assert_eq!(check(DispatchModel::Urgency, &fixed), Ok(()));
        let shared = [queue(9, Dispatching::Static), queue(9, Dispatching::Static)];
        assert!(matches!(
            check(DispatchModel::Band, &shared),
            Err(Unenforceable::Order { queue: 0, .. })
        ));
        let other = [queue(7, Dispatching::Static)];
        assert!(matches!(
            check(DispatchModel::Band, &other),
            Err(Unenforceable::Priority { own: 9, queue: 7, .. })
        ));
        assert!(!table(&["a::b"]).needs_queues() && table(&["a::b", "a::c"]).needs_queues());
    }
}
