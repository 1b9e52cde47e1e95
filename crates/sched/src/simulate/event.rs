//! Event-driven simulation: the clock advances from event to event, and the most urgent eligible
//! job runs.

use std::collections::HashMap;

use super::gates::Gates;
use super::{Job, SimulationError, Slice, Timeline};
use crate::repository::Handle;
use crate::strategy::{DispatchModel, DispatchUrgency, Dispatching, by_deadline, by_laxity};
use crate::task::{Task, TaskSet};
use crate::time::{LONGEST, Nanos};

/// Maximum number of simulated jobs.
const MOST_JOBS: u64 = 2_000_000;

/// Treatment of late jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LatePolicy {
    /// Keeps late jobs in the order of their deadlines or laxities.
    #[default]
    Keep,
    /// Moves late jobs behind all jobs that can still be in time, in the order of paper 3. A queue
    /// ordered by laxity detects lateness before the deadline, a queue ordered by deadline only
    /// after it.
    Demote,
    /// Drops late jobs that have not begun.
    Drop,
}

/// Options of a simulation. The cost of dispatching and the step at which laxity is evaluated are
/// in [`TaskSet::overheads`](crate::TaskSet::overheads), as for the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SimulationOptions {
    /// Treatment of late jobs.
    pub late: LatePolicy,
}

/// Maximum number of evaluations of laxity in one simulation.
const MOST_LOOKS: u64 = 10_000_000;

/// Release of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Time of the release.
    pub at: Nanos,
    /// Index of the task in the set.
    pub task: usize,
}

/// Returns the periodic releases of a set before `frame`, the first at the offset of each task or
/// at 0 without an offset; for tasks released by events, their earliest possible releases.
///
/// # Errors
/// Too many jobs, too much work for the clock, a period of 0, or overheads under which nothing
/// ends.
pub fn releases(set: &TaskSet, frame: Nanos) -> Result<Vec<Release>, SimulationError> {
    if frame > LONGEST {
        return Err(SimulationError::TooLong(frame));
    }
    let mut many = 0u64;
    let mut work = 0u128;
    for task in &set.tasks {
        if task.period == 0 {
            return Err(SimulationError::NoPeriod(task.name.clone()));
        }
        let jobs = (frame / task.period + 1).saturating_mul(task.per_period());
        many = many.saturating_add(jobs);
        work += u128::from(jobs) * u128::from(task.wcet);
    }
    if many > MOST_JOBS {
        return Err(SimulationError::TooManyJobs { jobs: many, most: MOST_JOBS });
    }
    if work > u128::from(LONGEST) {
        return Err(SimulationError::TooMuchWork);
    }
    set.overheads.check(set).map_err(SimulationError::NoProgress)?;
    let looks = work / u128::from(set.overheads.step.max(1));
    if set.takes_turns() && looks > u128::from(MOST_LOOKS) {
        return Err(SimulationError::TooManyLooks { step: set.overheads.step, most: MOST_LOOKS });
    }
    let mut releases = Vec::new();
    let offsets = offsets(set);
    for (task, said) in set.tasks.iter().enumerate() {
        let mut at = offsets[task];
        while at < frame {
            // Release all jobs of a burst as early as its distance allows.
            let burst = (0..said.per_period()).map(|one| {
                let later = said.burst.map_or(0, |burst| burst.distance) * one;
                Release { at: at + later, task }
            });
            releases.extend(burst.filter(|release| release.at < frame));
            at += said.period;
        }
    }
    releases.sort_unstable();
    Ok(releases)
}

/// Returns the first release of each task; for tasks released by events, that of the last of their
/// senders.
fn offsets(set: &TaskSet) -> Vec<Nanos> {
    let own = set.tasks.iter().map(|task| task.offset.unwrap_or(0));
    let mut offsets: Vec<Nanos> = own.collect();
    let causes = set.causes();
    let mut waits: Vec<usize> = causes.iter().map(Vec::len).collect();
    let mut receivers: Vec<Vec<usize>> = vec![Vec::new(); set.tasks.len()];
    for (task, causes) in causes.iter().enumerate() {
        for &cause in causes {
            receivers[cause].push(task);
        }
    }
    let mut next: Vec<usize> = (0..offsets.len()).filter(|&task| waits[task] == 0).collect();
    while let Some(sender) = next.pop() {
        for &task in &receivers[sender] {
            offsets[task] = offsets[task].max(offsets[sender]);
            waits[task] -= 1;
            if waits[task] == 0 {
                next.push(task);
            }
        }
    }
    offsets
}

