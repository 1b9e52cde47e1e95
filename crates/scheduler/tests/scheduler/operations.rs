//! Effect of each operation of the interface.

use oxorb_scheduler::rtec_base::{DependencyEnabledTypeT, DependencyInfo, DependencyTypeT};
use oxorb_scheduler::rtec_scheduler::scheduler::ResetSeqError;
use oxorb_scheduler::rtec_scheduler::{
    AnomalySeverity, CriticalityT, DispatchingTypeT, ImportanceT, InfoTypeT, RtInfoEnableStatePair,
    RtInfoEnabledTypeT, SchedulerRef,
};

use super::{Bench, info, set};

const ONE_WAY: DependencyTypeT = DependencyTypeT::OneWayCall;
const TWO_WAY: DependencyTypeT = DependencyTypeT::TwoWayCall;

#[test]
fn what_was_set_is_what_is_got() {
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    let handle = scheduler.create("nav::Sensor::sample").unwrap();
    assert_eq!(handle, 1);
    assert_eq!(scheduler.lookup("nav::Sensor::sample"), Ok(1));
    scheduler
        .set(
            handle,
            CriticalityT::VeryHighCriticality,
            20_000,
            10_000,
            5_000,
            500_000,
            ImportanceT::HighImportance,
            77,
            2,
            InfoTypeT::RemoteDependant,
        )
        .unwrap();
    let found = scheduler.get(handle).unwrap();
    assert_eq!(found.entry_point, "nav::Sensor::sample");
    let numbers = (
        found.worst_case_execution_time,
        found.typical_execution_time,
        found.cached_execution_time,
        found.period,
        found.quantum,
        found.threads,
    );
    assert_eq!(numbers, (20_000, 10_000, 5_000, 500_000, 77, 2));
    assert_eq!(found.criticality, CriticalityT::VeryHighCriticality);
    assert_eq!(found.importance, ImportanceT::HighImportance);
    assert_eq!(found.info_type, InfoTypeT::RemoteDependant);
    assert_eq!(found.enabled, RtInfoEnabledTypeT::RtInfoEnabled);
    assert!(found.dependencies.is_empty());
}

#[test]
fn sequences_set_reset_and_replace() {
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    let [a, b, c] = ["a", "b", "c"].map(|name| scheduler.create(name).unwrap());
    let periods = || -> Vec<i32> {
        let infos = scheduler.get_rt_info_set().unwrap();
        infos.iter().map(|info| info.period).collect()
    };
    scheduler.set_seq(&[info(a, 1, 10), info(b, 1, 20), info(c, 1, 30)]).unwrap();
    assert_eq!(periods(), [10, 20, 30]);
    // If one operation is unknown, none is changed.
    assert!(scheduler.set_seq(&[info(a, 1, 99), info(9, 1, 9)]).is_err());
    assert_eq!(periods(), [10, 20, 30]);
    scheduler.set_rt_info_enable_state(a, RtInfoEnabledTypeT::RtInfoNonVolatile).unwrap();
    // If one operation is non-volatile, `reset_seq` changes none of them.
    let refused = scheduler.reset_seq(&[info(b, 1, 22), info(a, 1, 11)]);
    assert!(matches!(refused, Err(ResetSeqError::UnknownTask(_))));
    assert_eq!(periods(), [10, 20, 30]);
    scheduler.reset_seq(&[info(b, 1, 22)]).unwrap();
    assert_eq!(periods(), [10, 22, 30]);
    let it = info(c, 1, 33);
    scheduler.reset(c, it.criticality, 1, 1, 0, 33, it.importance, 0, 1, it.info_type).unwrap();
    assert_eq!(periods(), [10, 22, 33]);
    scheduler.replace_seq(&[info(c, 1, 300)]).unwrap();
    assert_eq!(periods(), [10, 0, 300]);
}

/// Operations are enabled and disabled as by TAO's reconfiguring scheduler, because its clients
/// rely on this.
#[test]
fn setting_enables_and_replacing_disables_the_others() {
    use RtInfoEnabledTypeT::{RtInfoDisabled, RtInfoEnabled, RtInfoNonVolatile};
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    let [a, b, c] = ["a", "b", "c"].map(|name| bench.operation(name, 1, 100));
    let states = || -> Vec<RtInfoEnabledTypeT> {
        let infos = scheduler.get_rt_info_set().unwrap();
        infos.iter().map(|info| info.enabled).collect()
    };
    let enable = |handle, enabled| scheduler.set_rt_info_enable_state(handle, enabled).unwrap();
    enable(a, RtInfoDisabled);
    scheduler.set_seq(&[info(a, 1, 100)]).unwrap();
    assert_eq!(states(), [RtInfoEnabled; 3]);
    // A mode change: c continues, a is added, b is removed.
    enable(c, RtInfoNonVolatile);
    scheduler.replace_seq(&[info(a, 1, 100)]).unwrap();
    assert_eq!(states(), [RtInfoEnabled, RtInfoDisabled, RtInfoNonVolatile]);
    scheduler.recompute_scheduling(1, 99).unwrap();
    assert!(scheduler.priority(a).is_ok() && scheduler.priority(c).is_ok());
    assert!(scheduler.priority(b).is_err());
    // The mode change is reverted: b is added, and a is removed.
    scheduler.replace_seq(&[info(b, 1, 100)]).unwrap();
    assert_eq!(states(), [RtInfoDisabled, RtInfoEnabled, RtInfoNonVolatile]);
    scheduler.reset_seq(&[info(a, 1, 100)]).unwrap();
    assert_eq!(states(), [RtInfoEnabled, RtInfoEnabled, RtInfoNonVolatile]);
}

