//! Critical sections: no protocol lets a job wait longer than computed.

use oxorb_sched::analysis::resources::{Kept, blocking};
use oxorb_sched::analysis::{DeadlineOutcome, analyse};
use oxorb_sched::repository::{Characteristics, LockingProtocol, Section};
use oxorb_sched::{
    DispatchModel, Dispatching, OsPriorities, Repository, Schedule, Strategy, Task, TaskSet,
};
use proptest::prelude::*;

use super::plain::{self, Job, Numbers};

/// Critical section of a job: its beginning within the job's time, and its length.
#[derive(Debug, Clone, Copy)]
struct Span {
    task: usize,
    resource: usize,
    begin: u64,
    end: u64,
}

/// Simulates jobs with critical sections by units of time. `rank` returns the urgency of a job and `level` that of a
/// task, for ceilings; the smaller number is more urgent.
fn run(
    jobs: &mut [Job],
    spans: &[Span],
    protocol: LockingProtocol,
    until: u64,
    rank: impl Fn(&Job) -> u64,
    level: impl Fn(usize) -> u64,
) {
    let ceiling = |resource: usize| {
        let users = spans.iter().filter(|span| span.resource == resource);
        users.map(|span| level(span.task)).min().unwrap()
    };
    let used = |job: &Job| job.time - job.left;
    let holds = |job: &Job| {
        let inside =
            |span: &&Span| span.task == job.task && span.begin < used(job) && used(job) < span.end;
        spans.iter().find(inside).map(|span| span.resource)
    };
    let wants = |job: &Job| {
        let at = |span: &&Span| span.task == job.task && span.begin == used(job);
        spans.iter().find(at).map(|span| span.resource)
    };
    for now in 0..until {
        let mut seen = std::collections::HashSet::new();
        let ready: Vec<usize> = (0..jobs.len())
            .filter(|&at| {
                jobs[at].release <= now && jobs[at].done.is_none() && seen.insert(jobs[at].task)
            })
            .collect();
        let mut order = ready.clone();
        order.sort_by_key(|&at| (rank(&jobs[at]), at));
        let held: Vec<(usize, usize)> =
            ready.iter().filter_map(|&at| Some((at, holds(&jobs[at])?))).collect();
        let chosen = match protocol {
            LockingProtocol::NonPreemptive => {
                held.first().map(|(at, _)| *at).or(order.first().copied())
            }
            // With immediate ceilings and the stack resource policy, a job begins only if it is more urgent than the
            // ceilings of all resources that other jobs hold.
            LockingProtocol::Ceiling | LockingProtocol::Stack => {
                let may = order.iter().copied().find(|&at| {
                    let others = held.iter().filter(|(holder, _)| *holder != at);
                    let in_force = others.map(|(_, resource)| ceiling(*resource)).min();
                    let own = held.iter().any(|(holder, _)| *holder == at);
                    own || in_force.is_none_or(|it| level(jobs[at].task) < it)
                });
                may.or(held.first().map(|(at, _)| *at)).or(order.first().copied())
            }
            // The most urgent job runs. If it waits for a resource, the job at the end of the chain of holders runs
            // instead.
            LockingProtocol::Inheritance => order.first().map(|&first| {
                let mut at = first;
                while let Some(resource) = wants(&jobs[at]) {
                    match held.iter().find(|(holder, held)| *holder != at && *held == resource) {
                        Some((holder, _)) => at = *holder,
                        None => break,
                    }
                }
                at
            }),
        };
        let Some(at) = chosen else { continue };
        jobs[at].left -= 1;
        if jobs[at].left == 0 {
            jobs[at].done = Some(now + 1);
        }
    }
}

fn random(numbers: &mut Numbers, many: usize) -> (Vec<Task>, Vec<Span>) {
    let mut tasks = Vec::new();
    let mut spans = Vec::new();
    for at in 0..many {
        let period = [15, 20, 24, 30, 40][numbers.up_to(4) as usize];
        let wcet = numbers.between(1, 6);
        tasks.push(Task {
            deadline: numbers.between(wcet.max(period / 2), period),
            ..Task::periodic(format!("t{at}"), wcet, period)
        });
        let mut begin = numbers.up_to(2);
        while begin < wcet && numbers.happens(70) {
            let end = numbers.between(begin + 1, wcet);
            let resource = numbers.up_to(2) as usize;
            spans.push(Span { task: at, resource, begin, end });
            begin = end + numbers.up_to(1);
        }
    }
    (tasks, spans)
}

fn kept(spans: &[Span]) -> Vec<Kept> {
    let one = |span: &Span| Kept {
        task: span.task,
        resource: span.resource,
        longest: span.end - span.begin,
    };
    spans.iter().map(one).collect()
}