/// Returns the jobs of these releases, not begun.
pub(super) fn collect(set: &TaskSet, releases: &[Release]) -> Vec<Job> {
    let mut numbers = vec![0; set.tasks.len()];
    let job = |release: &Release| {
        let number = &mut numbers[release.task];
        *number += 1;
        Job {
            task: release.task,
            number: *number - 1,
            release: release.at,
            deadline: release.at + set.tasks[release.task].deadline,
            began: None,
            done: None,
        }
    };
    releases.iter().map(job).collect()
}

/// Simulates these releases, which are in order of time, until the last job is done. Each job takes
/// its worst-case time, plus the actual [overheads](crate::TaskSet::overheads) of the set. A job
/// released by events arrives when its senders are done, and not before its release. Equal releases
/// always give equal timelines.
pub fn run(set: &TaskSet, releases: &[Release], options: &SimulationOptions) -> Timeline {
    let charged = set.overheads.charge(set);
    let jobs = collect(set, releases);
    let task = |job: &Job| &set.tasks[job.task];
    let mut run = Run {
        set,
        late: options.late,
        order: orders(set),
        now: 0,
        left: jobs.iter().map(|job| task(job).part()).collect(),
        parts: jobs.iter().map(|job| task(job).parts.max(1) - 1).collect(),
        budget: jobs.iter().map(|job| charged.tasks[job.task].wcet).collect(),
        within: vec![false; jobs.len()],
        gates: Gates::of(set, &jobs),
        jobs,
        next: 0,
        ready: Vec::new(),
        last: None,
        slices: Vec::new(),
    };
    loop {
        while let Some(release) = releases.get(run.next)
            && release.at <= run.now
        {
            if run.gates.is_open(run.next) {
                run.ready.push(run.next);
            }
            run.next += 1;
        }
        let next_release = releases.get(run.next).map(|release| release.at);
        match (run.choose(), next_release) {
            (Some(job), _) => run.advance(job, next_release),
            (None, Some(release)) => run.now = release,
            (None, None) => break,
        }
    }
    Timeline {
        frame: releases.last().map_or(0, |release| release.at + 1),
        jobs: run.jobs,
        slices: run.slices,
    }
}

fn orders(set: &TaskSet) -> Vec<u32> {
    let mut first: HashMap<Handle, u32> = HashMap::new();
    for task in &set.tasks {
        if let Some(handle) = task.handle {
            let order = first.entry(handle).or_insert(task.order);
            *order = task.order.min(*order);
        }
    }
    let order = |task: &Task| {
        let operation = task.handle.and_then(|handle| first.get(&handle));
        operation.copied().unwrap_or(task.order)
    };
    set.tasks.iter().map(order).collect()
}

struct Run<'a> {
    set: &'a TaskSet,
    late: LatePolicy,
    /// Index of each task in the static order, shared by all streams of an operation: their
    /// requests run in order of arrival.
    order: Vec<u32>,
    now: Nanos,
    /// Remaining time of the current part of each job.
    left: Vec<Nanos>,
    /// Number of further parts of each job.
    parts: Vec<u64>,
    /// Remaining time of each job with all overheads, as far as the dispatcher knows.
    budget: Vec<Nanos>,
    /// Whether a part of each job has begun. Other jobs may interrupt that part only with
    /// full preemption, or from a more urgent band.
    within: Vec<bool>,
    gates: Gates,
    jobs: Vec<Job>,
    /// Index of the next job to arrive.
    next: usize,
    /// Jobs that are released and not done.
    ready: Vec<usize>,
    /// Job that had the processor last.
    last: Option<usize>,
    slices: Vec<Slice>,
}