#[test]
fn dependencies_come_go_and_sleep() {
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    let [a, b] = ["a", "b"].map(|name| scheduler.create(name).unwrap());
    scheduler.add_dependency(a, b, 3, TWO_WAY).unwrap();
    scheduler.add_dependency(b, a, 2, ONE_WAY).unwrap();
    let first = DependencyInfo {
        dependency_type: TWO_WAY,
        number_of_calls: 3,
        rt_info: a,
        rt_info_depended_on: b,
        enabled: DependencyEnabledTypeT::DependencyEnabled,
    };
    let second = DependencyInfo {
        dependency_type: ONE_WAY,
        number_of_calls: 2,
        rt_info: b,
        rt_info_depended_on: a,
        ..first
    };
    assert_eq!(scheduler.get_dependency_set().unwrap(), [first, second]);
    assert_eq!(scheduler.get(a).unwrap().dependencies, [first]);
    let asleep = DependencyInfo { enabled: DependencyEnabledTypeT::DependencyDisabled, ..first };
    scheduler.set_dependency_enable_state(a, b, 3, TWO_WAY, asleep.enabled).unwrap();
    assert_eq!(scheduler.get_dependency_set().unwrap(), [asleep, second]);
    scheduler.set_dependency_enable_state_seq(&[first, second]).unwrap();
    assert_eq!(scheduler.get_dependency_set().unwrap(), [first, second]);
    scheduler.remove_dependency(a, b, 3, TWO_WAY).unwrap();
    assert_eq!(scheduler.get_dependency_set().unwrap(), [second]);
}

#[test]
fn a_schedule_is_computed_and_looked_up() {
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    let fast = bench.operation("fast", 10_000, 100_000);
    let slow = bench.operation("slow", 20_000, 400_000);
    let consumer = scheduler.create("consumer").unwrap();
    let said = oxorb_scheduler::rtec_scheduler::RtInfo { threads: 0, ..info(consumer, 5_000, 0) };
    scheduler.set_seq(&[said]).unwrap();
    // In each of its periods, "slow" sends the consumer two events.
    scheduler.add_dependency(consumer, slow, 2, ONE_WAY).unwrap();
    let (infos, dependencies, configs, anomalies) = scheduler.compute_scheduling(1, 99).unwrap();
    assert_eq!(anomalies, []);
    let rows: Vec<_> = infos
        .iter()
        .map(|row| (row.priority, row.preemption_subpriority, row.preemption_priority))
        .collect();
    // The consumer comes before "slow", because the depth-first search of the graph finishes it first. Its two
    // dispatches have the subpriorities 2 and 1, and the last of them is reported.
    assert_eq!(rows, [(99, 0, 0), (98, 0, 1), (98, 1, 1)]);
    assert_eq!(dependencies, scheduler.get_dependency_set().unwrap());
    let levels: Vec<_> = configs
        .iter()
        .map(|level| {
            (
                level.preemption_priority,
                level.thread_priority,
                level.dispatching_type,
                level.timer_periods.clone(),
            )
        })
        .collect();
    let fixed = DispatchingTypeT::StaticDispatching;
    let expected = [(0, 99, fixed, vec![100_000]), (1, 98, fixed, vec![400_000])];
    assert_eq!(levels, expected);
    assert_eq!(scheduler.get_config_infos().unwrap(), configs);
    assert_eq!(scheduler.get_config_info_set().unwrap(), configs);
    assert_eq!(scheduler.priority(fast), Ok((99, 0, 0)));
    assert_eq!(scheduler.entry_point_priority("consumer"), Ok((98, 1, 1)));
    assert_eq!(scheduler.dispatch_configuration(1), Ok((98, fixed)));
    assert_eq!(scheduler.last_scheduled_priority(), Ok(1));
    assert_eq!(scheduler.recompute_scheduling(10, 20), Ok(vec![]));
    assert_eq!(scheduler.priority(slow), Ok((19, 0, 1)));
}

