//! Schedules with numbers known from other sources.

use oxorb_sched::level::{Criticality, Importance};
use oxorb_sched::repository::{CallKind, Characteristics, Constraints, Handle, InfoType};
use oxorb_sched::strategy::{InputMapping, MappedOperation, OutputMapping};
use oxorb_sched::{
    DispatchModel, Dispatching, Error, OsPriorities, Repository, Schedule, Severity, Strategy,
};

fn create(repository: &mut Repository, name: &str, said: Characteristics) -> Handle {
    let handle = repository.create(name).unwrap();
    repository.set(handle, said).unwrap();
    handle
}

fn compute(repository: &Repository, strategy: Strategy, model: DispatchModel) -> Schedule {
    let priorities = OsPriorities::range(1, 99).unwrap();
    Schedule::compute(repository, &strategy, &model, &priorities).unwrap()
}

/// The 16 operations of TAO's `Sched_Conf`: suppliers of two criticalities and four rates, and
/// consumers that get two events in each period.
fn sched_conf() -> Repository {
    let mut repository = Repository::new();
    let mut suppliers = Vec::new();
    for (rate, worst_case, period, threads) in [
        ("20", 500_000, 50_000_000, 1),
        ("10", 1_000_000, 100_000_000, 1),
        ("05", 2_000_000, 200_000_000, 1),
        ("01", 10_000_000, 1_000_000_000, 0),
    ] {
        for (level, criticality, importance) in [
            ("high", Criticality::High, Importance::Low),
            ("low", Criticality::Low, Importance::High),
        ] {
            let said = Characteristics {
                criticality,
                importance,
                worst_case,
                typical: worst_case,
                cached: worst_case,
                period,
                threads,
                ..Characteristics::default()
            };
            let name = format!("{level}_{rate}_S");
            suppliers.push((create(&mut repository, &name, said), said, name));
        }
    }
    for (supplier, said, name) in suppliers {
        let said = Characteristics {
            criticality: said.criticality,
            importance: said.importance,
            ..Characteristics::default()
        };
        let consumer = create(&mut repository, &name.replace("_S", "_C"), said);
        repository.add_dependency(consumer, supplier, 2, CallKind::OneWay).unwrap();
    }
    repository
}

#[test]
fn the_golden_schedule_of_tao() {
    let repository = sched_conf();
    // These are the thread priorities of the system on which TAO's file was generated.
    let priorities = OsPriorities::list([15, 2, 1]);
    let schedule =
        Schedule::compute(&repository, &Strategy::MUF, &DispatchModel::Band, &priorities).unwrap();
    let rows: Vec<(&str, i32, i32, i32)> = schedule
        .assignments
        .iter()
        .map(|row| {
            let assigned = &row.assigned;
            (
                row.entry_point.as_str(),
                assigned.os_priority,
                assigned.subpriority,
                assigned.preemption_priority,
            )
        })
        .collect();
    let expected = [
        ("high_20_S", 15, 11, 0),
        ("low_20_S", 2, 11, 1),
        ("high_10_S", 15, 8, 0),
        ("low_10_S", 2, 8, 1),
        ("high_05_S", 15, 5, 0),
        ("low_05_S", 2, 5, 1),
        ("high_01_S", 15, 2, 0),
        ("low_01_S", 2, 2, 1),
        ("high_20_C", 15, 9, 0),
        ("low_20_C", 2, 9, 1),
        ("high_10_C", 15, 6, 0),
        ("low_10_C", 2, 6, 1),
        ("high_05_C", 15, 3, 0),
        ("low_05_C", 2, 3, 1),
        ("high_01_C", 15, 0, 0),
        ("low_01_C", 2, 0, 1),
    ];
    assert_eq!(rows, expected);
    let levels: Vec<_> = schedule
        .levels
        .iter()
        .map(|level| (level.preemption_priority, level.os_priority, level.dispatching))
        .collect();
    assert_eq!(levels, [(0, 15, Dispatching::Laxity), (1, 2, Dispatching::Laxity)]);
    assert!(schedule.anomalies.is_empty());
    assert_eq!(schedule.minimum_critical_priority, Some(0));
    assert_eq!(schedule.minimum_guaranteed_priority, Some(1));
    assert_eq!(schedule.frame, Some(1_000_000_000));
    assert_eq!(schedule.check(), Ok(()));
}

