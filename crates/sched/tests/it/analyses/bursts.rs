//! Bursts: every sequence of arrivals that obeys both rules is within the bounds, and the densest
//! sequence reaches them.

use oxorb_sched::analysis::{DeadlineOutcome, analyse};
use oxorb_sched::{Burst, DispatchModel, Dispatching, Task, TaskSet, overloads};
use proptest::prelude::*;

use super::plain::{self, Job, Numbers, Preemption};

fn tasks(numbers: &mut Numbers, many: usize) -> Vec<Task> {
    let mut tasks = Vec::new();
    for at in 0..many {
        let period = [8, 10, 12, 15, 20][numbers.up_to(4) as usize];
        let most = numbers.between(1, 3) as u32;
        let distance = numbers.up_to(period / u64::from(most)).min(4);
        let wcet = numbers.between(1, 2);
        tasks.push(Task {
            burst: Some(Burst { most, distance }).filter(|_| numbers.happens(70)),
            deadline: numbers.between(wcet, period),
            ..Task::periodic(format!("t{at}"), wcet, period)
        });
    }
    tasks
}

/// Returns releases as early as the rules allow, or a little later.
fn arrivals(tasks: &[Task], numbers: &mut Numbers, until: u64, hurry: bool) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let burst = task.burst.unwrap_or(Burst { most: 1, distance: 0 });
        let mut at: Vec<u64> = Vec::new();
        loop {
            let spaced = at.last().map_or(0, |last| last + burst.distance);
            let window = at.len().checked_sub(burst.most as usize);
            let earliest = spaced.max(window.map_or(0, |first| at[first] + task.period));
            let later = match hurry {
                true => 0,
                false if numbers.happens(50) => 0,
                false => numbers.up_to(7),
            };
            if earliest + later >= until {
                break;
            }
            at.push(earliest + later);
        }
        jobs.extend(at.into_iter().map(|at| Job::new(place, at, task.wcet)));
    }
    jobs.sort_by_key(|job| job.release);
    jobs
}

proptest! {
    #![proptest_config(plain::cases(150))]

    #[test]
    fn static_priorities_are_exact(seed in any::<u64>(), many in 1..5usize) {
        let numbers = &mut Numbers(seed);
        let tasks = tasks(numbers, many);
        let set = TaskSet::fixed_priority(tasks.clone());
        prop_assume!(!overloads(&set.tasks));
        let found = analyse(&set).verdicts;
        let mut reached = vec![0; many];
        for round in 0..6 {
            let mut jobs = arrivals(&tasks, numbers, 250, round == 0);
            plain::run(&mut jobs, 1, Preemption::Full, 2_000, |job| job.task as u64);
            for (reached, worst) in reached.iter_mut().zip(plain::worst(&jobs, many)) {
                *reached = worst.max(*reached);
            }
        }
        for (verdict, reached) in found.iter().zip(reached) {
            let response = verdict.response.unwrap();
            prop_assert!(reached <= response, "{}", verdict.explain(&set));
            // The simulation is long enough for a busy period of less than 100, so the bound is
            // reached.
            if response < 100 {
                prop_assert_eq!(reached, response, "{}", verdict.explain(&set));
            }
        }
    }

    #[test]
    fn queues_are_safe(seed in any::<u64>(), many in 1..5usize, dispatching in 0..3usize, preempts in any::<bool>()) {
        let numbers = &mut Numbers(seed);
        let tasks = tasks(numbers, many);
        let dispatching = [Dispatching::Static, Dispatching::Deadline, Dispatching::Laxity][dispatching];
        // This simulator supports only fixed keys. With full preemption by laxity keys change, as
        // the laxity of a running job stays constant and that of the others falls.
        prop_assume!(!(preempts && dispatching == Dispatching::Laxity));
        let model = if preempts { DispatchModel::Urgency } else { DispatchModel::NonPreemptive };
        let mut set = TaskSet::dynamic(tasks.clone(), dispatching, model);
        if dispatching == Dispatching::Static {
            set = TaskSet { model, ..TaskSet::fixed_priority(tasks.clone()) };
            for task in &mut set.tasks {
                task.band = if preempts { task.level } else { 0 };
            }
        }
        let found = analyse(&set).verdicts;
        let preemption = if preempts { Preemption::Full } else { Preemption::None };
        for round in 0..5 {
            let mut jobs = arrivals(&tasks, numbers, 150, round == 0);
            plain::run(&mut jobs, 1, preemption, 1_500, |job| {
                let task = &tasks[job.task];
                match dispatching {
                    Dispatching::Static => job.task as u64,
                    Dispatching::Deadline => job.nominal + task.deadline,
                    Dispatching::Laxity => job.nominal + task.deadline - task.wcet,
                }
            });
            for (verdict, worst) in found.iter().zip(plain::worst(&jobs, many)) {
                prop_assert!(verdict.response.is_none_or(|response| worst <= response), "{worst}: {}", verdict.explain(&set));
                let deadline = tasks[verdict.task].deadline;
                prop_assert!(
                    verdict.outcome != DeadlineOutcome::Meets || worst <= deadline,
                    "{worst}: {}", verdict.explain(&set)
                );
            }
        }
    }
}
