//! Strategies: the order of urgency of operations, and its enforcement (paper 3, 3.4.3 to 3.4.5).
//!
//! A strategy has two independent halves: an [`InputMapping`] maps characteristics of operations to
//! urgencies, an [`OutputMapping`] maps urgencies to dispatching priorities. [`Strategy`] and
//! [`DispatchModel`] provide the known mappings as data; an application adds its own by
//! implementing the traits.

mod output;
mod urgency;

use std::fmt;
use std::str::FromStr;

pub use output::{DispatchModel, OutputMapping};
pub use urgency::{DispatchUrgency, by_deadline, by_laxity};

use crate::repository::RtInfo;
use crate::time::Nanos;

/// Order in which a queue dispatches (`RtecScheduler::Dispatching_Type_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dispatching {
    /// Static subpriority alone.
    Static,
    /// Time to deadline, then static subpriority.
    Deadline,
    /// Laxity, then static subpriority.
    Laxity,
}

impl fmt::Display for Dispatching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Dispatching::Static => "STATIC",
            Dispatching::Deadline => "DEADLINE",
            Dispatching::Laxity => "LAXITY",
        })
    }
}

/// Operation as input mappings see it: its declaration, and the values implied by its dependencies.
#[derive(Debug, Clone, Copy)]
pub struct MappedOperation<'a> {
    /// Descriptor of the operation.
    pub info: &'a RtInfo,
    /// Period, its own or implied; 0 if unknown.
    pub period: Nanos,
    /// Longest time from release to completion; the period by default.
    pub deadline: Nanos,
    /// Worst-case time of one dispatch with all its two-way calls, in ns.
    pub worst_case: Nanos,
}

/// Mapping of operations to urgencies, independent of the platform.
///
/// ```
/// use oxorb_sched::strategy::{Dispatching, InputMapping, MappedOperation};
///
/// /// Whatever has "alarm" in its name goes first.
/// struct AlarmsFirst;
///
/// impl InputMapping for AlarmsFirst {
///     fn name(&self) -> &str {
///         "alarms first"
///     }
///
///     fn static_priority(&self, operation: &MappedOperation<'_>) -> u64 {
///         u64::from(!operation.info.entry_point.contains("alarm"))
///     }
///
///     fn dispatching(&self, _: &MappedOperation<'_>) -> Dispatching {
///         Dispatching::Deadline
///     }
/// }
/// ```
pub trait InputMapping {
    /// Returns the name in reports.
    fn name(&self) -> &str;

    /// Returns the static priority: operations with the same number share a level; smaller numbers
    /// are more urgent.
    fn static_priority(&self, operation: &MappedOperation<'_>) -> u64;

    /// Returns the order of operations within the level.
    fn dispatching(&self, operation: &MappedOperation<'_>) -> Dispatching;

    /// Reports whether the operation belongs to the critical set, in which no deadline may be
    /// missed. By default all operations do. A schedule without any critical operation treats all
    /// as critical.
    fn is_critical(&self, operation: &MappedOperation<'_>) -> bool {
        let _ = operation;
        true
    }
}

/// Criterion of the static priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaticPriority {
    /// Constant: there is one level.
    Single,
    /// Criticality.
    Criticality,
    /// Period, shorter ones first.
    Period,
    /// Relative deadline, shorter ones first.
    Deadline,
    /// Criticality; among critical operations also the period.
    CriticalityThenPeriod,
}

/// Criterion within a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelCriterion {
    /// The same criterion for all levels.
    All(Dispatching),
    /// Static subpriority among critical operations, laxity among the others.
    LaxityUnlessCritical,
}

/// Input mapping as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// Name in reports.
    pub name: &'static str,
    /// Criterion of the static priority.
    pub static_priority: StaticPriority,
    /// Criterion within a level.
    pub within: LevelCriterion,
    /// Whether only operations of high and very high criticality belong to the critical set;
    /// otherwise all operations do.
    pub critical_set_only: bool,
}

impl Strategy {
    /// Rate monotonic: static priority by period.
    pub const RMS: Strategy = Strategy {
        name: "RMS",
        static_priority: StaticPriority::Period,
        within: LevelCriterion::All(Dispatching::Static),
        critical_set_only: false,
    };

    /// Deadline monotonic: static priority by relative deadline.
    pub const DM: Strategy =
        Strategy { name: "DM", static_priority: StaticPriority::Deadline, ..Strategy::RMS };

    /// Earliest deadline first: one level by time to deadline.
    pub const EDF: Strategy = Strategy {
        name: "EDF",
        static_priority: StaticPriority::Single,
        within: LevelCriterion::All(Dispatching::Deadline),
        critical_set_only: false,
    };

