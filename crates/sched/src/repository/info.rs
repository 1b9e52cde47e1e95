//! What is known of one operation.

use std::fmt;

use crate::level::{Criticality, Importance};
use crate::time::{LONGEST, Nanos, Show};

/// Names an info; they count from 1 in the order of creation, so that a table finds one in O(1) (A11.15).
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

/// What an info stands for (`RtecScheduler::Info_Type_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InfoType {
    /// Something that runs.
    #[default]
    Operation,
    /// Waits for one event of each of its suppliers; runs nothing itself.
    Conjunction,
    /// Passes on each event of any of its suppliers; runs nothing itself.
    Disjunction,
    /// Its callers are on another node, so that its rate may be unknown here.
    RemoteDependant,
}

/// Whether an info or a dependency counts (`RT_Info_Enabled_Type_t`, `Dependency_Enabled_Type_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Enabled {
    /// As if it were not there.
    Disabled,
    /// It counts.
    #[default]
    Enabled,
    /// It counts, and `reset` and `replace` leave it as it is.
    NonVolatile,
}

/// How control passes between two operations (`RtecBase::Dependency_Type_t`, A22.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    /// An event: the one that is depended on calls the dependent, which runs in a dispatch of its own. The supplier owns
    /// the thread (paper 3, 3.3 and 3.4.1).
    OneWay,
    /// A call: the dependent calls the one it depends on and waits. The caller owns the thread (paper 0, 4.5.4).
    TwoWay,
}

/// That one operation needs another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    /// Which way control passes.
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

/// What an application says about an operation: all that `set` takes.
///
/// Times are in nanoseconds; on the wire they are in units of 100 ns (A10.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Characteristics {
    /// Cost of being late.
    pub criticality: Criticality,
    /// The longest one execution takes, without what it calls.
    pub worst_case: Nanos,
    /// What an execution takes mostly; kept for statistics (A10.8).
    pub typical: Nanos,
    /// What each further execution in one period takes, because the result of the first is still there; 0: as long as
    /// the first (A10.6).
    pub cached: Nanos,
    /// Between two dispatches; 0: the rate comes from callers and dependencies (A10.5, A11.5).
    pub period: Nanos,
    /// Decides between equals.
    pub importance: Importance,
    /// Slice for background operations; kept, as TAO does (A10.7).
    pub quantum: Nanos,
    /// Threads of its own; 0 is a passive operation, which runs in its callers' threads (A11.20).
    pub threads: u32,
    /// What it stands for.
    pub info_type: InfoType,
    /// What the wire has no room for.
    pub constraints: Constraints,
}

/// Timing constraints beyond those of the IDL (A10.11), for the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Constraints {
    /// From release to completion; `None`: the period.
    pub deadline: Option<Nanos>,
    /// By how much a release may be late.
    pub jitter: Nanos,
    /// The longest that something less urgent keeps a resource which this operation needs.
    pub blocking: Nanos,
    /// Of the first release after the common start of all clocks; `None`: anything.
    pub offset: Option<Nanos>,
}

/// What the last schedule assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Assigned {
    /// Of the thread, in the operating system's numbers.
    pub os_priority: i32,
    /// Larger is more urgent among those with the same preemption priority.
    pub subpriority: i32,
    /// 0 is the most urgent level (A22.15).
    pub preemption_priority: i32,
}

/// One descriptor of the repository (`RtecScheduler::RT_Info`, A10.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RtInfo {
    /// Name: by custom the scoped name of the operation.
    pub entry_point: String,
    /// Its handle.
    pub handle: Handle,
    /// What the application said.
    pub characteristics: Characteristics,
    /// What it depends on, in the order of adding.
    pub dependencies: Vec<Dependency>,
    /// What the last schedule assigned; `None` if there was none, or if nothing says how often it runs.
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
        ];
        if let Some((what, time)) = times.into_iter().find(|&(_, time)| time > LONGEST) {
            return Some(format!(
                "the {what} of {} overflows: {} is the most",
                Show(time),
                Show(LONGEST)
            ));
        }
        (constraints.deadline == Some(0)).then(|| "a deadline of 0 cannot be met".into())
    }
}
