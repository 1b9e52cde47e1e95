//! Descriptors of operations.

use std::fmt;

use crate::burst::Burst;
use crate::level::{Criticality, Importance};
use crate::time::{LONGEST, Nanos, Show};

/// Names an info; they count from 1 in the order of creation, so that a table finds one in O(1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub i32);

impl Handle {
    /// Place in the order of creation, counted from 0.
    pub(crate) fn index(self) -> Option<usize> {
        usize::try_from(self.0).ok()?.checked_sub(1)
    }

    /// The handle of the info that was created at this place.
    pub(crate) fn at(index: usize) -> Option<Handle> {
        Some(Handle(i32::try_from(index).ok()?.checked_add(1)?))
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Kind of thing that an info stands for (`RtecScheduler::Info_Type_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InfoType {
    /// Something that runs.
    #[default]
    Operation,
    /// Waits for one event of each of its suppliers; runs nothing itself.
    Conjunction,
    /// Passes on each event of any of its suppliers; runs nothing itself.
    Disjunction,
    /// Operation whose callers are on another node, so that its rate may be unknown here.
    RemoteDependant,
}

/// Whether an info or a dependency counts (`RT_Info_Enabled_Type_t`, `Dependency_Enabled_Type_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Enabled {
    /// Does not count.
    Disabled,
    /// Counts.
    #[default]
    Enabled,
    /// Counts, and `reset` and `replace` leave it unchanged.
    NonVolatile,
}

/// Way in which control passes between two operations (`RtecBase::Dependency_Type_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    /// An event: the one that is depended on calls the dependent, which runs in a dispatch of its own. The supplier owns
    /// the thread (paper 3, 3.3 and 3.4.1).
    OneWay,
    /// A call: the dependent calls the one it depends on and waits. The caller owns the thread (paper 0, 4.5.4).
    TwoWay,
}

/// Dependency of an operation on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    /// Way in which control passes.
    pub kind: CallKind,
    /// Calls in each execution of the caller; at least 1.
    pub calls: u32,
    /// The info that depends.
    pub dependent: Handle,
    /// The info it depends on.
    pub on: Handle,
    /// Whether it counts.
    pub enabled: Enabled,
}

/// Characteristics that an application declares of an operation: all that `set` takes.
///
/// Times are in nanoseconds; on the wire they are in units of 100 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Characteristics {
    /// Cost of being late.
    pub criticality: Criticality,
    /// The longest one execution takes, without what it calls.
    pub worst_case: Nanos,
    /// Time that an execution takes mostly; kept for statistics.
    pub typical: Nanos,
    /// Time that each further execution in one period takes, because the result of the first is
    /// still there; 0: as long as the first.
    pub cached: Nanos,
    /// Time between two dispatches; 0: the rate comes from callers and dependencies.
    pub period: Nanos,
    /// Decides between equals.
    pub importance: Importance,
    /// Slice for background operations; kept, as TAO does.
    pub quantum: Nanos,
    /// Threads of its own; 0 is a passive operation, which runs in its callers' threads.
    pub threads: u32,
    /// Kind of thing that the info stands for.
    pub info_type: InfoType,
    /// Constraints that the wire has no room for.
    pub constraints: Constraints,
}

/// Timing constraints beyond those of the IDL, for the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Constraints {
    /// Longest time from release to completion; `None`: the period.
    pub deadline: Option<Nanos>,
    /// Time by which a release may be late.
    pub jitter: Nanos,
    /// The longest that something less urgent keeps a resource which this operation needs.
    pub blocking: Nanos,
    /// Time of the first release after the common start of all clocks; `None`: anything.
    pub offset: Option<Nanos>,
    /// The shortest time that one execution takes, without what it calls; 0 where nothing is known.
    pub best_case: Nanos,
    /// Requests that come in bursts: several in each window as long as the period.
    pub burst: Option<Burst>,
    /// The longest time that one execution takes if the worst case is exceeded, which operations of high criticality must
    /// survive; `None`: it is never exceeded. Without what it calls; mixed-criticality analysis alone looks at it.
    pub overrun: Option<Nanos>,
}

/// Priorities that the last schedule assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Assigned {
    /// Priority of the thread, in the operating system's numbers.
    pub os_priority: i32,
    /// Larger is more urgent among those with the same preemption priority.
    pub subpriority: i32,
    /// 0 is the most urgent level.
    pub preemption_priority: i32,
}

/// Descriptor of the repository (`RtecScheduler::RT_Info`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RtInfo {
    /// Name: by custom the scoped name of the operation.
    pub entry_point: String,
    /// Handle of the descriptor.
    pub handle: Handle,
    /// Characteristics that the application declared.
    pub characteristics: Characteristics,
    /// Dependencies, in the order of adding.
    pub dependencies: Vec<Dependency>,
    /// Priorities that the last schedule assigned; `None` if there was none, or if nothing says how
    /// often the operation runs.
    pub assigned: Option<Assigned>,
    /// Whether it counts.
    pub enabled: Enabled,
    /// Kept for clients that change infos at run time.
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

    /// Whether it counts.
    pub fn is_enabled(&self) -> bool {
        self.enabled != Enabled::Disabled
    }
}

impl Characteristics {
    /// The first value that is out of range, as a sentence.
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
                "the {what} of {} overflows: {} is the most",
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
