//! Declarations of any size lead to an answer or a clear error, and never to a panic or an overflow
//! (tests run with overflow checks).

use oxorb_sched::analysis::holistic::{Flow, Resource, Step, Wrong, analyse_flows};
use oxorb_sched::analysis::{DeadlineOutcome, analyse, partition, sensitivity};
use oxorb_sched::level::{Criticality, Importance};
use oxorb_sched::repository::{CallKind, Characteristics, Constraints, Enabled, Handle, InfoType};
use oxorb_sched::simulate::{SimulationOptions, construct, releases, run};
use oxorb_sched::time::LONGEST;
use oxorb_sched::{
    DispatchModel, Dispatching, Error, OsPriorities, Repository, Schedule, Strategy as Scheduling,
    Task, TaskSet,
};
use proptest::prelude::*;

/// Returns times at both ends of the range and in the middle.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(2),
        1..20u64,
        Just(1_000_000_000),
        Just(LONGEST - 1),
        Just(LONGEST),
        0..=LONGEST,
    ]
}

fn task() -> impl Strategy<Value = Task> {
    let times = (time(), time(), time(), time(), time());
    let more = (prop::option::of(time()), 0..3u32, 0..3u32, any::<bool>());
    (times, more).prop_map(|(times, (offset, level, kind, critical))| {
        let (wcet, period, deadline, jitter, blocking) = times;
        Task {
            deadline: deadline.max(1),
            jitter,
            blocking,
            offset,
            critical,
            level,
            dispatching: [Dispatching::Static, Dispatching::Deadline, Dispatching::Laxity]
                [kind as usize],
            ..Task::periodic("t", wcet, period.max(1))
        }
    })
}

/// Returns a set as schedules make them: all tasks of a level have one order, and bands follow
/// levels.
fn set() -> impl Strategy<Value = TaskSet> {
    let tasks = prop::collection::vec(task(), 1..6);
    let model = prop::sample::select(DispatchModel::ALL.to_vec());
    (tasks, model).prop_map(|(mut tasks, model)| {
        for at in 0..tasks.len() {
            let first = tasks.iter().find(|task| task.level == tasks[at].level);
            tasks[at].dispatching = first.map_or(Dispatching::Static, |task| task.dispatching);
            tasks[at].order = at as u32;
            tasks[at].band = match model {
                DispatchModel::NonPreemptive => 0,
                _ => tasks[at].level,
            };
        }
        TaskSet { tasks, model, ..TaskSet::default() }
    })
}

#[derive(Debug, Clone)]
struct Said {
    characteristics: Characteristics,
    enabled: Enabled,
    dependencies: Vec<(usize, u32, CallKind)>,
}

fn said() -> impl Strategy<Value = Said> {
    let times = (time(), time(), time(), time(), time(), time());
    let levels = (0..5usize, 0..5usize, 0..3u32, 0..4usize, 0..8u32);
    let calls = prop_oneof![1..4u32, Just(u32::MAX)];
    let kind = prop::sample::select(vec![CallKind::OneWay, CallKind::TwoWay]);
    let dependencies = prop::collection::vec((0..8usize, calls, kind), 0..3);
    (times, levels, dependencies).prop_map(|(times, levels, dependencies)| {
        let (worst_case, cached, period, deadline, jitter, offset) = times;
        let (criticality, importance, threads, info_type, enabled) = levels;
        Said {
            characteristics: Characteristics {
                criticality: Criticality::ALL[criticality],
                worst_case,
                typical: worst_case,
                cached,
                period,
                importance: Importance::ALL[importance],
                quantum: 0,
                threads,
                info_type: [
                    InfoType::Operation,
                    InfoType::Conjunction,
                    InfoType::Disjunction,
                    InfoType::RemoteDependant,
                ][info_type],
                constraints: Constraints {
                    deadline: Some(deadline).filter(|&deadline| deadline > 0),
                    jitter,
                    blocking: 0,
                    offset: Some(offset),
                    ..Constraints::default()
                },
            },
            enabled: match enabled {
                0 => Enabled::Disabled,
                _ => Enabled::Enabled,
            },
            dependencies,
        }
    })
}

