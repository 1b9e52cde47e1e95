//! Global fixed priority and global EDF: a proved deadline is never missed on processors that share
//! a queue.

use oxorb_sched::analysis::global::{self, GlobalPolicy, GlobalUnfit, Test};
use oxorb_sched::analysis::partition::{Fit, partition};
use oxorb_sched::analysis::{DeadlineOutcome, Report};
use oxorb_sched::{DispatchModel, Dispatching, Task, TaskSet};
use proptest::prelude::*;

use super::plain::{self, Numbers, Preemption};

fn deadlines(tasks: &[Task]) -> TaskSet {
    TaskSet::dynamic(tasks.to_vec(), Dispatching::Deadline, DispatchModel::Urgency)
}

proptest! {
    #![proptest_config(plain::cases(250))]

    #[test]
    fn nothing_that_is_proved_is_late(seed in any::<u64>(), many in 2..9usize, processors in 1..4usize) {
        let numbers = &mut Numbers(seed);
        let tasks = plain::tasks(numbers, many, 5);
        for set in [TaskSet::fixed_priority(tasks.clone()), deadlines(&tasks)] {
            let report = global::analyse(&set, processors).unwrap();
            if !report.verdicts.iter().any(|one| one.outcome == DeadlineOutcome::Meets) {
                continue;
            }
            for _ in 0..4 {
                let mut jobs = plain::sporadic(&tasks, numbers, 120, 5);
                plain::run(&mut jobs, processors, Preemption::Full, 400, |job| match report.policy {
                    GlobalPolicy::FixedPriority => job.task as u64,
                    GlobalPolicy::Deadline => job.nominal + tasks[job.task].deadline,
                });
                for (verdict, worst) in report.verdicts.iter().zip(plain::worst(&jobs, many)) {
                    if verdict.outcome == DeadlineOutcome::Meets {
                        prop_assert!(worst <= tasks[verdict.task].deadline, "{:?}: {worst}", verdict);
                    }
                    if let Some(response) = verdict.response {
                        prop_assert!(worst <= response, "{:?}: {worst}", verdict);
                    }
                }
            }
        }
    }

    /// The test on one processor is never better than the exact one.
    #[test]
    fn one_processor_is_never_proved_beyond_the_exact_test(seed in any::<u64>(), many in 1..6usize) {
        let tasks = plain::tasks(&mut Numbers(seed), many, 4);
        for set in [TaskSet::fixed_priority(tasks.clone()), deadlines(&tasks)] {
            let report = global::analyse(&set, 1).unwrap();
            let exact = oxorb_sched::analysis::analyse(&set);
            for (one, exact) in report.verdicts.iter().zip(&exact.verdicts) {
                prop_assert!(one.outcome != DeadlineOutcome::Meets || exact.outcome == DeadlineOutcome::Meets);
            }
        }
    }

    /// Each fit assigns every task once, and proves each processor by itself.
    #[test]
    fn partitions_hold(seed in any::<u64>(), many in 1..9usize, processors in 1..4usize) {
        let numbers = &mut Numbers(seed);
        let tasks = plain::tasks(numbers, many, 4);
        let set = TaskSet::fixed_priority(tasks.clone());
        for fit in Fit::ALL {
            let Ok(found) = partition(&set, processors, fit) else {
                continue;
            };
            let mut all: Vec<usize> = found.processors.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..many).collect::<Vec<_>>());
            prop_assert!(found.reports.iter().all(Report::is_feasible));
            for part in &found.processors {
                let own: Vec<Task> = part.iter().map(|&place| tasks[place].clone()).collect();
                let mut jobs = plain::sporadic(&own, numbers, 120, 5);
                plain::run(&mut jobs, 1, Preemption::Full, 400, |job| job.task as u64);
                for job in &jobs {
                    prop_assert!(job.response().unwrap() <= own[job.task].deadline);
                }
            }
        }
    }
}

/// Dhall and Liu 1978: light tasks with short periods make a heavy one late at a load of little
/// more than one processor.
#[test]
fn light_tasks_make_a_heavy_one_late() {
    for processors in 2..6 {
        let light = (0..processors).map(|at| Task::periodic(format!("light {at}"), 2, 100));
        let tasks: Vec<Task> = light.chain([Task::periodic("heavy", 100, 101)]).collect();
        for set in [TaskSet::fixed_priority(tasks.clone()), deadlines(&tasks)] {
            let report = global::analyse(&set, processors).unwrap();
            assert_eq!(report.verdicts.last().unwrap().outcome, DeadlineOutcome::Unproven);
        }
        let set = TaskSet::fixed_priority(tasks);
        let found = partition(&set, processors, Fit::First).unwrap();
        assert_eq!(found.reports.len(), processors);
    }
}

/// Goossens, Funk and Baruah 2003: the bound holds with equality, and not one unit beyond.
#[test]
fn the_density_bound_is_sharp() {
    // For two processors and a largest density of 1/2 the sum may be at most 2 - 1/2 = 3/2.
    let three = |wcet| {
        let tasks = [5, 5, wcet].map(|wcet| Task::periodic("t", wcet, 10));
        global::density(&tasks, 2)
    };
    assert!(three(5));
    assert!(!three(6));
    let report =
        global::analyse(&deadlines(&[5, 5, 5].map(|wcet| Task::periodic("t", wcet, 10))), 2);
    assert!(matches!(report.unwrap().proved_by, Some(Test::Density | Test::ResponseTime)));
}

#[test]
fn what_the_tests_do_not_know_is_refused_by_name() {
    let with = |change: fn(&mut Task)| {
        let mut task = Task::periodic("odd", 1, 10);
        change(&mut task);
        global::analyse(&TaskSet::fixed_priority([task]), 2).unwrap_err().to_string()
    };
    assert!(with(|task| task.jitter = 1).contains("odd has jitter"));
    assert!(with(|task| task.deadline = 11).contains("odd has a deadline beyond its period"));
    assert!(with(|task| task.blocking = 1).contains("odd has blocking"));
    let laxity =
        TaskSet::dynamic([Task::periodic("a", 1, 4)], Dispatching::Laxity, DispatchModel::Urgency);
    assert_eq!(global::analyse(&laxity, 2), Err(GlobalUnfit::Queues));
    let band = TaskSet { model: DispatchModel::Band, ..laxity };
    assert_eq!(global::analyse(&band, 2), Err(GlobalUnfit::Model(DispatchModel::Band)));
}

/// Bounds scale with the unit of time, and are found in few steps even in nanoseconds.
#[test]
fn a_fine_unit_of_time_changes_nothing() {
    let scaled = |scale: u64| {
        let set = [(2, 10), (1, 20), (8, 40), (9, 40)];
        let tasks = set.map(|(wcet, period)| Task::periodic("t", wcet * scale, period * scale));
        let report = global::analyse(&TaskSet::fixed_priority(tasks), 2).unwrap();
        report.verdicts.iter().map(|one| one.response.unwrap()).collect::<Vec<_>>()
    };
    let (coarse, fine) = (scaled(1), scaled(1_000_000));
    for (coarse, fine) in coarse.iter().zip(fine) {
        assert!(
            fine.div_ceil(1_000_000) <= coarse + 1 && fine / 1_000_000 + 2 >= *coarse,
            "{coarse} {fine}"
        );
    }
}
