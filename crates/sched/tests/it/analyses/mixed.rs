//! Mixed criticality: operations of high criticality are in time with any overruns, and all
//! operations are without overruns.

use oxorb_sched::analysis::mixed::{analyse, optimal};
use oxorb_sched::analysis::priorities::ordered;
use oxorb_sched::{Task, TaskSet};
use proptest::prelude::*;

use super::plain::{self, Numbers};

fn tasks(numbers: &mut Numbers, many: usize) -> Vec<Task> {
    let mut tasks = plain::tasks(numbers, many, 3);
    for task in &mut tasks {
        if numbers.happens(60) {
            let more = numbers.up_to(3);
            task.overrun = Some((task.wcet + more).min(task.deadline));
        }
    }
    tasks
}

/// Simulates one run: the first job that exceeds its worst case ends the low mode, and low jobs are
/// dropped. Returns the tasks that were late, with the mode in which their job ended.
fn late(tasks: &[Task], numbers: &mut Numbers, overruns: u64) -> Vec<(usize, bool)> {
    let mut jobs = plain::sporadic(tasks, numbers, 100, 4);
    for job in &mut jobs {
        let task = &tasks[job.task];
        job.time = match task.overrun {
            Some(overrun) if numbers.happens(overruns) => overrun,
            _ => task.wcet - if numbers.happens(20) { numbers.up_to(task.wcet - 1) } else { 0 },
        };
        job.left = job.time;
    }
    let mut high = false;
    let mut late = Vec::new();
    for now in 0..300 {
        let next = (0..jobs.len())
            .filter(|&at| jobs[at].release <= now && jobs[at].done.is_none())
            .filter(|&at| !high || tasks[jobs[at].task].overrun.is_some())
            .min_by_key(|&at| (jobs[at].task, at));
        let Some(at) = next else { continue };
        let task = &tasks[jobs[at].task];
        jobs[at].left -= 1;
        if jobs[at].left == 0 {
            jobs[at].done = Some(now + 1);
            if now + 1 > jobs[at].release + task.deadline {
                late.push((jobs[at].task, high));
            }
        } else if jobs[at].time - jobs[at].left >= task.wcet {
            high = true;
        }
    }
    late
}

proptest! {
    #![proptest_config(plain::cases(300))]

    #[test]
    fn what_is_proved_is_in_time_in_both_modes(seed in any::<u64>(), many in 2..6usize) {
        let numbers = &mut Numbers(seed);
        let tasks = tasks(numbers, many);
        let found = analyse(&TaskSet::fixed_priority(tasks.clone())).unwrap();
        for overruns in [0, 5, 30, 100] {
            for (task, high) in late(&tasks, numbers, overruns) {
                let verdict = &found[task];
                prop_assert!(if high { verdict.high.is_none() } else { verdict.low.is_none() }, "{verdict:?} high {high}");
            }
        }
    }

    #[test]
    fn an_order_is_found_where_there_is_one(seed in any::<u64>(), many in 2..5usize) {
        let numbers = &mut Numbers(seed);
        let set = TaskSet::fixed_priority(tasks(numbers, many));
        let holds = |order: &[usize]| analyse(&ordered(&set, order)).unwrap().iter().all(|one| one.meets());
        let mut orders: Vec<Vec<usize>> = vec![vec![]];
        for next in 0..many {
            orders = orders.iter().flat_map(|order| (0..=order.len()).map(move |at| {
                let mut more = order.clone();
                more.insert(at, next);
                more
            })).collect();
        }
        let any = orders.iter().any(|order| holds(order));
        match optimal(&set).unwrap() {
            Some(order) => prop_assert!(holds(&order)),
            None => prop_assert!(!any),
        }
    }
}

#[test]
fn what_is_not_analysed_is_told() {
    let mut set = TaskSet::fixed_priority([Task::periodic("a", 1, 9)]);
    set.tasks[0].deadline = 10;
    let told = analyse(&set).unwrap_err().to_string();
    assert!(told.contains("a has a deadline beyond its period"), "{told}");
}
