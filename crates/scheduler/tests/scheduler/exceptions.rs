//! Tests of the exceptions of each operation, and of the reasons that the service's operator gets.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::{SystemExceptionKind, minor};
use oxorb_scheduler::rtec_base::{DependencyEnabledTypeT, DependencyTypeT};
use oxorb_scheduler::rtec_scheduler::RtInfoEnabledTypeT;
use oxorb_scheduler::rtec_scheduler::scheduler::*;
use oxorb_scheduler::{Limits, Scheduling};

use super::{Bench, info, limits, rms, set};

const TWO_WAY: DependencyTypeT = DependencyTypeT::TwoWayCall;

/// Kind and minor code of a system exception.
macro_rules! system {
    ($done:expr, $error:ident) => {
        match $done {
            Err($error::System(exception)) => (exception.kind, exception.minor),
            other => panic!("expected a system exception, got {other:?}"),
        }
    };
}

#[test]
fn names_and_handles() {
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    let a = bench.operation("a", 1, 100);
    assert!(matches!(scheduler.create("a"), Err(CreateError::DuplicateName(_))));
    assert!(matches!(scheduler.lookup("b"), Err(LookupError::UnknownTask(_))));
    assert!(matches!(
        scheduler.entry_point_priority("b"),
        Err(EntryPointPriorityError::UnknownTask(_))
    ));
    for wrong in [i32::MIN, -1, 0, 2, i32::MAX] {
        assert!(matches!(scheduler.get(wrong), Err(GetError::UnknownTask(_))));
        assert!(matches!(set(scheduler, wrong, 1, 1), Err(SetError::UnknownTask(_))));
        assert!(matches!(scheduler.priority(wrong), Err(PriorityError::UnknownTask(_))));
        let infos = [info(wrong, 1, 1)];
        assert!(matches!(scheduler.set_seq(&infos), Err(SetSeqError::UnknownTask(_))));
        assert!(matches!(scheduler.reset_seq(&infos), Err(ResetSeqError::UnknownTask(_))));
        assert!(matches!(scheduler.replace_seq(&infos), Err(ReplaceSeqError::UnknownTask(_))));
        for (one, other) in [(wrong, a), (a, wrong)] {
            assert!(matches!(
                scheduler.add_dependency(one, other, 1, TWO_WAY),
                Err(AddDependencyError::UnknownTask(_))
            ));
        }
        assert!(matches!(
            scheduler.set_rt_info_enable_state(wrong, RtInfoEnabledTypeT::RtInfoDisabled),
            Err(SetRtInfoEnableStateError::UnknownTask(_))
        ));
    }
    // A dependency that does not exist raises UnknownTask as well.
    assert!(matches!(
        scheduler.remove_dependency(a, a, 1, TWO_WAY),
        Err(RemoveDependencyError::UnknownTask(_))
    ));
    let asleep = DependencyEnabledTypeT::DependencyDisabled;
    assert!(matches!(
        scheduler.set_dependency_enable_state(a, a, 1, TWO_WAY, asleep),
        Err(SetDependencyEnableStateError::UnknownTask(_))
    ));
}

#[test]
fn before_anything_is_scheduled_and_after_a_change() {
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    let a = bench.operation("a", 1, 100);
    let nothing = || {
        assert!(matches!(scheduler.priority(a), Err(PriorityError::NotScheduled(_))));
        assert!(matches!(
            scheduler.entry_point_priority("a"),
            Err(EntryPointPriorityError::NotScheduled(_))
        ));
        assert!(matches!(
            scheduler.dispatch_configuration(0),
            Err(DispatchConfigurationError::NotScheduled(_))
        ));
        assert!(matches!(
            scheduler.last_scheduled_priority(),
            Err(LastScheduledPriorityError::NotScheduled(_))
        ));
        assert!(matches!(scheduler.get_config_infos(), Err(GetConfigInfosError::NotScheduled(_))));
        assert_eq!(scheduler.get_config_info_set(), Ok(vec![]));
    };
    nothing();
    scheduler.recompute_scheduling(1, 99).unwrap();
    assert_eq!(scheduler.priority(a), Ok((99, 0, 0)));
    assert!(matches!(
        scheduler.dispatch_configuration(1),
        Err(DispatchConfigurationError::UnknownPriorityLevel(_))
    ));
    assert!(matches!(
        scheduler.dispatch_configuration(-1),
        Err(DispatchConfigurationError::UnknownPriorityLevel(_))
    ));
    scheduler.create("b").unwrap();
    nothing();
    // The rate of b is unknown, so the schedule leaves b out.
    scheduler.recompute_scheduling(1, 99).unwrap();
    assert!(matches!(
        scheduler.entry_point_priority("b"),
        Err(EntryPointPriorityError::NotScheduled(_))
    ));
}

#[test]
fn schedules_that_are_none() {
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    let a = bench.operation("a", 60, 100);
    let b = bench.operation("b", 50, 200);
    assert!(matches!(
        scheduler.recompute_scheduling(7, 7),
        Err(RecomputeSchedulingError::InsufficientThreadPriorityLevels(_))
    ));
    set(scheduler, b, 90, 200).unwrap();
    assert!(matches!(
        scheduler.compute_scheduling(1, 99),
        Err(ComputeSchedulingError::UtilizationBoundExceeded(_))
    ));
    assert!(matches!(scheduler.priority(a), Err(PriorityError::NotScheduled(_))));
    let refused = system!(scheduler.recompute_scheduling(9, 1), RecomputeSchedulingError);
    let expected = (SystemExceptionKind::BadParam, minor::bad_param::SCHEDULING);
    assert_eq!(refused, expected);
}