proptest! {
    #![proptest_config(plain::cases(160))]

    #[test]
    fn no_protocol_blocks_longer_than_computed(seed in any::<u64>(), many in 2..6usize, protocol in 0..4usize) {
        let numbers = &mut Numbers(seed);
        let (tasks, spans) = random(numbers, many);
        let protocol = LockingProtocol::ALL[protocol];
        let mut set = TaskSet::fixed_priority(tasks.clone());
        let waits = blocking(&set, &kept(&spans), protocol).unwrap();
        for (task, wait) in set.tasks.iter_mut().zip(waits) {
            task.blocking = wait;
        }
        let found = analyse(&set).verdicts;
        for _ in 0..6 {
            let mut jobs = plain::sporadic(&tasks, numbers, 150, 9);
            run(&mut jobs, &spans, protocol, 600, |job| job.task as u64, |task| task as u64);
            for (verdict, worst) in found.iter().zip(plain::worst(&jobs, many)) {
                prop_assert!(
                    verdict.response.is_none_or(|response| worst <= response),
                    "{protocol} {worst}: {} {spans:?}", verdict.explain(&set)
                );
            }
        }
    }

    #[test]
    fn stacks_and_queues_by_deadline(seed in any::<u64>(), many in 2..6usize, stack in any::<bool>()) {
        let numbers = &mut Numbers(seed);
        let (tasks, spans) = random(numbers, many);
        let protocol = if stack { LockingProtocol::Stack } else { LockingProtocol::NonPreemptive };
        let mut set = TaskSet::dynamic(tasks.clone(), Dispatching::Deadline, DispatchModel::Urgency);
        let waits = blocking(&set, &kept(&spans), protocol).unwrap();
        for (task, wait) in set.tasks.iter_mut().zip(waits) {
            task.blocking = wait;
        }
        let found = analyse(&set).verdicts;
        for _ in 0..6 {
            let mut jobs = plain::sporadic(&tasks, numbers, 150, 9);
            run(
                &mut jobs, &spans, protocol, 600,
                |job| job.nominal + tasks[job.task].deadline,
                |task| tasks[task].deadline,
            );
            for (verdict, worst) in found.iter().zip(plain::worst(&jobs, many)) {
                let deadline = tasks[verdict.task].deadline;
                prop_assert!(
                    verdict.outcome != DeadlineOutcome::Meets || worst <= deadline,
                    "{protocol} {worst}: {} {spans:?}", verdict.explain(&set)
                );
            }
        }
    }
}

/// Buttazzo, "Hard Real-Time Computing Systems", chapter on resource access protocols: four tasks that lock A, B and C.
#[test]
fn the_example_of_buttazzo() {
    let set =
        TaskSet::fixed_priority(["1", "2", "3", "4"].map(|name| Task::periodic(name, 30, 1_000)));
    let longest = [[1, 2, 0], [0, 9, 3], [8, 7, 0], [6, 5, 4]];
    let mut kept = Vec::new();
    for (task, row) in longest.iter().enumerate() {
        let used = row.iter().enumerate().filter(|(_, longest)| **longest > 0);
        kept.extend(used.map(|(resource, &longest)| Kept { task, resource, longest }));
    }
    assert_eq!(blocking(&set, &kept, LockingProtocol::Inheritance).unwrap(), [17, 14, 6, 0]);
    assert_eq!(blocking(&set, &kept, LockingProtocol::Ceiling).unwrap(), [9, 8, 6, 0]);
    assert_eq!(blocking(&set, &kept, LockingProtocol::Stack).unwrap(), [9, 8, 6, 0]);
    assert_eq!(blocking(&set, &kept, LockingProtocol::NonPreemptive).unwrap(), [9, 8, 6, 0]);
}

/// The critical sections of an operation also count for operations that call it two-way.
#[test]
fn sections_belong_to_the_thread_that_runs_them() {
    let mut repository = Repository::new();
    let mut operation = |name: &str, worst_case, period, threads| {
        let handle = repository.create(name).unwrap();
        let said = Characteristics { worst_case, period, threads, ..Characteristics::default() };
        repository.set(handle, said).unwrap();
        handle
    };
    let fast = operation("fast", 10, 100, 1);
    let slow = operation("slow", 20, 1_000, 1);
    let map = operation("map", 7, 0, 0);
    repository.add_dependency(slow, map, 1, oxorb_sched::repository::CallKind::TwoWay).unwrap();
    for (operation, longest) in [(fast, 2), (map, 6)] {
        let section = Section { operation, resource: "tiles".into(), longest };
        repository.add_section(section).unwrap();
    }
    let compute = |strategy: Strategy| {
        let priorities = OsPriorities::range(1, 99).unwrap();
        Schedule::compute(&repository, &strategy, &DispatchModel::Urgency, &priorities)
    };
    let schedule = compute(Strategy::RMS).unwrap();
    let blocked: Vec<u64> = schedule.tasks.tasks.iter().map(|task| task.blocking).collect();
    assert_eq!(blocked, [6, 0]);
    let refused = compute(Strategy::EDF).unwrap_err().to_string();
    assert!(
        refused.contains("with queues by deadline, only SRP and NPP can be analysed"),
        "{refused}"
    );
}
