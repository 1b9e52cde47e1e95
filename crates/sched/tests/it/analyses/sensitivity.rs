//! Sensitivity, compared with trying one value after the other.

use oxorb_sched::analysis::sensitivity::{longest, scale, shortest_period};
use oxorb_sched::analysis::{analyse, best};
use oxorb_sched::{Task, TaskSet};
use proptest::prelude::*;

use super::plain::{self, Numbers, Preemption};

proptest! {
    #![proptest_config(plain::cases(100))]

    #[test]
    fn the_last_value_that_holds(seed in any::<u64>(), many in 1..5usize) {
        let set = TaskSet::fixed_priority(plain::tasks(&mut Numbers(seed), many, 3));
        let holds = |change: &dyn Fn(&mut TaskSet)| {
            let mut changed = set.clone();
            change(&mut changed);
            analyse(&changed).is_feasible()
        };
        let feasible = holds(&|_| ());
        for place in 0..many {
            let task = &set.tasks[place];
            let most = (task.wcet..=task.deadline).take_while(|&wcet| holds(&|set| set.tasks[place].wcet = wcet)).last();
            prop_assert_eq!(longest(&set, place), most);
            let shrink = |period: u64| move |set: &mut TaskSet| {
                let task = &mut set.tasks[place];
                if task.deadline >= task.period {
                    task.deadline = period;
                }
                task.period = period;
            };
            let least = (1..=task.period).rev().take_while(|&period| holds(&shrink(period))).last();
            prop_assert_eq!(shortest_period(&set, place), least);
        }
        prop_assert_eq!(scale(&set).is_some(), feasible);
        if let Some(thousandths) = scale(&set) {
            let grown = |thousandths: u64| move |set: &mut TaskSet| {
                for task in &mut set.tasks {
                    task.wcet = task.wcet * thousandths / 1_000;
                }
            };
            prop_assert!(holds(&grown(thousandths)));
        }
    }

    /// Strictly periodic tasks of any phase and any time between best and worst case: no job ends
    /// earlier than its bound, from the first idle moment on after all were released.
    #[test]
    fn no_job_is_sooner_done_than_at_best(seed in any::<u64>(), many in 1..5usize) {
        let numbers = &mut Numbers(seed);
        let mut tasks = plain::tasks(numbers, many, 3);
        for task in &mut tasks {
            task.bcet = numbers.between(1, task.wcet);
            task.offset = Some(0).filter(|_| numbers.happens(70));
            task.jitter = if numbers.happens(30) { numbers.up_to(3) } else { 0 };
        }
        let set = TaskSet::fixed_priority(tasks.clone());
        let least = best::responses(&set);
        // A bound that exceeds the time alone holds only for sets that meet their deadlines.
        let feasible = analyse(&set).is_feasible();
        for round in 0..6 {
            // A task without an offset need not be strictly periodic, so it may pause for any time.
            let late = if round % 2 == 0 { 0 } else { 20 };
            let mut jobs = Vec::new();
            for (place, task) in tasks.iter().enumerate() {
                let mut at = numbers.up_to(task.period - 1);
                while at < 200 {
                    let time = if round < 3 { task.bcet } else { numbers.between(task.bcet, task.wcet) };
                    let delayed = numbers.up_to(task.jitter);
                    jobs.push(plain::Job { nominal: at, ..plain::Job::new(place, at + delayed, time) });
                    at += task.period + if task.offset.is_some() { 0 } else { numbers.up_to(late) };
                }
            }
            jobs.sort_by_key(|job| job.release);
            plain::run(&mut jobs, 1, Preemption::Full, 200, |job| job.task as u64);
            let first = (0..many).map(|task| jobs.iter().find(|job| job.task == task).map_or(0, |job| job.release)).max().unwrap();
            // The processor is idle at a time if all jobs that were released earlier are done.
            let is_idle = |time: u64| jobs.iter().all(|job| job.release >= time || job.done.is_some_and(|done| done <= time));
            let rest = (first + 1..200).find(|&time| is_idle(time));
            for job in &jobs {
                if let Some(response) = job.response() {
                    prop_assert!(response >= best::alone(&tasks[job.task]));
                    if !feasible || rest.is_none_or(|rest| job.release < rest) {
                        continue;
                    }
                    prop_assert!(response >= least[job.task], "{response} < {least:?} {job:?} {tasks:?}");
                }
            }
        }
    }
}

#[test]
fn what_events_release_has_no_period_of_its_own() {
    let after = Task { after: vec!["a".into()], ..Task::periodic("b", 1, 10) };
    let set = TaskSet::fixed_priority([Task::periodic("a", 1, 10), after]);
    assert_eq!(shortest_period(&set, 1), None);
}
