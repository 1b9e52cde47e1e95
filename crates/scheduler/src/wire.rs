//! Conversions between wire and analysis: units of 100 ns and nanoseconds, enumerations, infos.

use oxorb::servant::escape;
use oxorb_sched::level::{Criticality, Importance};
use oxorb_sched::repository::{
    Assigned, CallKind, Characteristics, Constraints, Dependency, Enabled, Handle, InfoType, RtInfo,
};
use oxorb_sched::time::{LONGEST, Nanos};
use oxorb_sched::{Anomaly, Dispatching, Error, Level, Severity};

use crate::rtec_base::{DependencyEnabledTypeT, DependencyInfo, DependencyTypeT};
use crate::rtec_scheduler as idl;

/// Length of a time unit on the wire, in nanoseconds.
const UNIT: Nanos = 100;

/// Conversions between corresponding enumerators, both ways.
macro_rules! same {
    ($($ours:ident = $theirs:path: $($one:ident $other:ident),*;)*) => {$(
        impl From<$ours> for $theirs {
            fn from(it: $ours) -> Self {
                match it { $($ours::$one => Self::$other,)* }
            }
        }

        impl From<$theirs> for $ours {
            fn from(it: $theirs) -> Self {
                match it { $(<$theirs>::$other => Self::$one,)* }
            }
        }
    )*};
}

same! {
    Criticality = idl::CriticalityT: VeryLow VeryLowCriticality, Low LowCriticality, Medium MediumCriticality,
        High HighCriticality, VeryHigh VeryHighCriticality;
    Importance = idl::ImportanceT: VeryLow VeryLowImportance, Low LowImportance, Medium MediumImportance,
        High HighImportance, VeryHigh VeryHighImportance;
    InfoType = idl::InfoTypeT: Operation Operation, Conjunction Conjunction, Disjunction Disjunction,
        RemoteDependant RemoteDependant;
    Enabled = idl::RtInfoEnabledTypeT: Disabled RtInfoDisabled, Enabled RtInfoEnabled,
        NonVolatile RtInfoNonVolatile;
    Enabled = DependencyEnabledTypeT: Disabled DependencyDisabled, Enabled DependencyEnabled,
        NonVolatile DependencyNonVolatile;
    CallKind = DependencyTypeT: OneWay OneWayCall, TwoWay TwoWayCall;
    Dispatching = idl::DispatchingTypeT: Static StaticDispatching, Deadline DeadlineDispatching,
        Laxity LaxityDispatching;
    Severity = idl::AnomalySeverity: Fatal AnomalyFatal, Error AnomalyError, Warning AnomalyWarning,
        None AnomalyNone;
}

/// Converts a received time.
fn nanos(what: &str, time: u64) -> Result<Nanos, Error> {
    let nanos = time.checked_mul(UNIT).filter(|&nanos| nanos <= LONGEST);
    nanos.ok_or_else(|| {
        Error::Invalid(format!(
            "the {what} of {time} units of 100 ns overflows: the maximum is 36 years"
        ))
    })
}

/// Converts a time to be sent, rounded up.
fn units(nanos: Nanos) -> u64 {
    nanos.div_ceil(UNIT)
}

/// Converts a period to be sent, rounded down. Periods above 214 s are sent as 214 s, the maximum
/// of `Period_t`.
fn period(nanos: Nanos) -> i32 {
    match nanos {
        0 => 0,
        nanos => i32::try_from((nanos / UNIT).max(1)).unwrap_or(i32::MAX),
    }
}

/// Converts a number that must not be negative.
fn positive(what: &str, number: i32) -> Result<u32, Error> {
    u32::try_from(number).map_err(|_| Error::Invalid(format!("{what} {number} is less than 0")))
}

/// Converts the number of calls of a dependency.
pub(crate) fn calls(number: i32) -> Result<u32, Error> {
    positive("the number of calls", number)
}

/// Converts a received info, without the constraints that the wire format does not carry.
pub(crate) fn characteristics(info: &idl::RtInfo) -> Result<Characteristics, Error> {
    Ok(Characteristics {
        criticality: info.criticality.into(),
        worst_case: nanos("worst-case time", info.worst_case_execution_time)?,
        typical: nanos("typical time", info.typical_execution_time)?,
        cached: nanos("cached time", info.cached_execution_time)?,
        period: u64::from(positive("the period", info.period)?) * UNIT,
        importance: info.importance.into(),
        quantum: nanos("quantum", info.quantum)?,
        threads: positive("the number of threads", info.threads)?,
        info_type: info.info_type.into(),
        constraints: Constraints::default(),
    })
}