    /// Minimum laxity first: one level by laxity.
    pub const MLF: Strategy =
        Strategy { name: "MLF", within: LevelCriterion::All(Dispatching::Laxity), ..Strategy::EDF };

    /// Maximum urgency first: static priority by criticality, then laxity.
    pub const MUF: Strategy = Strategy {
        name: "MUF",
        static_priority: StaticPriority::Criticality,
        within: LevelCriterion::All(Dispatching::Laxity),
        critical_set_only: true,
    };

    /// Rate monotonic for critical operations, minimum laxity first for the others.
    pub const RMS_MLF: Strategy = Strategy {
        name: "RMS+MLF",
        static_priority: StaticPriority::CriticalityThenPeriod,
        within: LevelCriterion::LaxityUnlessCritical,
        critical_set_only: true,
    };

    /// All strategies.
    pub const ALL: [Strategy; 6] = [
        Strategy::MUF,
        Strategy::MLF,
        Strategy::EDF,
        Strategy::RMS,
        Strategy::DM,
        Strategy::RMS_MLF,
    ];
}

impl InputMapping for Strategy {
    fn name(&self) -> &str {
        self.name
    }

    fn static_priority(&self, operation: &MappedOperation<'_>) -> u64 {
        let criticality = operation.info.characteristics.criticality;
        let below_most = 4 - criticality as u64;
        match self.static_priority {
            StaticPriority::Single => 0,
            StaticPriority::Criticality => below_most,
            StaticPriority::Period => operation.period,
            StaticPriority::Deadline => operation.deadline,
            // Periods are below 2^61, so the criticality fits into the bits above.
            StaticPriority::CriticalityThenPeriod if criticality.is_critical() => {
                (below_most << 61) | operation.period
            }
            StaticPriority::CriticalityThenPeriod => below_most << 61,
        }
    }

    fn dispatching(&self, operation: &MappedOperation<'_>) -> Dispatching {
        match self.within {
            LevelCriterion::All(dispatching) => dispatching,
            LevelCriterion::LaxityUnlessCritical => {
                let criticality = operation.info.characteristics.criticality;
                match criticality.is_critical() {
                    true => Dispatching::Static,
                    false => Dispatching::Laxity,
                }
            }
        }
    }

    fn is_critical(&self, operation: &MappedOperation<'_>) -> bool {
        !self.critical_set_only || operation.info.characteristics.criticality.is_critical()
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// Error for an unknown strategy name.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no strategy {0:?}; expected one of {names}",
    names = Strategy::ALL.map(|strategy| strategy.name).join(", ")
)]
pub struct UnknownStrategy(String);

impl fmt::Debug for UnknownStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    /// Parses the name of a strategy, in any case; `_`, `-` and `+` are the same.
    fn from_str(text: &str) -> Result<Self, UnknownStrategy> {
        let plain = |name: &str| name.to_ascii_lowercase().replace(['_', '-'], "+");
        let found = Strategy::ALL.into_iter().find(|strategy| plain(strategy.name) == plain(text));
        found.ok_or_else(|| UnknownStrategy(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Criticality;
    use crate::repository::{Handle, Repository};

    #[test]
    fn strategies_are_found_by_name() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.name.parse(), Ok(strategy));
        }
        assert_eq!("rms-mlf".parse(), Ok(Strategy::RMS_MLF));
        let wrong = "FIFO".parse::<Strategy>().unwrap_err();
        assert!(wrong.to_string().contains("MUF, MLF, EDF, RMS, DM, RMS+MLF"));
    }

    #[test]
    fn rms_and_mlf_joined_rank_critical_ones_by_period_alone() {
        let mut repository = Repository::new();
        let rank = |repository: &mut Repository, criticality, period| {
            let handle = repository.create(&format!("{criticality}{period}")).unwrap();
            let said = crate::repository::Characteristics { criticality, ..Default::default() };
            repository.set(handle, said).unwrap();
            let operation = MappedOperation {
                info: repository.get(handle).unwrap(),
                period,
                deadline: period,
                worst_case: 1,
            };
            let strategy = Strategy::RMS_MLF;
            (strategy.static_priority(&operation), strategy.dispatching(&operation))
        };
        let fast = rank(&mut repository, Criticality::High, 10);
        let slow = rank(&mut repository, Criticality::High, 20);
        let most = rank(&mut repository, Criticality::VeryHigh, 30);
        let rest = rank(&mut repository, Criticality::Low, 5);
        let more = rank(&mut repository, Criticality::Low, 50);
        assert!(most < fast && fast < slow && slow < rest);
        assert_eq!(rest, more);
        assert_eq!(rest.1, Dispatching::Laxity);
        assert!(repository.get(Handle(1)).is_ok());
    }
}