/// TAO's `Sched_Conf_Anomalies`: an operation without a rate has no priority, and the scheduler
/// reports the reason.
#[test]
fn unresolved_rates_as_tao_tells_them() {
    let mut repository = Repository::new();
    let said = |period, info_type| Characteristics {
        criticality: Criticality::High,
        worst_case: 500_000,
        period,
        info_type,
        ..Characteristics::default()
    };
    let supplier = create(&mut repository, "good_supplier", said(50_000_000, InfoType::Operation));
    let consumer = create(&mut repository, "good_consumer", said(0, InfoType::Operation));
    let remote = create(&mut repository, "remote_supplier", said(0, InfoType::RemoteDependant));
    let local = create(&mut repository, "local_supplier", said(0, InfoType::Operation));
    let both = create(&mut repository, "both_consumer", said(0, InfoType::Operation));
    for (consumer, supplier) in [(consumer, supplier), (both, remote), (both, local)] {
        repository.add_dependency(consumer, supplier, 1, CallKind::OneWay).unwrap();
    }
    let schedule = compute(&repository, Strategy::MUF, DispatchModel::Band);
    let assigned = |handle| {
        let row = schedule.assignment(handle)?;
        Some((row.assigned.subpriority, row.assigned.preemption_priority))
    };
    // The depth-first search finishes the consumer first, so the consumer precedes its supplier's
    // next event.
    assert_eq!(assigned(supplier), Some((0, 0)));
    assert_eq!(assigned(consumer), Some((1, 0)));
    assert_eq!([assigned(remote), assigned(local), assigned(both)], [None; 3]);
    let told = |severity| -> Vec<&str> {
        let found = schedule.anomalies.iter().filter(|found| found.severity == severity);
        found.map(|found| found.operation.as_deref().unwrap()).collect()
    };
    assert_eq!(told(Severity::Error), ["local_supplier", "both_consumer"]);
    assert_eq!(told(Severity::Warning), ["remote_supplier", "both_consumer"]);
}

#[test]
fn each_strategy_makes_its_levels() {
    let repository = sched_conf();
    let levels = |strategy| compute(&repository, strategy, DispatchModel::Band).levels;
    let types = |strategy| -> Vec<Dispatching> {
        levels(strategy).iter().map(|level| level.dispatching).collect()
    };
    assert_eq!(types(Strategy::MUF), [Dispatching::Laxity; 2]);
    assert_eq!(types(Strategy::MLF), [Dispatching::Laxity]);
    assert_eq!(types(Strategy::EDF), [Dispatching::Deadline]);
    assert_eq!(types(Strategy::RMS), [Dispatching::Static; 4]);
    let mixed = types(Strategy::RMS_MLF);
    assert_eq!(mixed[..4], [Dispatching::Static; 4]);
    assert_eq!(mixed[4..], [Dispatching::Laxity]);
    // 0 is the most urgent dispatching priority, and its thread has the highest priority.
    let rms = levels(Strategy::RMS);
    assert_eq!(rms[0].periods, [50_000_000]);
    assert!(rms.windows(2).all(|pair| pair[0].os_priority > pair[1].os_priority));
}

#[test]
fn dispatching_models_make_as_many_priorities_as_they_need() {
    let repository = sched_conf();
    let many = |model| compute(&repository, Strategy::MUF, model).levels.len();
    assert_eq!(many(DispatchModel::Urgency), 16);
    assert_eq!(many(DispatchModel::Band), 2);
    assert_eq!(many(DispatchModel::NonPreemptive), 1);
}