#[test]
fn values_out_of_range() {
    let bench = Bench::configuration();
    let scheduler = &bench.scheduler;
    let a = bench.operation("a", 1, 100);
    let expected = (SystemExceptionKind::BadParam, minor::bad_param::SCHEDULING);
    assert_eq!(system!(set(scheduler, a, u64::MAX, 100), SetError), expected);
    assert_eq!(system!(set(scheduler, a, 1, -1), SetError), expected);
    for calls in [0, -1, i32::MIN] {
        let refused = scheduler.add_dependency(a, a, calls, TWO_WAY);
        assert_eq!(system!(refused, AddDependencyError), expected);
    }
    let long = "n".repeat(1_025);
    assert_eq!(system!(scheduler.create(&long), CreateError), expected);
    // The refused calls have changed nothing.
    assert_eq!(scheduler.get(a).unwrap().period, 100);
    assert_eq!(scheduler.get_rt_info_set().unwrap().len(), 1);
}

#[test]
fn a_service_that_is_full() {
    let bench = Bench::of(Scheduling::with_limits(rms(), limits(2, 1)));
    let scheduler = &bench.scheduler;
    let [a, b] = ["a", "b"].map(|name| scheduler.create(name).unwrap());
    let expected = (SystemExceptionKind::ImpLimit, minor::imp_limit::SCHEDULED);
    assert_eq!(system!(scheduler.create("c"), CreateError), expected);
    assert!(matches!(scheduler.create("a"), Err(CreateError::DuplicateName(_))));
    scheduler.add_dependency(a, b, 1, TWO_WAY).unwrap();
    let refused = scheduler.add_dependency(b, a, 1, TWO_WAY);
    assert_eq!(system!(refused, AddDependencyError), expected);
    scheduler.remove_dependency(a, b, 1, TWO_WAY).unwrap();
    scheduler.add_dependency(b, a, 1, TWO_WAY).unwrap();
}

#[test]
fn a_service_that_is_busy() {
    let patience = Duration::from_millis(20);
    let bench = Bench::of(Scheduling::with_limits(rms(), Limits { patience, ..Limits::default() }));
    // Call the service remotely while this thread uses it.
    let refused = bench.scheduling.look(|_| bench.scheduler.create("a")).unwrap();
    assert!(matches!(refused, Err(CreateError::SynchronizationFailure(_))));
    assert_eq!(bench.scheduler.create("a"), Ok(1));
    // After a panic, the service must be available again.
    let scheduling = bench.scheduling.clone();
    let panicked = std::thread::spawn(move || scheduling.look(|_| panic!("a test of panics")));
    assert!(panicked.join().is_err());
    assert_eq!(bench.scheduler.create("b"), Ok(2));
}

#[test]
fn the_application_section_declares_and_does_not_compute() {
    let bench = Bench::configuration();
    let application = bench.application();
    let a = application.create("a").unwrap();
    set(&application, a, 1, 100).unwrap();
    application.add_dependency(a, a, 1, TWO_WAY).unwrap();
    application.remove_dependency(a, a, 1, TWO_WAY).unwrap();
    assert_eq!(application.get(a), bench.scheduler.get(a));
    let expected = (SystemExceptionKind::NoPermission, minor::no_permission::PRIVILEGED);
    bench.scheduler.recompute_scheduling(1, 99).unwrap();
    let refused = application.compute_scheduling(1, 99);
    assert_eq!(system!(refused, ComputeSchedulingError), expected);
    let refused = application.recompute_scheduling(1, 99);
    assert_eq!(system!(refused, RecomputeSchedulingError), expected);
    assert_eq!(system!(application.priority(a), PriorityError), expected);
    let refused = application.entry_point_priority("a");
    assert_eq!(system!(refused, EntryPointPriorityError), expected);
    let refused = application.dispatch_configuration(0);
    assert_eq!(system!(refused, DispatchConfigurationError), expected);
    let refused = application.last_scheduled_priority();
    assert_eq!(system!(refused, LastScheduledPriorityError), expected);
    let refused = application.get_config_infos();
    assert_eq!(system!(refused, GetConfigInfosError), expected);
    let refused = application.get_config_info_set();
    assert_eq!(system!(refused, GetConfigInfoSetError), expected);
}

#[test]
fn reasons_are_told_to_the_observer() {
    let bench = Bench::configuration();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let into = Arc::clone(&told);
    bench.scheduling.observe(move |operation, refusal| {
        let line = format!("{operation}: {refusal}");
        into.lock().unwrap().push(line);
    });
    bench.operation("a", 200, 100);
    let _ = bench.scheduler.create("a");
    let _ = bench.scheduler.recompute_scheduling(1, 99);
    let expected = [
        "create: the operation \"a\" already exists",
        "recompute_scheduling: the critical operations alone need 200.00 % of the processor",
    ];
    assert_eq!(*told.lock().unwrap(), expected);
}
