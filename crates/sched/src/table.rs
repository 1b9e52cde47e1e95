//! What the run-time scheduler knows: a schedule as a table that is looked into while the application runs (A11.15, A12.27).
//!
//! Operations are found by name once, when an object is activated or a reference is first called; from then on a call
//! carries the place of its row.

use crate::level::{Criticality, Importance};
use crate::schedule::Schedule;
use crate::strategy::Dispatching;
use crate::time::Nanos;

/// Priorities and times of operations, and the queues they are dispatched from. Made of a [`Schedule`], or of the table that
/// `oxorb sched emit` wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DispatchTable {
    operations: Vec<Row>,
    queues: Vec<Queue>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Scoped name of the operation or attribute: `nav::Display::show`.
    pub name: String,
    /// Of the thread that runs it, in the operating system's numbers.
    pub os_priority: i32,
    /// Place of its queue; 0 is the most urgent one.
    pub queue: usize,
    /// Larger is more urgent in its queue.
    pub subpriority: i32,
    /// The longest one request takes, with all it calls two-way; 0: not said.
    pub worst_case: Nanos,
    /// Between two requests; 0: not said.
    pub period: Nanos,
    /// From arrival to completion; 0: not said.
    pub deadline: Nanos,
    /// Cost of being late.
    pub criticality: Criticality,
    /// Decides between equals.
    pub importance: Importance,
    /// Whether the strategy promises that it never misses a deadline.
    pub critical: bool,
}

/// One queue and its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Of its thread, in the operating system's numbers.
    pub os_priority: i32,
    /// Its order.
    pub dispatching: Dispatching,
}

/// A row that names a queue which is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoQueue {
    /// The operation.
    pub name: String,
    /// Its queue.
    pub queue: usize,
    /// How many there are.
    pub queues: usize,
}

impl std::fmt::Display for NoQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let NoQueue {
            name,
            queue,
            queues,
        } = self;
        write!(
            f,
            "{name} is dispatched from queue {queue}, and the table has {queues}, counted from 0"
        )
    }
}

impl std::error::Error for NoQueue {}

impl DispatchTable {
    /// From rows and queues, the most urgent queue first.
    ///
    /// # Errors
    /// A row whose queue is not there.
    pub fn new(operations: Vec<Row>, queues: Vec<Queue>) -> Result<DispatchTable, NoQueue> {
        match operations.iter().find(|row| row.queue >= queues.len()) {
            Some(row) => Err(NoQueue {
                name: row.name.clone(),
                queue: row.queue,
                queues: queues.len(),
            }),
            None => Ok(DispatchTable { operations, queues }),
        }
    }

    /// The rows, by place.
    pub fn operations(&self) -> &[Row] {
        &self.operations
    }

    /// The queues, the most urgent one first.
    pub fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// What an interface's requests may be called, with the place of the row of each: the name on the wire first.
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
                for name in [
                    operation.to_owned(),
                    format!("_get_{operation}"),
                    format!("_set_{operation}"),
                ] {
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

/// `IDL:acme.com/nav/Display:1.0` to `acme.com::nav::Display`.
fn scope_of(repository_id: &str) -> String {
    let body = repository_id.strip_prefix("IDL:").unwrap_or(repository_id);
    let body = body.rsplit_once(':').map_or(body, |(body, _)| body);
    body.replace('/', "::")
}

/// Whether a name is that of the scope, but for a prefix.
fn is_scope(full: &str, scope: &str) -> bool {
    full.strip_suffix(scope)
        .is_some_and(|prefix| prefix.is_empty() || prefix.ends_with("::"))
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
        let queues = schedule.levels.iter().map(|level| Queue {
            os_priority: level.os_priority,
            dispatching: level.dispatching,
        });
        DispatchTable {
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
        let queue = Queue {
            os_priority: 9,
            dispatching: Dispatching::Static,
        };
        DispatchTable::new(names.iter().map(|name| row(name)).collect(), vec![queue]).unwrap()
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
        assert!(
            table
                .interface("IDL:nav/Displays:1.0", |_| false)
                .is_empty()
        );
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
        let refused = DispatchTable::new(vec![row("a::b")], Vec::new()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a::b is dispatched from queue 0, and the table has 0, counted from 0"
        );
    }
}
