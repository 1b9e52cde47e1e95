//! Flows over nodes with times that vary between best and worst case.

use oxorb_sched::analysis::holistic::{EndToEnd, Flow, Resource, Step, Wrong, analyse_flows};
use oxorb_sched::{DispatchModel, Task, TaskSet, overloads};
use proptest::prelude::*;

use super::plain::{self, Job, Numbers, Preemption};

proptest! {
    #![proptest_config(plain::cases(125))]

    #[test]
    fn each_step_is_done_between_best_and_worst(seed in any::<u64>()) {
        let numbers = &mut Numbers(seed);
        let period = 24;
        let mut resources = Vec::new();
        let mut steps = Vec::new();
        for resource in 0..3 {
            let many = numbers.between(1, 3) as usize;
            let mut tasks = plain::tasks(numbers, many, 2);
            let place = numbers.up_to(many as u64) as usize;
            let wcet = numbers.between(1, 4);
            let step = Task {
                bcet: numbers.between(0, wcet),
                deadline: 1_000,
                ..Task::periodic("step", wcet, period)
            };
            tasks.insert(place, step);
            let mut set = TaskSet::fixed_priority(tasks);
            if resource == 1 {
                set.model = DispatchModel::NonPreemptive;
                set.tasks.iter_mut().for_each(|task| task.band = 0);
            }
            prop_assume!(!overloads(&set.tasks));
            resources.push(Resource { name: format!("r{resource}"), set });
            steps.push(Step { resource, task: place });
        }
        let flow = Flow { name: "flow".into(), steps: steps.clone(), deadline: 1_000 };
        let found = analyse_flows(&resources, &[flow]).unwrap();
        let mut begun: Vec<u64> = (0..12).map(|job| 30 + job * period).collect();
        let nominal = begun.clone();
        for (at, step) in steps.iter().enumerate() {
            let set = &resources[step.resource].set;
            let mut jobs = Vec::new();
            for (place, task) in set.tasks.iter().enumerate().filter(|(place, _)| *place != step.task) {
                let mut release = numbers.up_to(task.period - 1);
                while release < 500 {
                    jobs.push(Job::new(place, release, numbers.between(1, task.wcet)));
                    release += task.period;
                }
            }
            let own = &set.tasks[step.task];
            jobs.extend(begun.iter().map(|&release| Job::new(step.task, release, numbers.between(own.bcet.max(1), own.wcet))));
            jobs.sort_by_key(|job| job.release);
            let preemption = if step.resource == 1 { Preemption::None } else { Preemption::Full };
            plain::run(&mut jobs, 1, preemption, 1_000, |job| job.task as u64);
            begun = jobs.iter().filter(|job| job.task == step.task).map(|job| job.done.unwrap()).collect();
            begun.sort_unstable();
            for (done, nominal) in begun.iter().zip(&nominal) {
                let took = done - nominal;
                prop_assert!(took >= found.flows[0].best[at], "step {at}: {took} {found:?}");
                if let Some(by) = found.flows[0].by[at] {
                    prop_assert!(took <= by, "step {at}: {took} {found:?}");
                }
            }
        }
    }
}

/// Best-case times reduce the jitter of the next step.
#[test]
fn best_cases_take_jitter_away() {
    let found = |bcet| {
        let first = Task { bcet, ..Task::periodic("first", 10, 50) };
        let last = [Task::periodic("last", 2, 50), Task::periodic("rest", 9, 20)];
        let resources = [TaskSet::fixed_priority([first]), TaskSet::fixed_priority(last)]
            .map(|set| Resource { name: "r".into(), set });
        let steps = vec![Step { resource: 0, task: 0 }, Step { resource: 1, task: 0 }];
        analyse_flows(&resources, &[Flow { name: "flow".into(), steps, deadline: 20 }]).unwrap()
    };
    let (without, with) = (found(0), found(8));
    assert_eq!(
        (without.resources[1].set.tasks[0].jitter, with.resources[1].set.tasks[0].jitter),
        (10, 2)
    );
    assert_eq!((without.flows[0].response, with.flows[0].response), (Some(12), Some(12)));
    assert_eq!(with.flows[0].best, [8, 8]);
}