/// Converts an info to be sent.
pub(crate) fn info(info: &RtInfo) -> idl::RtInfo {
    let said = &info.characteristics;
    let Assigned { os_priority, subpriority, preemption_priority } =
        info.assigned.unwrap_or_default();
    idl::RtInfo {
        entry_point: escape::outgoing(info.entry_point.clone()),
        handle: info.handle.0,
        worst_case_execution_time: units(said.worst_case),
        typical_execution_time: units(said.typical),
        cached_execution_time: units(said.cached),
        period: period(said.period),
        criticality: said.criticality.into(),
        importance: said.importance.into(),
        quantum: units(said.quantum),
        threads: i32::try_from(said.threads).unwrap_or(i32::MAX),
        dependencies: info.dependencies.iter().map(dependency).collect(),
        priority: os_priority,
        preemption_subpriority: subpriority,
        preemption_priority,
        info_type: said.info_type.into(),
        enabled: info.enabled.into(),
        volatile_token: info.volatile_token,
    }
}

/// Converts a dependency to be sent.
pub(crate) fn dependency(it: &Dependency) -> DependencyInfo {
    DependencyInfo {
        dependency_type: it.kind.into(),
        number_of_calls: i32::try_from(it.calls).unwrap_or(i32::MAX),
        rt_info: it.dependent.0,
        rt_info_depended_on: it.on.0,
        enabled: it.enabled.into(),
    }
}

/// Converts a received dependency.
pub(crate) fn to_dependency(it: &DependencyInfo) -> Result<Dependency, Error> {
    Ok(Dependency {
        kind: it.dependency_type.into(),
        calls: calls(it.number_of_calls)?,
        dependent: Handle(it.rt_info),
        on: Handle(it.rt_info_depended_on),
        enabled: it.enabled.into(),
    })
}

/// Converts a queue to be sent.
pub(crate) fn config(level: &Level) -> idl::ConfigInfo {
    idl::ConfigInfo {
        preemption_priority: level.preemption_priority,
        thread_priority: level.os_priority,
        dispatching_type: level.dispatching.into(),
        timer_periods: level.periods.iter().copied().map(period).collect(),
    }
}

/// Converts a received queue.
pub(crate) fn level(it: &idl::ConfigInfo) -> Result<Level, Error> {
    let mut periods = Vec::with_capacity(it.timer_periods.len());
    for &period in &it.timer_periods {
        periods.push(u64::from(positive("the period", period)?) * UNIT);
    }
    Ok(Level {
        preemption_priority: it.preemption_priority,
        os_priority: it.thread_priority,
        dispatching: it.dispatching_type.into(),
        periods,
    })
}

/// Converts a received anomaly; its description names the operation.
pub(crate) fn to_anomaly(it: idl::SchedulingAnomaly) -> Anomaly {
    Anomaly { severity: it.severity.into(), operation: None, description: it.description }
}

/// Converts an anomaly to be sent.
pub(crate) fn anomaly(found: &Anomaly) -> idl::SchedulingAnomaly {
    idl::SchedulingAnomaly {
        description: escape::outgoing(found.description.clone()),
        severity: found.severity.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_rounded_to_the_safe_side() {
        assert_eq!((units(0), units(1), units(100), units(101)), (0, 1, 1, 2));
        assert_eq!((period(0), period(1), period(199)), (0, 1, 1));
        // One second fits into `Period_t`; ten minutes do not, and become the maximum.
        assert_eq!(period(1_000_000_000), 10_000_000);
        assert_eq!(period(600_000_000_000), i32::MAX);
        assert_eq!(nanos("time", 5), Ok(500));
        assert!(nanos("time", u64::MAX).is_err());
        assert!(nanos("time", LONGEST / UNIT + 1).is_err());
        assert!(positive("the period", -1).is_err());
    }

    /// Enumerators are sent as numbers, so their order must be that of the IDL.
    #[test]
    fn enumerators_have_the_numbers_of_the_wire() {
        for (number, level) in Criticality::ALL.into_iter().enumerate() {
            assert_eq!(idl::CriticalityT::from(level) as usize, number);
            assert_eq!(Criticality::from(idl::CriticalityT::from(level)), level);
        }
        for (number, level) in Importance::ALL.into_iter().enumerate() {
            assert_eq!(idl::ImportanceT::from(level) as usize, number);
        }
        assert_eq!(DependencyTypeT::from(CallKind::OneWay) as usize, 0);
        assert_eq!(idl::DispatchingTypeT::from(Dispatching::Laxity) as usize, 2);
        assert_eq!(idl::AnomalySeverity::from(Severity::Warning) as usize, 2);
        assert_eq!(idl::InfoTypeT::from(InfoType::RemoteDependant) as usize, 3);
        assert_eq!(idl::RtInfoEnabledTypeT::from(Enabled::NonVolatile) as usize, 2);
    }
}
