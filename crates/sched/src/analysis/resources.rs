//! Blocking: the time that tasks wait for less urgent ones that hold a resource, computed from
//! critical sections.
//!
//! Longest wait of a task by protocol:
//!
//! - PCP, SRP: the longest section of one less urgent task, among resources with a ceiling at least
//!   as urgent as the task.
//! - PIP: the lesser of two sums over such sections: the longest of each less urgent task, and the
//!   longest of each resource.
//! - NPP: the longest section of any less urgent task.
//!
//! The ceiling of a resource is the urgency of the most urgent task that locks it. Under PCP, SRP
//! and NPP sections may be nested; under PIP they may not, as a chain of inner sections would wait
//! for others: declare such sections as one. Sources: Sha, Rajkumar and Lehoczky, "Priority
//! Inheritance Protocols" (IEEE Transactions on Computers 39(9), 1990); Baker, "Stack-Based
//! Scheduling of Realtime Processes" (Real-Time Systems 3(1), 1991).

use std::collections::BTreeMap;
use std::fmt;

use crate::repository::LockingProtocol;
use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet};
use crate::time::Nanos;

/// Critical section of a task of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Index of the task in its set.
    pub task: usize,
    /// Number that identifies the resource.
    pub resource: usize,
    /// Longest time for which the task holds the resource in one section, in ns.
    pub longest: Nanos,
}

/// Error for a protocol that does not apply to the order of a queue.
#[derive(Clone, PartialEq, Eq)]
pub struct NoCeiling {
    /// Name of a task in that queue.
    pub task: String,
    /// Order of the queue.
    pub dispatching: Dispatching,
    /// Requested protocol.
    pub protocol: LockingProtocol,
    /// Whether the protocol would apply if no release were late.
    pub late: bool,
}

impl fmt::Display for NoCeiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoCeiling { task, dispatching, protocol, late } = self;
        let known = match dispatching {
            _ if *late => {
                "with jitter or events, deadlines do not determine which operation may interrupt which; use NPP, which \
                 can be analysed"
            }
            Dispatching::Deadline => "with queues by deadline, only SRP and NPP can be analysed",
            _ => {
                "with queues by laxity, only NPP can be analysed, because laxity has no fixed order of urgency"
            }
        };
        write!(
            f,
            "{task} locks a resource under {protocol}, and is queued by {dispatching}: {known}"
        )
    }
}

impl fmt::Debug for NoCeiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NoCeiling {}

/// Returns the urgency that defines ceilings: smaller is more urgent. In a queue ordered by
/// deadline it is the preemption level.
fn urgency(task: &Task) -> (u32, Nanos) {
    match task.dispatching {
        Dispatching::Static => (task.level, Nanos::from(task.order)),
        _ => (task.level, task.deadline),
    }
}

/// Returns the blocking of each task of a set by critical sections, in ns.
///
/// Takes O(n s) time for n tasks and s sections.
///
/// ```
/// use oxorb_sched::analysis::resources::{Kept, blocking};
/// use oxorb_sched::repository::LockingProtocol;
/// use oxorb_sched::{Task, TaskSet};
///
/// let set = TaskSet::fixed_priority(["a", "b", "c"].map(|name| Task::periodic(name, 10, 100)));
/// let kept = |task, longest| Kept { task, resource: 0, longest };
/// // a and c share a resource; b waits for c, too, as c inherits the urgency of a.
/// let waits = blocking(&set, &[kept(0, 2), kept(2, 5)], LockingProtocol::Inheritance)?;
/// assert_eq!(waits, [5, 5, 0]);
/// # Ok::<(), oxorb_sched::analysis::resources::NoCeiling>(())
/// ```
///
/// # Errors
/// [`NoCeiling`].
pub fn blocking(
    set: &TaskSet,
    sections: &[Kept],
    protocol: LockingProtocol,
) -> Result<Vec<Nanos>, NoCeiling> {
    let tasks = &set.tasks;
    for section in sections {
        let task = &tasks[section.task];
        let late = |other: &Task| {
            other.level == task.level && (other.late() > 0 || !other.after.is_empty())
        };
        let fits = match task.dispatching {
            Dispatching::Static => true,
            _ if protocol == LockingProtocol::NonPreemptive => true,
            Dispatching::Deadline => protocol == LockingProtocol::Stack && !tasks.iter().any(late),
            Dispatching::Laxity => false,
        };
        if !fits {
            return Err(NoCeiling {
                task: task.name.clone(),
                dispatching: task.dispatching,
                protocol,
                late: protocol == LockingProtocol::Stack
                    && task.dispatching == Dispatching::Deadline,
            });
        }
    }
    let mut ceilings: BTreeMap<usize, (u32, Nanos)> = BTreeMap::new();
    for section in sections {
        let own = urgency(&tasks[section.task]);
        let ceiling = ceilings.entry(section.resource).or_insert(own);
        *ceiling = own.min(*ceiling);
    }
    let places = 0..tasks.len();
    Ok(places
        .map(|place| {
            let own = urgency(&tasks[place]);
            let lower = sections.iter().filter(|section| {
                let other = &tasks[section.task];
                // In a queue ordered by laxity, or by deadline with late releases, any other task
                // of the level may be the less urgent one.
                let below = match (other.dispatching, protocol) {
                    (Dispatching::Static, _) | (_, LockingProtocol::Stack) => urgency(other) > own,
                    _ => section.task != place && other.level >= tasks[place].level,
                };
                // One thread serves all streams of an operation, so they never wait for each
                // other's critical sections.
                below && !other.shares_thread(&tasks[place])
            });
            match protocol {
                LockingProtocol::NonPreemptive => {
                    lower.map(|section| section.longest).max().unwrap_or(0)
                }
                LockingProtocol::Ceiling | LockingProtocol::Stack => {
                    let reach = lower.filter(|section| ceilings[&section.resource] <= own);
                    reach.map(|section| section.longest).max().unwrap_or(0)
                }
                LockingProtocol::Inheritance => {
                    let (mut by_task, mut by_resource) = (BTreeMap::new(), BTreeMap::new());
                    for section in lower.filter(|section| ceilings[&section.resource] <= own) {
                        let one: &mut Nanos = by_task.entry(section.task).or_default();
                        *one = section.longest.max(*one);
                        let one: &mut Nanos = by_resource.entry(section.resource).or_default();
                        *one = section.longest.max(*one);
                    }
                    let sum = |all: BTreeMap<usize, Nanos>| {
                        all.into_values().fold(0, Nanos::saturating_add)
                    };
                    sum(by_task).min(sum(by_resource))
                }
            }
        })
        .collect())
}

/// Reports whether critical sections cause blocking in this model: non-preemptive jobs never wait
/// in a section.
pub fn is_needed(model: DispatchModel) -> bool {
    model != DispatchModel::NonPreemptive
}