fn repository(said: &[Said], acyclic: bool) -> Repository {
    let mut repository = Repository::new();
    for (at, said) in said.iter().enumerate() {
        let handle = repository.create(&format!("o{at}")).unwrap();
        repository.set(handle, said.characteristics).unwrap();
        repository.enable(&[(handle, said.enabled)]).unwrap();
    }
    for (at, one) in said.iter().enumerate() {
        for &(other, calls, kind) in &one.dependencies {
            let other = other % said.len();
            // Two-way calls go to later operations and events come from earlier ones, so there are
            // no cycles.
            let fits = match kind {
                CallKind::TwoWay => other > at,
                CallKind::OneWay => other < at,
            };
            if fits || !acyclic {
                let [dependent, on] = [at, other].map(|place| Handle(place as i32 + 1));
                repository.add_dependency(dependent, on, calls, kind).unwrap();
            }
        }
    }
    repository
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn sets_are_analysed_whatever_their_numbers(set in set()) {
        let report = analyse(&set);
        prop_assert_eq!(report.verdicts.len(), set.tasks.len());
        for verdict in &report.verdicts {
            // Every verdict can be explained, and the response of a proved task is within its
            // deadline.
            prop_assert!(!verdict.explain(&set).to_string().is_empty());
            let late = verdict.response.is_some_and(|response| response > set.tasks[verdict.task].deadline);
            prop_assert!(!(late && verdict.outcome == DeadlineOutcome::Meets), "{}", verdict.explain(&set));
        }
        let _ = (report.guaranteed_priority(&set), report.protects_critical(&set));
        let _ = partition::partition(&set, 2, partition::Fit::First);
    }

    #[test]
    fn schedules_are_computed_or_refused_with_a_reason(
        all in prop::collection::vec(said(), 1..8),
        acyclic in any::<bool>(),
        strategy in prop::sample::select(vec![
            Scheduling::RMS, Scheduling::DM, Scheduling::EDF, Scheduling::MLF, Scheduling::MUF, Scheduling::RMS_MLF,
        ]),
        model in prop::sample::select(DispatchModel::ALL.to_vec()),
        few in any::<bool>(),
    ) {
        let repository = repository(&all, acyclic);
        let priorities = match few {
            true => OsPriorities::list([7]),
            false => OsPriorities::range(1, 99).unwrap(),
        };
        let schedule = match Schedule::compute(&repository, &strategy, &model, &priorities) {
            Ok(schedule) => schedule,
            Err(error) => {
                prop_assert!(!error.to_string().is_empty());
                let known = matches!(
                    error,
                    Error::Cycles(_) | Error::Overflow { .. } | Error::Invalid(_)
                );
                prop_assert!(known, "{error}");
                prop_assert!(!acyclic || !matches!(error, Error::Cycles(_)), "{error}");
                return Ok(());
            }
        };
        // The order is total, and reproducible.
        let again = Schedule::compute(&repository, &strategy, &model, &priorities).unwrap();
        prop_assert_eq!(&schedule.assignments, &again.assignments);
        let mut places: Vec<_> = schedule
            .assignments
            .iter()
            .map(|row| (row.assigned.preemption_priority, row.assigned.subpriority))
            .collect();
        places.sort_unstable();
        let many = places.len();
        // With more than 2^31 calls in a period, several operations have the greatest subpriority.
        if places.iter().all(|place| place.1 < i32::MAX) {
            places.dedup();
            prop_assert_eq!(places.len(), many);
        }
        for row in &schedule.assignments {
            let level = &schedule.levels[row.assigned.preemption_priority as usize];
            prop_assert_eq!(level.os_priority, row.assigned.os_priority);
            prop_assert!(repository.get(row.handle).unwrap().is_enabled());
        }
        // Every enabled operation that has a period is in the schedule.
        for (at, one) in all.iter().enumerate() {
            let runs = one.enabled != Enabled::Disabled && one.characteristics.period > 0;
            let found = schedule.assignment(Handle(at as i32 + 1)).is_some();
            prop_assert!(found || !runs);
        }
        let report = analyse(&schedule.tasks);
        prop_assert_eq!(report.verdicts.len(), schedule.tasks.tasks.len());
    }

    #[test]
    fn flows_are_analysed_whatever_their_numbers(sets in prop::collection::vec(set(), 2..4), deadline in time()) {
        let mut resources: Vec<Resource> = Vec::new();
        for mut set in sets {
            for task in &mut set.tasks {
                task.period = 1_000;
            }
            resources.push(Resource { name: "r".into(), set });
        }
        let step = |resource| Step { resource, task: 0 };
        let flow = Flow {
            name: "f".into(),
            steps: (0..resources.len()).map(step).collect(),
            deadline,
        };
        // Steps after the first must not have offsets.
        let offset = resources[1..].iter().any(|resource| resource.set.tasks[0].offset.is_some());
        let flows = [flow];
        prop_assert_eq!(offset, matches!(analyse_flows(&resources, &flows), Err(Wrong::Offset(_))));
        for resource in &mut resources[1..] {
            resource.set.tasks[0].offset = None;
        }
        let found = analyse_flows(&resources, &flows).unwrap();
        prop_assert_eq!(found.flows[0].by.len(), resources.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn room_is_looked_for_whatever_the_numbers(set in set()) {
        let _ = sensitivity::longest(&set, 0);
        let _ = sensitivity::scale(&set);
    }

    #[test]
    fn timelines_are_made_or_refused(mut set in set(), frame in time()) {
        // Skip frames of some hundred to a million jobs. They would be simulated, which is too slow
        // for a test.
        let many: u64 = set.tasks.iter().map(|task| frame / task.period).sum();
        prop_assume!(!(200..1_000_000).contains(&many));
        set.overheads.step = 1 << 50;
        let options = SimulationOptions::default();
        if let Ok(releases) = releases(&set, frame) {
            let timeline = run(&set, &releases, &options);
            prop_assert_eq!(timeline.jobs.len(), releases.len());
        }
        let _ = construct(&set, frame);
    }
}