#[test]
fn an_application_adds_its_own_mappings() {
    struct ByName;
    impl InputMapping for ByName {
        fn name(&self) -> &str {
            "by name"
        }
        fn static_priority(&self, operation: &MappedOperation<'_>) -> u64 {
            u64::from(operation.info.entry_point.starts_with("high"))
        }
        fn dispatching(&self, _: &MappedOperation<'_>) -> Dispatching {
            Dispatching::Deadline
        }
    }
    struct Backwards;
    impl OutputMapping for Backwards {
        fn model(&self) -> DispatchModel {
            DispatchModel::Band
        }
        fn band(&self, level: usize, _: usize) -> usize {
            1 - level
        }
    }
    let repository = sched_conf();
    let priorities = OsPriorities::range(1, 99).unwrap();
    let schedule =
        Schedule::compute(&repository, &ByName, &DispatchModel::Band, &priorities).unwrap();
    assert_eq!(schedule.strategy, "by name");
    // `ByName` puts operations of low criticality first.
    assert_eq!(schedule.assignments[1].assigned.preemption_priority, 0);
    assert_eq!(schedule.assignments[0].assigned.preemption_priority, 1);
    let refused = Schedule::compute(&repository, &ByName, &Backwards, &priorities).unwrap_err();
    assert!(refused.to_string().contains("less urgent"));
}

#[test]
fn what_cannot_be_scheduled_is_refused_with_its_exception() {
    let mut repository = sched_conf();
    let few = OsPriorities::list([2]);
    let schedule =
        Schedule::compute(&repository, &Strategy::MUF, &DispatchModel::Band, &few).unwrap();
    let refused = Error::InsufficientThreadPriorityLevels { needed: 2, available: 1 };
    assert_eq!(schedule.check(), Err(refused));

    let said = Characteristics {
        worst_case: 60_000_000,
        period: 50_000_000,
        ..Characteristics::default()
    };
    create(&mut repository, "greedy", said);
    // `greedy` is not critical under MUF, but it is under RMS.
    let muf = compute(&repository, Strategy::MUF, DispatchModel::Band);
    assert_eq!(muf.check(), Ok(()));
    assert!(muf.anomalies.iter().any(|found| found.severity == Severity::Error
        && found.description == "greedy: takes at most 60 ms, but has only 50 ms"));
    let rms = compute(&repository, Strategy::RMS, DispatchModel::Band);
    assert_eq!(rms.check().unwrap_err().exception(), "UTILIZATION_BOUND_EXCEEDED");

    let high = Handle(1);
    repository.add_dependency(high, high, 1, CallKind::TwoWay).unwrap();
    let priorities = OsPriorities::range(1, 99).unwrap();
    let refused = Schedule::compute(&repository, &Strategy::MUF, &DispatchModel::Band, &priorities);
    let refused = refused.unwrap_err();
    assert_eq!(refused.exception(), "CYCLIC_DEPENDENCIES");
    assert!(refused.to_string().contains("high_20_S -> high_20_S"));
}

#[test]
fn deadline_monotonic_looks_at_deadlines() {
    let mut repository = Repository::new();
    for (name, period, deadline) in [("a", 10, None), ("b", 20, Some(5))] {
        let said = Characteristics {
            worst_case: 1,
            period,
            constraints: Constraints { deadline, ..Constraints::default() },
            ..Characteristics::default()
        };
        create(&mut repository, name, said);
    }
    let first = |strategy| {
        let schedule = compute(&repository, strategy, DispatchModel::Band);
        let first = schedule.assignments.iter().find(|row| row.assigned.preemption_priority == 0);
        first.unwrap().entry_point.clone()
    };
    assert_eq!(first(Strategy::RMS), "a");
    assert_eq!(first(Strategy::DM), "b");
}

/// Threads are counted, except those of disabled operations.
#[test]
fn operations_and_their_threads_are_counted() {
    let mut repository = Repository::new();
    for (name, threads) in [("a", 2), ("b", 0), ("c", 3)] {
        let said =
            Characteristics { worst_case: 1, period: 20, threads, ..Characteristics::default() };
        create(&mut repository, name, said);
    }
    assert_eq!(repository.len(), 3);
    let schedule = compute(&repository, Strategy::RMS, DispatchModel::Band);
    assert_eq!(schedule.threads, 5);
    let disabled = (Handle(3), oxorb_sched::repository::Enabled::Disabled);
    repository.enable(&[disabled]).unwrap();
    let schedule = compute(&repository, Strategy::RMS, DispatchModel::Band);
    assert_eq!((repository.len(), schedule.threads), (3, 2));
}
