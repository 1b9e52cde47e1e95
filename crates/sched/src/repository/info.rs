//! Descriptors of operations.

use std::fmt;

use crate::burst::Burst;
use crate::level::{Criticality, Importance};
use crate::time::{LONGEST, Nanos, Show};

/// Handle of an operation's descriptor. Handles count from 1 in the order of creation, so that
/// lookup in a table is O(1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub i32);

impl Handle {
    /// Returns the index in the order of creation, counted from 0.
    pub(crate) fn index(self) -> Option<usize> {
        usize::try_from(self.0).ok()?.checked_sub(1)
    }

    /// Returns the handle of the descriptor with this index.
    pub(crate) fn at(index: usize) -> Option<Handle> {
        Some(Handle(i32::try_from(index).ok()?.checked_add(1)?))
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Kind of a descriptor (`RtecScheduler::Info_Type_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InfoType {
    /// Operation that runs.
    #[default]
    Operation,
    /// Conjunction: waits for one event of each of its suppliers and runs nothing itself.
    Conjunction,
    /// Disjunction: forwards each event of any of its suppliers and runs nothing itself.
    Disjunction,
    /// Operation with callers on another node, so that its rate may be unknown here.
    RemoteDependant,
}

/// State of a descriptor or a dependency (`RT_Info_Enabled_Type_t`, `Dependency_Enabled_Type_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Enabled {
    /// Ignored by schedules.
    Disabled,
    /// Used by schedules.
    #[default]
    Enabled,
    /// Used by schedules, and left unchanged by `reset` and `replace`.
    NonVolatile,
}

/// Kind of control transfer between two operations (`RtecBase::Dependency_Type_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    /// Event: the supplier calls the dependent, which runs in a separate dispatch. The supplier
    /// owns the thread (paper 3, 3.3 and 3.4.1).
    OneWay,
    /// Call: the dependent calls the operation it depends on and waits. The caller owns the thread
    /// (paper 0, 4.5.4).
    TwoWay,
}

/// Dependency of an operation on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    /// Kind of control transfer.
    pub kind: CallKind,
    /// Number of calls in each execution of the caller; at least 1.
    pub calls: u32,
    /// Handle of the dependent operation.
    pub dependent: Handle,
    /// Handle of the operation that it depends on.
    pub on: Handle,
    /// State of the dependency.
    pub enabled: Enabled,
}

/// Characteristics of an operation that an application declares: the input of `set`.
///
/// Times are in nanoseconds; on the wire they are in units of 100 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Characteristics {
    /// Cost of being late.
    pub criticality: Criticality,
    /// Worst-case time of one execution, without its calls.
    pub worst_case: Nanos,
    /// Typical time of an execution; stored for statistics.
    pub typical: Nanos,
    /// Time of each further execution in one period if the result of the first is cached; 0 if it
    /// takes as long as the first.
    pub cached: Nanos,
    /// Time between two dispatches; 0 if the rate comes from callers and dependencies.
    pub period: Nanos,
    /// Order among operations that are equal otherwise.
    pub importance: Importance,
    /// Time slice of background operations; stored but not used, as in TAO.
    pub quantum: Nanos,
    /// Number of threads that belong to the operation; 0 for a passive operation, which runs in its
    /// callers' threads.
    pub threads: u32,
    /// Kind of the descriptor.
    pub info_type: InfoType,
    /// Constraints that the wire format does not carry.
    pub constraints: Constraints,
}

/// Timing constraints beyond those of the IDL, for the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Constraints {
    /// Longest time from release to completion; `None` for the period.
    pub deadline: Option<Nanos>,
    /// Longest delay of a release.
    pub jitter: Nanos,
    /// Longest time for which less urgent operations hold resources that this operation or a more urgent one needs.
    pub blocking: Nanos,
    /// Time of the first release after the common start of all clocks; `None` if unknown.
    pub offset: Option<Nanos>,
    /// Best-case time of one execution, without its calls; 0 if unknown.
    pub best_case: Nanos,
    /// Burst of requests: several in each window as long as the period; `None` for no bursts.
    pub burst: Option<Burst>,
    /// Longest time of one execution, without its calls, if it may exceed the worst case;
    /// operations of high criticality must meet their deadlines even then. `None` if it never
    /// exceeds the worst case. Only mixed-criticality analysis reads it.
    pub overrun: Option<Nanos>,
}

/// Priorities assigned by the last schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Assigned {
    /// Native priority of the thread.
    pub os_priority: i32,
    /// Order among operations with the same preemption priority; a larger number is more urgent.
    pub subpriority: i32,
    /// Dispatching priority; 0 is the most urgent level.
    pub preemption_priority: i32,
}

/// Descriptor of the repository (`RtecScheduler::RT_Info`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RtInfo {
    /// Name: by convention the scoped name of the operation.
    pub entry_point: String,
    /// Handle of the descriptor.
    pub handle: Handle,
    /// Characteristics that the application declared.
    pub characteristics: Characteristics,
    /// Dependencies, in the order of adding.
    pub dependencies: Vec<Dependency>,
    /// Priorities assigned by the last schedule; `None` if there is no schedule, or if the rate of
    /// the operation is unknown.
    pub assigned: Option<Assigned>,
    /// State of the descriptor.
    pub enabled: Enabled,
    /// Token of clients that change descriptors at run time; the service only stores it.
    pub volatile_token: u64,
}

impl RtInfo {
    pub(crate) fn new(entry_point: &str, handle: Handle) -> RtInfo {
        RtInfo {
            entry_point: entry_point.into(),
            handle,
            characteristics: Characteristics::default(),
            dependencies: Vec::new(),
            assigned: None,
            enabled: Enabled::default(),
            volatile_token: 0,
        }
    }

    /// Reports whether schedules use the operation.
    pub fn is_enabled(&self) -> bool {
        self.enabled != Enabled::Disabled
    }
}

impl Characteristics {
    /// Returns a sentence about the first value that is out of range.
    pub(crate) fn problem(&self) -> Option<String> {
        let constraints = &self.constraints;
        let times = [
            ("worst-case time", self.worst_case),
            ("typical time", self.typical),
            ("cached time", self.cached),
            ("period", self.period),
            ("quantum", self.quantum),
            ("deadline", constraints.deadline.unwrap_or(0)),
            ("jitter", constraints.jitter),
            ("blocking", constraints.blocking),
            ("offset", constraints.offset.unwrap_or(0)),
            ("best-case time", constraints.best_case),
            ("time of an overrun", constraints.overrun.unwrap_or(0)),
            ("distance in a burst", constraints.burst.map_or(0, |burst| burst.distance)),
        ];
        if let Some((what, time)) = times.into_iter().find(|&(_, time)| time > LONGEST) {
            return Some(format!(
                "the {what} of {} overflows: the maximum is {}",
                Show(time),
                Show(LONGEST)
            ));
        }
        if constraints.deadline == Some(0) {
            return Some("a deadline of 0 cannot be met".into());
        }
        if constraints.best_case > self.worst_case {
            return Some(format!(
                "the best case of {} is longer than the worst case of {}",
                Show(constraints.best_case),
                Show(self.worst_case)
            ));
        }
        let shorter = constraints.overrun.filter(|&overrun| overrun < self.worst_case);
        if let Some(overrun) = shorter {
            return Some(format!(
                "an overrun of {} is shorter than the worst case of {}, which it exceeds",
                Show(overrun),
                Show(self.worst_case)
            ));
        }
        constraints.burst?.problem(self.period)
    }
}
