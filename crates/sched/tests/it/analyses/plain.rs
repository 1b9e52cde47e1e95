//! Reference simulator that advances by one unit of time.

use oxorb_sched::Task;
use proptest::prelude::ProptestConfig;

/// Returns the number of random cases, multiplied by `OXORB_ANALYSES`.
pub(crate) fn cases(many: u32) -> ProptestConfig {
    let times = std::env::var("OXORB_ANALYSES").ok();
    let times = times.map_or(1, |times| times.parse().expect("OXORB_ANALYSES is a number"));
    ProptestConfig {
        max_global_rejects: 100_000,
        ..ProptestConfig::with_cases(many.saturating_mul(times))
    }
}

/// Pseudo-random numbers, reproducible from their seed.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `most`, inclusive.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        self.next() % (most + 1)
    }

    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.up_to(most - least)
    }

    /// Returns true with a probability in percent.
    pub(crate) fn happens(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) task: usize,
    pub(crate) release: u64,
    /// Nominal time from which response and deadline count.
    pub(crate) nominal: u64,
    pub(crate) time: u64,
    pub(crate) left: u64,
    pub(crate) done: Option<u64>,
}

impl Job {
    pub(crate) fn new(task: usize, release: u64, time: u64) -> Job {
        Job { task, release, nominal: release, time, left: time, done: None }
    }

    pub(crate) fn response(&self) -> Option<u64> {
        Some(self.done? - self.nominal)
    }
}

/// Rule by which a job may preempt another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preemption {
    Full,
    None,
}

/// Runs jobs on `processors`, at each unit of time those with the least keys; equals run in the
/// order of the list. A job of a task waits for earlier jobs of that task.
pub(crate) fn run(
    jobs: &mut [Job],
    processors: usize,
    preemption: Preemption,
    until: u64,
    key: impl Fn(&Job) -> u64,
) {
    let mut running: Vec<usize> = Vec::new();
    for now in 0..until {
        let mut ready: Vec<usize> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for (at, job) in jobs.iter().enumerate() {
            if job.release <= now && job.done.is_none() && seen.insert(job.task) {
                ready.push(at);
            }
        }
        ready.sort_by_key(|&at| (key(&jobs[at]), at));
        if preemption == Preemption::None {
            running.retain(|&at| jobs[at].done.is_none());
            let kept = running.clone();
            ready.retain(|at| !kept.contains(at));
            ready.splice(0..0, kept);
        }
        ready.truncate(processors);
        for &at in &ready {
            jobs[at].left -= 1;
            if jobs[at].left == 0 {
                jobs[at].done = Some(now + 1);
            }
        }
        running = ready;
    }
}

/// Returns sporadic releases of tasks, in order of time: each task has a phase, and each release is
/// delayed by up to `late`.
pub(crate) fn sporadic(tasks: &[Task], numbers: &mut Numbers, until: u64, late: u64) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let mut at = numbers.up_to(task.period - 1);
        if numbers.happens(30) {
            at = 0;
        }
        while at < until {
            jobs.push(Job::new(place, at, task.wcet));
            at += task.period + if numbers.happens(30) { numbers.up_to(late) } else { 0 };
        }
    }
    jobs.sort_by_key(|job| job.release);
    jobs
}

/// Returns the worst response of each task.
pub(crate) fn worst(jobs: &[Job], tasks: usize) -> Vec<u64> {
    let mut worst = vec![0; tasks];
    for job in jobs {
        if let Some(response) = job.response() {
            worst[job.task] = worst[job.task].max(response);
        }
    }
    worst
}

/// Returns random tasks with deadlines no longer than their periods.
pub(crate) fn tasks(numbers: &mut Numbers, many: usize, longest: u64) -> Vec<Task> {
    let periods = [4, 5, 6, 8, 10, 12, 15];
    let task = |at: usize| {
        let period = periods[numbers.up_to(6) as usize];
        let wcet = numbers.between(1, longest.min(period));
        Task {
            deadline: numbers.between(wcet.max(period / 2), period),
            ..Task::periodic(format!("t{at}"), wcet, period)
        }
    };
    (0..many).map(task).collect()
}