/// Analyses one flow over the first task of one node and the last of another.
fn over_two(first: Task, second: impl IntoIterator<Item = Task>) -> Result<EndToEnd, Wrong> {
    let resources = [TaskSet::fixed_priority([first]), TaskSet::fixed_priority(second)]
        .map(|set| Resource { name: "r".into(), set });
    let last = resources[1].set.tasks.len() - 1;
    let step = |resource, task| Step { resource, task };
    let flow =
        Flow { name: "flow".into(), steps: vec![step(0, 0), step(1, last)], deadline: 1_000 };
    Ok(analyse_flows(&resources, &[flow])?.flows.swap_remove(0))
}

/// An offset of 10 would make `last` count as released between 10 and 15, after `rest` is done. It
/// is released when `first` is done, and then waits for `rest`.
#[test]
fn a_later_step_has_no_offset() {
    let first = Task::periodic("first", 5, 20);
    let rest = Task { offset: Some(0), ..Task::periodic("rest", 4, 20) };
    let last = |offset| Task { offset, ..Task::periodic("last", 3, 20) };
    let refused = over_two(first.clone(), [rest.clone(), last(Some(10))]);
    assert_eq!(refused, Err(Wrong::Offset("last".into())));
    let told = refused.unwrap_err().to_string();
    assert!(told.starts_with("last has an offset and is released by the step before it"), "{told}");
    let found = over_two(first.clone(), [rest.clone(), last(None)]).unwrap();
    assert_eq!(found.response, Some(5 + 4 + 3));
    // The flow counts from the nominal release of its first step, at any offset.
    let first = Task { offset: Some(7), ..first };
    let found = over_two(first, [rest, last(None)]).unwrap();
    assert_eq!(found.response, Some(5 + 4 + 3));
}

/// A step's own jitter is added to that of the steps before it: `last` begins at 5 + 6 at the
/// latest.
#[test]
fn declared_jitter_of_a_later_step_is_added() {
    let last = Task { jitter: 6, ..Task::periodic("last", 3, 20) };
    let found = over_two(Task::periodic("first", 5, 20), [last]).unwrap();
    assert_eq!(found.response, Some(5 + 6 + 3));
}

/// Events bring the releases of a step closer to each other than its period, which the next step
/// would not know.
#[test]
fn a_step_is_released_by_its_flow_alone() {
    let by_events = Task { after: vec!["sender".into()], ..Task::periodic("first", 5, 20) };
    let by_server = Task { delay: 4, ..Task::periodic("first", 5, 20) };
    for first in [by_events, by_server] {
        let refused = over_two(first, [Task::periodic("last", 3, 20)]);
        assert_eq!(refused, Err(Wrong::Events("first".into())));
    }
}

/// A task that shares a node with an unbounded receiver of events is unbounded itself, however long
/// its flow may take.
#[test]
fn a_step_beside_events_without_a_bound_has_none() {
    let receiver = Task { after: vec!["never done".into()], ..Task::periodic("receiver", 1, 10) };
    let step = Task { deadline: 3, ..Task::periodic("step", 2, 10) };
    let tasks =
        [Task::periodic("urgent", 6, 10), receiver, step, Task::periodic("never done", 6, 10)];
    let flow =
        Flow { name: "flow".into(), steps: vec![Step { resource: 0, task: 2 }], deadline: 1_000 };
    let resource = Resource { name: "r".into(), set: TaskSet::fixed_priority(tasks) };
    let found = analyse_flows(&[resource], &[flow]).unwrap();
    assert_eq!(found.flows[0].response, None);
    assert!(!found.flows[0].meets);
}