#[test]
fn anomalies_have_their_severity() {
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    bench.operation("good", 1, 10_000);
    let [lost, far] = ["lost", "far"].map(|name| scheduler.create(name).unwrap());
    let remote = oxorb_scheduler::rtec_scheduler::RtInfo {
        info_type: InfoTypeT::RemoteDependant,
        ..info(far, 1, 0)
    };
    scheduler.set_seq(&[info(lost, 1, 0), remote]).unwrap();
    let anomalies = scheduler.recompute_scheduling(1, 99).unwrap();
    let told: Vec<_> = anomalies
        .iter()
        .map(|found| (found.severity, found.description.split(':').next().unwrap()))
        .collect();
    let expected = [
        (AnomalySeverity::AnomalyError, "unresolved local dependencies"),
        (AnomalySeverity::AnomalyWarning, "unresolved remote dependencies"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn rings_are_fatal_and_named() {
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    let [a, b] = ["a", "b"].map(|name| bench.operation(name, 1, 100));
    scheduler.add_dependency(a, b, 1, TWO_WAY).unwrap();
    // a calls b and also receives events from b, which makes the dependencies cyclic.
    scheduler.add_dependency(a, b, 1, ONE_WAY).unwrap();
    let (_, _, configs, anomalies) = scheduler.compute_scheduling(1, 99).unwrap();
    assert_eq!(anomalies.len(), 1);
    assert_eq!(anomalies[0].severity, AnomalySeverity::AnomalyFatal);
    assert_eq!(anomalies[0].description, "cyclic dependencies: a -> b -> a");
    assert!(configs.is_empty());
    assert!(scheduler.last_scheduled_priority().is_err());
    // If the dependency by events is disabled, there is no cycle, so a schedule exists.
    scheduler
        .set_dependency_enable_state(a, b, 1, ONE_WAY, DependencyEnabledTypeT::DependencyDisabled)
        .unwrap();
    assert_eq!(scheduler.recompute_scheduling(1, 99), Ok(vec![]));
    assert_eq!(scheduler.last_scheduled_priority(), Ok(0));
}

#[test]
fn what_is_disabled_is_left_out() {
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    let [a, b] = ["a", "b"].map(|name| bench.operation(name, 1, 100));
    let pair = |handle, enabled| RtInfoEnableStatePair { handle, enabled };
    scheduler
        .set_rt_info_enable_state_seq(&[
            pair(a, RtInfoEnabledTypeT::RtInfoDisabled),
            pair(b, RtInfoEnabledTypeT::RtInfoEnabled),
        ])
        .unwrap();
    scheduler.recompute_scheduling(1, 99).unwrap();
    assert!(scheduler.priority(a).is_err());
    assert_eq!(scheduler.priority(b), Ok((99, 0, 0)));
}

#[test]
fn what_the_wire_has_no_room_for_stays() {
    use oxorb_sched::repository::{Characteristics, Constraints};
    let bench = Bench::configuration();
    let constraints = Constraints { deadline: Some(4_000), jitter: 100, ..Constraints::default() };
    let handle = bench
        .scheduling
        .change(|service| {
            let handle = service.create("a")?;
            let said = Characteristics { constraints, ..Characteristics::default() };
            service.set(handle, said)?;
            Ok(handle)
        })
        .unwrap();
    set(&bench.scheduler, handle.0, 10, 100).unwrap();
    let found =
        bench.scheduling.look(|service| service.get(handle).unwrap().characteristics).unwrap();
    assert_eq!(found.constraints, constraints);
    assert_eq!((found.worst_case, found.period), (1_000, 10_000));
}

/// Regression test: if a client's code set could not represent one of the listed names, the client
/// received none of them.
#[test]
fn a_name_outside_of_a_clients_code_set_hides_no_other() {
    let bench = Bench::configuration();
    // A `corbaloc:` declares no code sets, so text is sent in ISO 8859-1. An IOR declares them, so text is sent in
    // UTF-8.
    let latin = &bench.scheduler;
    let ior = oxorb::Interface::to_ior(bench.served.scheduler());
    // The first request of a connection fixes its code sets, so the second check uses another client ORB.
    let other = oxorb::Orb::builder().build().unwrap();
    let unicode: SchedulerRef = other.resolve(&ior).unwrap();
    let handle = unicode.create("жук::scan").unwrap();
    set(&unicode, handle, 10_000, 500_000).unwrap();
    bench.operation("plain", 10_000, 500_000);
    let names = |scheduler: &SchedulerRef| -> Vec<String> {
        let infos = scheduler.get_rt_info_set().unwrap();
        infos.into_iter().map(|info| info.entry_point).collect()
    };
    assert_eq!(names(&unicode), ["жук::scan", "plain"]);
    let sent = "{U+0436}{U+0443}{U+043A}::scan";
    assert_eq!(names(latin), [sent, "plain"]);
    assert_eq!(latin.get(handle).unwrap().entry_point, sent);
    assert_eq!(latin.lookup(sent), Ok(handle));
    assert!(latin.create(sent).is_err(), "it is there already");
    let (infos, ..) = latin.compute_scheduling(1, 99).unwrap();
    assert_eq!(infos[0].entry_point, sent);
    latin.entry_point_priority(sent).unwrap();
}
