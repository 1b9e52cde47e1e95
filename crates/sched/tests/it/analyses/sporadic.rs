//! Sporadic servers: chunks of capacity are replenished a period after they became available for
//! use.

use std::collections::VecDeque;

use oxorb_sched::analysis::servers::{Kind, Server};
use oxorb_sched::analysis::{DeadlineOutcome, analyse};
use oxorb_sched::{Burst, Task, TaskSet};
use proptest::prelude::*;

use super::plain::{self, Job, Numbers};

/// Capacity that is available from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chunk {
    from: u64,
    amount: u64,
}

/// Simulates tasks and a server, which serves its requests in the order of arrival. Tasks below
/// `place` are more urgent than the server. Returns the replenishments with their times.
fn run(
    jobs: &mut [Job],
    requests: &mut [Job],
    server: &Server,
    place: usize,
    until: u64,
) -> Vec<Chunk> {
    let mut chunks = VecDeque::from([Chunk { from: 0, amount: server.capacity }]);
    let mut back: Vec<Chunk> = Vec::new();
    let mut waits_since: Option<u64> = None;
    requests.sort_by_key(|request| request.release);
    let mut first = 0;
    for now in 0..until {
        while requests.get(first).is_some_and(|one| one.done.is_some()) {
            first += 1;
        }
        let waits = requests.get(first).is_some_and(|one| one.release <= now);
        waits_since = waits.then(|| waits_since.unwrap_or(now));
        let job = (0..jobs.len())
            .filter(|&at| jobs[at].release <= now && jobs[at].done.is_none())
            .min_by_key(|&at| (jobs[at].task, at));
        let more_urgent = job.is_some_and(|at| jobs[at].task < place);
        let head = chunks.front().copied().filter(|head| head.from <= now);
        let (ran, done) = match (waits_since, head) {
            (Some(since), Some(head)) if !more_urgent => {
                let from = head.from.max(since) + server.period;
                chunks[0].amount -= 1;
                if chunks[0].amount == 0 {
                    chunks.pop_front();
                }
                match chunks.back_mut() {
                    Some(last) if last.from == from => last.amount += 1,
                    _ => chunks.push_back(Chunk { from, amount: 1 }),
                }
                match back.last_mut() {
                    Some(last) if last.from == from => last.amount += 1,
                    _ => back.push(Chunk { from, amount: 1 }),
                }
                (&mut requests[first], now + 1)
            }
            _ => match job {
                Some(at) => (&mut jobs[at], now + 1),
                None => continue,
            },
        };
        ran.left -= 1;
        if ran.left == 0 {
            ran.done = Some(done);
        }
        assert_eq!(chunks.iter().map(|one| one.amount).sum::<u64>(), server.capacity);
    }
    back
}

fn server(capacity: u64, period: u64) -> Server {
    Server { kind: Kind::Sporadic, capacity, period }
}

/// Returns requests that need most of the server, some of them in bursts.
fn requests(numbers: &mut Numbers, server: &Server) -> Vec<Task> {
    let many = numbers.between(1, 3);
    let one = |at: u64| {
        let wcet = numbers.between(1, 2 * server.capacity);
        let least = (wcet * server.period * many).div_ceil(server.capacity);
        let most = numbers.between(1, 2);
        let burst =
            numbers.happens(30).then(|| Burst { most: most as u32, distance: numbers.up_to(2) });
        let most = if burst.is_some() { most } else { 1 };
        Task { burst, ..Task::periodic(format!("r{at}"), wcet, most * least + numbers.up_to(12)) }
    };
    (0..many).map(one).collect()
}

/// Returns requests as early as possible, and some of them later.
fn arrivals(tasks: &[Task], numbers: &mut Numbers, until: u64) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let (most, distance) =
            task.burst.map_or((1, 0), |burst| (burst.most as usize, burst.distance));
        let mut at: Vec<u64> = vec![numbers.up_to(task.period - 1)];
        while let Some(&last) = at.last().filter(|&&last| last < until) {
            jobs.push(Job::new(place, last, numbers.between(1, task.wcet)));
            let window = at.len().checked_sub(most).map_or(0, |first| at[first] + task.period);
            let late = if numbers.happens(40) { numbers.up_to(8) } else { 0 };
            at.push((last + distance).max(window) + late);
        }
    }
    jobs.sort_by_key(|job| job.release);
    jobs
}

