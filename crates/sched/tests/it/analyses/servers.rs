//! Servers: requests are done in time, and other tasks are delayed no more than by the task that
//! represents the server.

use oxorb_sched::analysis::servers::{Kind, Server};
use oxorb_sched::analysis::{DeadlineOutcome, analyse, analyse_one};
use oxorb_sched::{DispatchModel, Dispatching, Task, TaskSet};
use proptest::prelude::*;

use super::plain::{self, Job, Numbers};

/// State of a simulated server.
struct Played {
    server: Server,
    budget: u64,
    /// Deadline of a constant bandwidth server.
    deadline: u64,
    phase: u64,
}

/// Simulates tasks and one server, which serves its requests in the order of arrival. The rank
/// functions return the urgency of a task's job and of the server; the smaller number is more
/// urgent.
fn run(
    jobs: &mut [Job],
    requests: &mut [Job],
    played: &mut Played,
    until: u64,
    rank: impl Fn(&Job) -> u64,
    server_rank: impl Fn(&Played) -> u64,
) {
    let Server { kind, capacity, period } = played.server;
    for now in 0..until {
        let mut waiting: Vec<usize> = (0..requests.len())
            .filter(|&at| requests[at].release <= now && requests[at].done.is_none())
            .collect();
        waiting.sort_by_key(|&at| requests[at].release);
        match kind {
            Kind::ConstantBandwidth => {
                let arrives = waiting.first().is_some_and(|&at| {
                    requests[at].release == now && requests[at].left == requests[at].time
                });
                if arrives
                    && played.budget * period >= played.deadline.saturating_sub(now) * capacity
                {
                    (played.deadline, played.budget) = (now + period, capacity);
                }
            }
            Kind::Sporadic => unreachable!("played in a file of its own"),
            Kind::Polling | Kind::Deferrable => {
                if now >= played.phase && (now - played.phase).is_multiple_of(period) {
                    played.budget = capacity;
                }
                // A polling server without requests loses its capacity until the next period.
                if kind == Kind::Polling && waiting.is_empty() {
                    played.budget = 0;
                }
            }
        }
        let serves = played.budget > 0 && !waiting.is_empty();
        let job = (0..jobs.len())
            .filter(|&at| jobs[at].release <= now && jobs[at].done.is_none())
            .min_by_key(|&at| (rank(&jobs[at]), at));
        let server_first = job.is_none_or(|at| server_rank(played) < rank(&jobs[at]));
        if serves && server_first {
            let request = &mut requests[waiting[0]];
            request.left -= 1;
            if request.left == 0 {
                request.done = Some(now + 1);
            }
            played.budget -= 1;
            if kind == Kind::ConstantBandwidth && played.budget == 0 {
                (played.deadline, played.budget) = (played.deadline + period, capacity);
            }
        } else if let Some(at) = job {
            jobs[at].left -= 1;
            if jobs[at].left == 0 {
                jobs[at].done = Some(now + 1);
            }
        }
    }
}

fn requests(numbers: &mut Numbers, many: usize) -> Vec<Task> {
    let one = |at: usize| {
        Task::periodic(format!("r{at}"), numbers.between(1, 3), numbers.between(15, 60))
    };
    (0..many).map(one).collect()
}

proptest! {
    #![proptest_config(plain::cases(200))]

    #[test]
    fn by_static_priority(seed in any::<u64>(), many in 1..5usize, deferrable in any::<bool>()) {
        let numbers = &mut Numbers(seed);
        let kind = if deferrable { Kind::Deferrable } else { Kind::Polling };
        let server = Server { kind, capacity: numbers.between(1, 4), period: numbers.between(5, 12) };
        prop_assume!(server.capacity < server.period);
        let tasks = plain::tasks(numbers, many, 3);
        let place = numbers.up_to(many as u64) as usize;
        let mut all = tasks.clone();
        all.insert(place, server.task("server"));
        let set = TaskSet::fixed_priority(all);
        let found = analyse(&set).verdicts;
        // The delay of the server affects only other tasks, so analyse the server without it.
        let mut alone = set.clone();
        alone.tasks[place].delay = 0;
        let own = analyse_one(&alone, place);
        let many_requests = numbers.between(1, 3) as usize;
        let said = requests(numbers, many_requests);
        let longest = own.response.filter(|_| own.outcome == DeadlineOutcome::Meets);
        let longest = longest.and_then(|response| server.longest(response, &said));
        // The server is inserted at `place`, so later tasks have an index larger by one.
        let order = |task: usize| if task >= place { task + 1 } else { task };
        for _ in 0..5 {
            let mut jobs = plain::sporadic(&tasks, numbers, 200, 5);
            let mut waiting = plain::sporadic(&said, numbers, 200, 5);
            // A deferrable server may have kept the capacity of a period that began before the
            // simulation.
            let budget = if deferrable { server.capacity } else { 0 };
            let mut played = Played { server, budget, deadline: 0, phase: numbers.up_to(server.period - 1) };
            run(
                &mut jobs, &mut waiting, &mut played, 1_500,
                |job| order(job.task) as u64,
                |_| place as u64,
            );
            for job in &jobs {
                let verdict = &found[order(job.task)];
                if let (Some(done), Some(response)) = (job.response(), verdict.response) {
                    prop_assert!(done <= response, "{done}: {}", verdict.explain(&set));
                }
            }
            if let Some(longest) = longest {
                for request in &waiting {
                    let response = request.response().unwrap();
                    prop_assert!(response <= longest, "{response} > {longest} {server:?} {said:?} {tasks:?}");
                }
            }
        }
    }

    #[test]
    fn by_deadline(seed in any::<u64>(), many in 1..4usize) {
        let numbers = &mut Numbers(seed);
        let server = Server {
            kind: Kind::ConstantBandwidth,
            capacity: numbers.between(1, 4),
            period: numbers.between(4, 12),
        };
        prop_assume!(server.capacity <= server.period);
        let tasks = plain::tasks(numbers, many, 3);
        let mut all = tasks.clone();
        all.push(server.task("server"));
        let set = TaskSet::dynamic(all, Dispatching::Deadline, DispatchModel::Urgency);
        prop_assume!(analyse(&set).is_feasible());
        let many_requests = numbers.between(1, 3) as usize;
        let said = requests(numbers, many_requests);
        let longest = server.longest(server.period, &said);
        for _ in 0..5 {
            let mut jobs = plain::sporadic(&tasks, numbers, 200, 5);
            let mut waiting = plain::sporadic(&said, numbers, 200, 5);
            let mut played = Played { server, budget: 0, deadline: 0, phase: 0 };
            run(
                &mut jobs, &mut waiting, &mut played, 1_500,
                |job| job.nominal + tasks[job.task].deadline,
                |played| played.deadline,
            );
            for job in &jobs {
                prop_assert!(job.response().unwrap() <= tasks[job.task].deadline);
            }
            if let Some(longest) = longest {
                for request in &waiting {
                    let response = request.response().unwrap();
                    prop_assert!(response <= longest, "{response} > {longest} {server:?} {said:?} {tasks:?}");
                }
            }
        }
    }
}

#[test]
fn requests_that_need_more_than_the_server_have_no_bound() {
    let server = Server { kind: Kind::Deferrable, capacity: 2, period: 10 };
    let load = |wcet| [Task::periodic("a", wcet, 20)];
    assert!(server.longest(2, &load(4)).is_some());
    assert_eq!(server.longest(2, &load(5)), None);
    assert_eq!(server.longest(11, &load(1)), None);
    assert_eq!(server.longest(2, &[]), Some(0));
}
