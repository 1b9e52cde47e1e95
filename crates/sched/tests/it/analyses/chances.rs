//! Probability of a miss: the share of late jobs in a simulation exceeds the bound by no more than
//! chance explains.

use oxorb_sched::analysis::chance::{ExecutionTimeDistribution, miss};
use oxorb_sched::{DispatchModel, Dispatching, Task, TaskSet};
use proptest::prelude::*;

use super::plain::{self, Job, Numbers};

/// Simulates releases with random times for each job; a job is dropped at its deadline. Returns the
/// number of jobs of each task and of those that were late.
fn count(
    tasks: &[Task],
    typical: &[(u64, u64)],
    phases: &[u64],
    numbers: &mut Numbers,
    by_deadline: bool,
    preempts: bool,
) -> Vec<(u64, u64)> {
    let mut counts = vec![(0, 0); tasks.len()];
    let mut jobs: Vec<Job> = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let mut at = phases[place];
        while at < 6_000 {
            let (time, percent) = typical[place];
            let time = if numbers.happens(percent) { time } else { task.wcet };
            jobs.push(Job::new(place, at, time));
            at += task.period;
        }
    }
    jobs.sort_by_key(|job| job.release);
    let mut next = 0;
    let mut live: Vec<Job> = Vec::new();
    let mut running: Option<(usize, u64)> = None;
    for now in 0..6_200 {
        while next < jobs.len() && jobs[next].release <= now {
            live.push(jobs[next]);
            next += 1;
        }
        live.retain(|job| {
            let late = now >= job.release + tasks[job.task].deadline;
            if late {
                counts[job.task].0 += 1;
                counts[job.task].1 += 1;
            }
            !late
        });
        let key = |job: &Job| match by_deadline {
            true => job.release + tasks[job.task].deadline,
            false => job.task as u64,
        };
        let same = |job: &Job| running == Some((job.task, job.release));
        let chosen = (0..live.len()).find(|&at| !preempts && same(&live[at]));
        let chosen =
            chosen.or_else(|| (0..live.len()).min_by_key(|&at| (key(&live[at]), live[at].task)));
        let Some(at) = chosen else { continue };
        running = Some((live[at].task, live[at].release));
        live[at].left -= 1;
        if live[at].left == 0 {
            counts[live[at].task].0 += 1;
            live.remove(at);
        }
    }
    counts
}

proptest! {
    #![proptest_config(plain::cases(50))]

    #[test]
    fn the_bound_is_above_what_is_counted(
        seed in any::<u64>(), many in 2..5usize, by_deadline in any::<bool>(), preempts in any::<bool>(),
    ) {
        let numbers = &mut Numbers(seed);
        let tasks = plain::tasks(numbers, many, 5);
        let typical: Vec<(u64, u64)> = tasks
            .iter()
            .map(|task| (numbers.between(1, task.wcet), numbers.between(50, 99)))
            .collect();
        let model = if preempts { DispatchModel::Urgency } else { DispatchModel::NonPreemptive };
        let mut set = match by_deadline {
            true => TaskSet::dynamic(tasks.clone(), Dispatching::Deadline, model),
            false => TaskSet { model, ..TaskSet::fixed_priority(tasks.clone()) },
        };
        if !preempts {
            set.tasks.iter_mut().for_each(|task| task.band = 0);
        }
        let times: Vec<ExecutionTimeDistribution> = tasks
            .iter()
            .zip(&typical)
            .map(|(task, &(time, percent))| {
                ExecutionTimeDistribution::typical(time, percent as f64 / 100.0, task.wcet).unwrap()
            })
            .collect();
        for round in 0..2 {
            let phases: Vec<u64> = tasks
                .iter()
                .map(|task| if round == 0 { 0 } else { numbers.up_to(task.period - 1) })
                .collect();
            let counts = count(&tasks, &typical, &phases, numbers, by_deadline, preempts);
            for (place, (all, late)) in counts.into_iter().enumerate() {
                let bound = miss(&set, place, &times).unwrap();
                // Allow seven standard deviations, and some more because jobs are not independent
                // of each other.
                let expected = bound * all as f64;
                let beyond = 7.0 * (3.0 * expected).sqrt() + 8.0;
                prop_assert!(late as f64 <= expected + beyond, "{late} of {all}, bound {bound}: {:?}", tasks[place]);
            }
        }
    }
}

/// Example computed by hand: two jobs of one task, each of which is long once in ten times.
#[test]
fn a_bound_by_hand() {
    let set = TaskSet::fixed_priority([Task::periodic("a", 4, 10), Task::periodic("b", 3, 10)]);
    let times = [
        ExecutionTimeDistribution::typical(1, 0.9, 4).unwrap(),
        ExecutionTimeDistribution::always(3),
    ];
    // Within 10, at most two jobs of a and one of b run. b is late only if both jobs of a are long:
    // 4 + 4 + 3 = 11, but 4 + 1 + 3 = 8.
    let chance = miss(&set, 1, &times).unwrap();
    assert!((chance - 0.01).abs() < 1e-9, "{chance}");
}