proptest! {
    #![proptest_config(plain::cases(1_000))]

    /// Random tasks and requests never end later than their bounds; each case is run five times.
    #[test]
    fn nothing_is_later_than_its_bound(seed in any::<u64>(), many in 1..4usize) {
        let numbers = &mut Numbers(seed);
        let capacity = numbers.between(1, 4);
        let server = server(capacity, numbers.between(capacity.max(4), 12));
        let tasks = plain::tasks(numbers, many, 3);
        let place = numbers.up_to(many as u64) as usize;
        let mut all = tasks.clone();
        all.insert(place, server.task("server"));
        let set = TaskSet::fixed_priority(all);
        let found = analyse(&set).verdicts;
        let own = &found[place];
        let said = requests(numbers, &server);
        let longest = own.response.filter(|_| own.outcome == DeadlineOutcome::Meets);
        let longest = longest.and_then(|response| server.longest(response, &said));
        let order = |task: usize| if task >= place { task + 1 } else { task };
        for _ in 0..5 {
            let mut jobs = plain::sporadic(&tasks, numbers, 120, 5);
            let mut waiting = arrivals(&said, numbers, 120);
            run(&mut jobs, &mut waiting, &server, place, 400);
            for job in &jobs {
                let verdict = &found[order(job.task)];
                if let (Some(done), Some(response)) = (job.response(), verdict.response) {
                    prop_assert!(done <= response, "{done}: {} {server:?} {tasks:?}", verdict.explain(&set));
                }
            }
            if let Some(longest) = longest {
                for request in &waiting {
                    let response = request.response().unwrap_or(u64::MAX);
                    prop_assert!(response <= longest, "{response} > {longest} {server:?} {said:?} {tasks:?}");
                }
            }
        }
    }
}

/// Worst case: all capacity is used, one request after the other, just before a request for twice
/// as much.
#[test]
fn the_bound_is_reached() {
    let server = server(3, 10);
    let request = |release, time| Job::new(0, release, time);
    let mut requests = [request(0, 3), request(3, 6)];
    let back = run(&mut [], &mut requests, &server, 0, 50);
    // The first request uses all capacity from 0 on, so it is replenished at 10. The second request
    // then takes (T - Q) + T + R.
    assert_eq!(requests[1].response(), Some(7 + 10 + 3));
    assert_eq!(back[0], Chunk { from: 10, amount: 3 });
    let once = [Task::periodic("request", 6, 100)];
    assert_eq!(server.longest(3, &once), Some(7 + 10 + 3));
}

/// Buttazzo, "Hard Real-Time Computing Systems", section on the sporadic server, after Sprunt, Sha
/// and Lehoczky: a server of medium priority, with capacity 5 and period 10.
#[test]
fn a_server_of_medium_priority_of_buttazzo() {
    let server = server(5, 10);
    let job = |task, release, time| Job::new(task, release, time);
    let mut jobs: Vec<Job> = (0..4).map(|at| job(0, 5 * at, 1)).collect();
    jobs.extend([job(1, 0, 4), job(1, 15, 4)]);
    let mut requests = [job(0, 4, 2), job(0, 8, 2)];
    let back = run(&mut jobs, &mut requests, &server, 1, 30);
    // The first request is interrupted from 5 to 6 and done at 7. Its capacity was active from 4
    // on.
    assert_eq!(requests.map(|request| request.done), [Some(7), Some(10)]);
    let chunk = |from| Chunk { from, amount: 2 };
    assert_eq!(back, [chunk(14), chunk(18)]);
    let set = TaskSet::fixed_priority([
        Task::periodic("1", 1, 5),
        server.task("server"),
        Task::periodic("2", 4, 15),
    ]);
    // The server waits for two jobs of the first task.
    assert_eq!(analyse(&set).verdicts[1].response, Some(7));
}

/// Same section: a server of the highest priority, with capacity 2 and period 8. The second request
/// finds no capacity left, and the capacity it uses is replenished 8 after that became available
/// again.
#[test]
fn a_server_of_the_highest_priority_of_buttazzo() {
    let server = server(2, 8);
    let job = |task, release, time| Job::new(task, release, time);
    let mut jobs = [job(0, 0, 3), job(1, 0, 4), job(0, 10, 3), job(1, 15, 4)];
    let mut requests = [job(0, 2, 2), job(0, 6, 2)];
    let back = run(&mut jobs, &mut requests, &server, 0, 30);
    assert_eq!(requests.map(|request| request.done), [Some(4), Some(12)]);
    let chunk = |from| Chunk { from, amount: 2 };
    assert_eq!(back, [chunk(10), chunk(18)]);
}

/// A deferrable server makes a less urgent task wait for its capacity twice in a row; a sporadic
/// one never does.
#[test]
fn others_wait_no_longer_than_for_a_task() {
    let response = |kind| {
        let server = Server { kind, ..server(3, 10) };
        let set = TaskSet::fixed_priority([server.task("server"), Task::periodic("t", 6, 20)]);
        analyse(&set).verdicts[1].response
    };
    assert_eq!(response(Kind::Sporadic), Some(9));
    assert_eq!(response(Kind::Deferrable), Some(12));
}
