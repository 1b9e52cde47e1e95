//! Tables of the run-time scheduler: a schedule that is looked into while the application runs.
//!
//! Operations are found by name once, when an object is activated or a reference is first called; from then on a call
//! carries the place of its row.

use crate::level::{Criticality, Importance};
use crate::schedule::Schedule;
use crate::strategy::{DispatchModel, Dispatching};
use crate::time::Nanos;

/// Priorities and times of operations, and the queues they are dispatched from. Made of a [`Schedule`], or of the table that
/// `oxorb sched emit` wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DispatchTable {
    model: DispatchModel,
    operations: Vec<Row>,
    queues: Vec<Queue>,
    /// The first queue by deadline or laxity that has operations of several static priorities.
    mixed: Option<usize>,
}

/// Row of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Scoped name of the operation or attribute: `nav::Display::show`.
    pub name: String,
    /// Priority of the thread that runs it, in the operating system's numbers.
    pub os_priority: i32,
    /// Place of its queue; 0 is the most urgent one.
    pub queue: usize,
    /// Larger is more urgent in its queue.
    pub subpriority: i32,
    /// The longest one request takes, with all it calls two-way; 0: not said.
    pub worst_case: Nanos,
    /// Time between two requests; 0: not said.
    pub period: Nanos,
    /// Longest time from arrival to completion; 0: not said.
    pub deadline: Nanos,
    /// Cost of being late.
    pub criticality: Criticality,
    /// Decides between equals.
    pub importance: Importance,
    /// Whether the strategy promises that it never misses a deadline.
    pub critical: bool,
}

/// Queue and its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Priority of its thread, in the operating system's numbers.
    pub os_priority: i32,
    /// Order of the queue.
    pub dispatching: Dispatching,
}

/// A row that names a queue which is not there.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is dispatched from queue {queue}, and the table has {queues}, counted from 0")]
pub struct NoQueue {
    /// The operation.
    pub name: String,
    /// Place of the queue that the row names.
    pub queue: usize,
    /// Number of queues.
    pub queues: usize,
}

impl std::fmt::Debug for NoQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Why a table cannot be enforced by threads of fixed priorities, one for each queue.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unenforceable {
    /// Full preemption by deadline or laxity was analysed. A table has the order of one moment, and that order changes.
    #[error(
        "the schedule was analysed with full preemption by {} (model urgency), which threads of fixed priorities do \
         not enforce; analyse and emit it with model band or non-preemptive, or under RMS or DM",
        order(.0)
    )]
    Preemption(Dispatching),
    /// A queue by deadline or laxity has operations of several static priorities, which it does not tell apart.
    #[error(
        "queue {queue} has operations of several static priorities in one order by deadline or laxity, and the schedule \
         was analysed with static priorities first; analyse and emit it with model band, or under RMS, DM, EDF or MLF"
    )]
    Levels {
        /// Place of the queue.
        queue: usize,
    },
    /// A queue is not more urgent than the one behind it.
    #[error(
        "queue {queue} of the table has the priority {first} and the less urgent one behind it {second}; give the \
         schedule more thread priorities"
    )]
    Order {
        /// Place of the first of the two queues.
        queue: usize,
        /// Priority of its thread.
        first: i32,
        /// Priority of the thread of the queue behind it.
        second: i32,
    },
    /// An operation has another priority than its queue.
    #[error("{name} has the priority {own} in the table and its queue {queue}")]
    Priority {
        /// The operation.
        name: String,
        /// Priority of the operation.
        own: i32,
        /// Priority of its queue.
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
    /// Makes a table of the dispatching model that was analysed, rows, and queues, the most urgent
    /// queue first.
    ///
    /// # Errors
    /// A row whose queue is not there.
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

    /// Checks that one thread of fixed priority for each queue enforces what was analysed: the threads of more urgent queues
    /// interrupt the others, and a queue gives out one request at a time in its order. That is the model band, the model
    /// non-preemptive, which has one queue, and the model urgency where all queues are static.
    ///
    /// # Errors
    /// What is not enforced so.
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

    /// Reports whether any queue has operations to put in order, so that thread priorities alone do not enforce the table.
    pub fn needs_queues(&self) -> bool {
        let mut seen = vec![false; self.queues.len()];
        let mut rows = self.operations.iter();
        rows.any(|row| std::mem::replace(&mut seen[row.queue], true))
    }

    /// The rows, by place.
    pub fn operations(&self) -> &[Row] {
        &self.operations
    }

    /// The queues, the most urgent one first.
    pub fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// Returns the names that an interface's requests may have, with the place of the row of each:
    /// the name on the wire first.
    ///
    /// A row `nav::Display::show` belongs to the interface with the repository id `IDL:nav/Display:1.0`, under whatever
    /// prefix, and to those for which `is_a` of that id says yes, because they inherit it; rows of the interface itself win.
    /// A row of an attribute stands for reading and writing it.
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

/// Reports whether `name`, as `nav::Display::show`, is the operation or attribute that has `operation` for its name on the
/// wire, of the interface with this repository id or of one that it is derived from.
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

/// `IDL:acme.com/nav/Display:1.0` to `acme.com::nav::Display`.
fn scope_of(repository_id: &str) -> String {
    let body = repository_id.strip_prefix("IDL:").unwrap_or(repository_id);
    let body = body.rsplit_once(':').map_or(body, |(body, _)| body);
    body.replace('/', "::")
}

/// Whether a name is that of the scope, but for a prefix.
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
            "a::b is dispatched from queue 0, and the table has 0, counted from 0"
        );
    }

    /// R4: threads of fixed priorities do not preempt by deadline or laxity.
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