impl Run<'_> {
    fn task(&self, job: usize) -> &Task {
        &self.set.tasks[self.jobs[job].task]
    }

    fn urgency(&self, job: usize) -> DispatchUrgency {
        let task = self.task(job);
        let to_deadline = self.jobs[job].deadline as i64 - self.now as i64;
        let signed = match self.late {
            LatePolicy::Keep => by_deadline,
            LatePolicy::Demote | LatePolicy::Drop => by_laxity,
        };
        let dynamic = match task.dispatching {
            Dispatching::Static => 0,
            Dispatching::Deadline => signed(to_deadline),
            Dispatching::Laxity => signed(to_deadline - self.needs(job) as i64),
        };
        DispatchUrgency::new(task.level, dynamic, self.order[self.jobs[job].task])
    }

    /// Returns the execution time from which the laxity of a job is computed: the rest of the job
    /// with full preemption, otherwise one request.
    fn needs(&self, job: usize) -> Nanos {
        match self.set.model {
            DispatchModel::Urgency => self.budget[job],
            DispatchModel::Band | DispatchModel::NonPreemptive => self.task(job).part(),
        }
    }

    /// Returns the job to run now.
    fn choose(&mut self) -> Option<usize> {
        if self.late == LatePolicy::Drop {
            self.drop_late();
        }
        let model = self.set.model;
        let best = |&job: &usize| {
            // Without full preemption a part that has begun goes first: before all jobs of its
            // band, or before all other jobs.
            let band = match model {
                DispatchModel::Urgency => (0, false),
                DispatchModel::Band => (self.task(job).band, !self.within[job]),
                DispatchModel::NonPreemptive => (0, !self.within[job]),
            };
            let arrival = (self.jobs[job].release, job);
            (band, self.urgency(job), arrival)
        };
        let best = self.ready.iter().copied().min_by_key(best)?;
        let goes_on =
            |&job: &usize| self.within[job] && self.task(job).shares_thread(self.task(best));
        match model {
            DispatchModel::Urgency => self.ready.iter().copied().find(goes_on).or(Some(best)),
            DispatchModel::Band | DispatchModel::NonPreemptive => Some(best),
        }
    }

    fn drop_late(&mut self) {
        let late = |&job: &usize| {
            let needs = match self.task(job).dispatching {
                Dispatching::Static => return false,
                Dispatching::Deadline => 0,
                Dispatching::Laxity => self.needs(job),
            };
            self.jobs[job].began.is_none() && self.now + needs > self.jobs[job].deadline
        };
        let kept: Vec<usize> = self.ready.iter().copied().filter(|job| !late(job)).collect();
        self.ready = kept;
    }

    /// Runs a job until it is done, something arrives, or laxity must be evaluated again.
    fn advance(&mut self, job: usize, next_release: Option<Nanos>) {
        self.jobs[job].began.get_or_insert(self.now);
        self.pay(job);
        let mut until = self.now + self.left[job];
        if let Some(release) = next_release {
            until = until.min(release);
        }
        let looked_at_again = self.set.model == DispatchModel::Urgency
            && self.ready.len() > 1
            && self.task(job).dispatching == Dispatching::Laxity;
        if looked_at_again {
            until = until.min(self.now + self.set.overheads.step);
        }
        if until > self.now {
            self.note(Slice { job, from: self.now, to: until });
        }
        let took = until - self.now;
        self.left[job] -= took;
        self.budget[job] = self.budget[job].saturating_sub(took);
        self.now = until;
        if self.left[job] == 0 {
            self.within[job] = false;
            match self.parts[job].checked_sub(1) {
                Some(further) => {
                    self.parts[job] = further;
                    self.left[job] = self.task(job).part();
                }
                None => self.end(job),
            }
        }
    }

    /// Charges the overheads of running this job now.
    fn pay(&mut self, job: usize) {
        let began = !std::mem::replace(&mut self.within[job], true);
        let switched = self.last.replace(job) != Some(job);
        if self.task(job).wcet == 0 {
            return;
        }
        let overheads = &self.set.overheads;
        if began {
            self.left[job] += overheads.dispatch;
        }
        if switched {
            self.left[job] += overheads.switch;
        }
    }

    /// Ends a job and releases those that waited only for its events.
    fn end(&mut self, job: usize) {
        self.jobs[job].done = Some(self.now);
        self.ready.retain(|&ready| ready != job);
        for released in self.gates.done(job) {
            let deadline = self.task(released).deadline;
            let one = &mut self.jobs[released];
            one.release = one.release.max(self.now);
            one.deadline = one.release + deadline;
            if released < self.next {
                self.ready.push(released);
            }
        }
    }

    fn note(&mut self, slice: Slice) {
        match self.slices.last_mut() {
            Some(last) if last.job == slice.job && last.to == slice.from => last.to = slice.to,
            _ => self.slices.push(slice),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(
        set: &TaskSet,
        frame: Nanos,
        options: &SimulationOptions,
    ) -> Vec<(usize, Nanos, Nanos)> {
        let timeline = run(set, &releases(set, frame).unwrap(), options);
        let spans = timeline.slices.iter();
        spans.map(|slice| (timeline.jobs[slice.job].task, slice.from, slice.to)).collect()
    }

    #[test]
    fn the_three_models_differ_in_who_interrupts() {
        let tasks =
            || [Task::periodic("a", 1, 4), Task::periodic("b", 2, 12), Task::periodic("c", 6, 12)];
        let mut set = TaskSet::fixed_priority(tasks());
        let all = SimulationOptions::default();
        let a_b_c = [(0, 0, 1), (1, 1, 3), (2, 3, 4), (0, 4, 5), (2, 5, 8), (0, 8, 9), (2, 9, 11)];
        assert_eq!(spans(&set, 12, &all), a_b_c);
        set.model = DispatchModel::NonPreemptive;
        assert_eq!(
            spans(&set, 12, &all),
            [(0, 0, 1), (1, 1, 3), (2, 3, 9), (0, 9, 10), (0, 10, 11)]
        );
        set.model = DispatchModel::Band;
        set.tasks[2].band = 1;
        assert_eq!(spans(&set, 12, &all), a_b_c);
        // b is released while c runs. It waits although it is more urgent, because both are in one
        // band.
        set.tasks[1].offset = Some(5);
        assert_eq!(
            spans(&set, 12, &all),
            [(0, 0, 1), (2, 1, 4), (0, 4, 5), (2, 5, 8), (0, 8, 9), (1, 9, 11)]
        );
    }

    #[test]
    fn late_jobs_are_kept_demoted_or_dropped() {
        // Both jobs arrive at 0. The laxity of `long` is negative, so it is known from the start
        // that it will be late.
        let mut set = TaskSet::dynamic(
            [Task::periodic("long", 12, 10), Task::periodic("short", 3, 10)],
            Dispatching::Laxity,
            DispatchModel::Band,
        );
        for task in &mut set.tasks {
            task.period = 100;
        }
        let with = |late| spans(&set, 10, &SimulationOptions { late });
        assert_eq!(with(LatePolicy::Keep), [(0, 0, 12), (1, 12, 15)]);
        assert_eq!(with(LatePolicy::Demote), [(1, 0, 3), (0, 3, 15)]);
        assert_eq!(with(LatePolicy::Drop), [(1, 0, 3)]);
        // A queue ordered by deadline does not detect that `long` will be late. When `long` ends,
        // `short` is late and is dropped.
        for task in &mut set.tasks {
            task.dispatching = Dispatching::Deadline;
        }
        let options = SimulationOptions { late: LatePolicy::Drop };
        assert_eq!(spans(&set, 10, &options), [(0, 0, 12)]);
    }

    #[test]
    fn laxity_is_looked_at_again_while_a_job_runs() {
        let mut set = TaskSet::dynamic(
            [Task::periodic("a", 4, 10), Task::periodic("b", 4, 11)],
            Dispatching::Laxity,
            DispatchModel::Urgency,
        );
        set.overheads.step = 1;
        let spans = spans(&set, 10, &SimulationOptions::default());
        // a runs until b has less laxity, then b runs until a has less laxity, and so on.
        assert!(spans.len() > 2, "{spans:?}");
        assert_eq!(spans.iter().map(|span| span.2 - span.1).sum::<u64>(), 8);
    }

    /// A job of a consumer does not begin before the job of its supplier has ended.
    #[test]
    fn events_come_when_their_senders_are_done() {
        let mut set = TaskSet::fixed_priority([
            Task::periodic("consumer", 6, 20),
            Task::periodic("other", 6, 40),
            Task::periodic("supplier", 1, 20),
        ]);
        set.tasks[0].after = vec!["supplier".into()];
        let told = spans(&set, 40, &SimulationOptions::default());
        assert_eq!(told, [(1, 0, 6), (2, 6, 7), (0, 7, 13), (2, 20, 21), (0, 21, 27)]);
        let timeline = run(&set, &releases(&set, 40).unwrap(), &SimulationOptions::default());
        // The deadline and the latency of the consumer count from the event.
        assert_eq!((timeline.jobs[0].release, timeline.jobs[0].deadline), (7, 27));
        assert_eq!(timeline.jobs[0].latency(), Some(6));
        // An offset of the supplier delays each job of the consumer.
        set.tasks[2].offset = Some(5);
        let told = spans(&set, 40, &SimulationOptions::default());
        assert_eq!(told.iter().filter(|span| span.0 == 0).count(), 2);
        assert_eq!(told[2], (0, 7, 13));
    }

    #[test]
    fn requests_of_one_job_let_others_go_between_them() {
        let mut set = TaskSet::fixed_priority([
            Task::periodic("urgent", 1, 20),
            Task::periodic("three", 6, 20),
        ]);
        set.model = DispatchModel::NonPreemptive;
        set.tasks[0].offset = Some(1);
        let told = spans(&set, 20, &SimulationOptions::default());
        assert_eq!(told, [(1, 0, 6), (0, 6, 7)]);
        set.tasks[1].parts = 3;
        let told = spans(&set, 20, &SimulationOptions::default());
        assert_eq!(told, [(1, 0, 2), (0, 2, 3), (1, 3, 7)]);
        // Each request is charged for its dispatch, and each change of the running job for a
        // switch.
        set.overheads.dispatch = 10;
        set.overheads.switch = 1;
        let told = spans(&set, 20, &SimulationOptions::default());
        assert_eq!(told, [(1, 0, 13), (0, 13, 25), (1, 25, 50)]);
    }

    #[test]
    fn too_many_jobs_are_refused() {
        let set = TaskSet::fixed_priority([Task::periodic("a", 1, 10)]);
        let refused = releases(&set, 1 << 50).unwrap_err();
        assert!(matches!(refused, SimulationError::TooManyJobs { .. }));
    }
}
