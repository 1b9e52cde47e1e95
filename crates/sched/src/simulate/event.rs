//! An event-driven simulation: a clock goes from event to event, and at each the most urgent job that may run does.

use super::{Job, Refused, Slice, Timeline};
use crate::strategy::{DispatchModel, Dispatching, Urgency, by_deadline, by_laxity};
use crate::task::{Task, TaskSet};
use crate::time::{LONGEST, MICROSECOND, Nanos};

/// Jobs that are simulated at most.
const MOST_JOBS: u64 = 2_000_000;

/// What becomes of jobs that are late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Late {
    /// They keep the place that their deadline or laxity gives them.
    #[default]
    Keep,
    /// They go behind all that can still be in time, in the order of paper 3 (A12.18). By laxity that is known before the
    /// deadline, by deadline only after it (A12.19).
    Demote,
    /// They are dropped where they have not begun.
    Drop,
}

/// How the simulation is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What becomes of late jobs.
    pub late: Late,
    /// How often laxity is looked at again while a job runs, at least; less often where that would be more than ten million
    /// times.
    pub step: Nanos,
}

/// Looks at laxity in one simulation.
const MOST_LOOKS: u64 = 10_000_000;

impl Default for Options {
    fn default() -> Self {
        Options {
            late: Late::Keep,
            step: 100 * MICROSECOND,
        }
    }
}

/// One release of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// When.
    pub at: Nanos,
    /// Place of the task in the set.
    pub task: usize,
}

/// The periodic releases of a set before `frame`, from their offsets on; all at 0 where there are none.
///
/// # Errors
/// Too many, too much work for the clock, or a period of 0.
pub fn releases(set: &TaskSet, frame: Nanos) -> Result<Vec<Release>, Refused> {
    if frame > LONGEST {
        return Err(Refused::TooLong(frame));
    }
    let mut many = 0u64;
    let mut work = 0u128;
    for task in &set.tasks {
        if task.period == 0 {
            return Err(Refused::NoPeriod(task.name.clone()));
        }
        let jobs = frame / task.period + 1;
        many = many.saturating_add(jobs);
        work += u128::from(jobs) * u128::from(task.wcet);
    }
    if many > MOST_JOBS {
        return Err(Refused::TooManyJobs {
            jobs: many,
            most: MOST_JOBS,
        });
    }
    if work > u128::from(LONGEST) {
        return Err(Refused::TooMuchWork);
    }
    let mut releases = Vec::new();
    for (task, said) in set.tasks.iter().enumerate() {
        let mut at = said.offset.unwrap_or(0);
        while at < frame {
            releases.push(Release { at, task });
            at += said.period;
        }
    }
    releases.sort_unstable();
    Ok(releases)
}

/// Jobs of these releases, with nothing done yet.
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

/// Simulates these releases, which are in order of time, until the last job is done. Each job takes its worst-case time.
/// The same releases always give the same timeline.
pub fn run(set: &TaskSet, releases: &[Release], options: &Options) -> Timeline {
    let work = releases.iter().map(|release| set.tasks[release.task].wcet);
    let work = work.fold(0, u64::saturating_add);
    let mut run = Run {
        set,
        options,
        step: options.step.max(work / MOST_LOOKS).max(1),
        now: 0,
        left: releases
            .iter()
            .map(|release| set.tasks[release.task].wcet)
            .collect(),
        jobs: collect(set, releases),
        ready: Vec::new(),
        running: None,
        slices: Vec::new(),
    };
    let mut next = 0;
    loop {
        while releases
            .get(next)
            .is_some_and(|release| release.at <= run.now)
        {
            run.ready.push(next);
            next += 1;
        }
        let Some(job) = run.choose() else {
            match releases.get(next) {
                Some(release) => run.now = release.at,
                None => break,
            }
            continue;
        };
        run.advance(job, releases.get(next).map(|release| release.at));
    }
    Timeline {
        frame: releases.last().map_or(0, |release| release.at + 1),
        jobs: run.jobs,
        slices: run.slices,
    }
}

struct Run<'a> {
    set: &'a TaskSet,
    options: &'a Options,
    /// How often laxity is looked at again.
    step: Nanos,
    now: Nanos,
    /// What each job still needs.
    left: Vec<Nanos>,
    jobs: Vec<Job>,
    /// Jobs that were released and are not done.
    ready: Vec<usize>,
    running: Option<usize>,
    slices: Vec<Slice>,
}

impl Run<'_> {
    fn task(&self, job: usize) -> &Task {
        &self.set.tasks[self.jobs[job].task]
    }

    fn urgency(&self, job: usize) -> Urgency {
        let task = self.task(job);
        let to_deadline = self.jobs[job].deadline as i64 - self.now as i64;
        let signed = match self.options.late {
            Late::Keep => by_deadline,
            Late::Demote | Late::Drop => by_laxity,
        };
        let dynamic = match task.dispatching {
            Dispatching::Static => 0,
            Dispatching::Deadline => signed(to_deadline),
            Dispatching::Laxity => signed(to_deadline - self.left[job] as i64),
        };
        Urgency::new(task.level, dynamic, task.order)
    }

    /// The job to run now.
    fn choose(&mut self) -> Option<usize> {
        if self.options.late == Late::Drop {
            self.drop_late();
        }
        if self.set.model == DispatchModel::NonPreemptive && self.running.is_some() {
            return self.running;
        }
        let by_band = self.set.model == DispatchModel::Band;
        let best = |&job: &usize| {
            // In a band, what has begun goes on.
            let band = match by_band {
                true => (self.task(job).band, self.jobs[job].began.is_none()),
                false => (0, false),
            };
            (band, self.urgency(job), self.jobs[job].number)
        };
        self.ready.iter().copied().min_by_key(best)
    }

    fn drop_late(&mut self) {
        let late = |&job: &usize| {
            let task = self.task(job);
            let needs = match task.dispatching {
                Dispatching::Static => return false,
                Dispatching::Deadline => 0,
                Dispatching::Laxity => self.left[job],
            };
            self.jobs[job].began.is_none() && self.now + needs > self.jobs[job].deadline
        };
        let kept: Vec<usize> = self
            .ready
            .iter()
            .copied()
            .filter(|job| !late(job))
            .collect();
        self.ready = kept;
    }

    /// Runs a job until it is done, something arrives, or laxity has to be looked at again.
    fn advance(&mut self, job: usize, next_release: Option<Nanos>) {
        self.jobs[job].began.get_or_insert(self.now);
        self.running = Some(job);
        let mut until = self.now + self.left[job];
        if let Some(release) = next_release {
            until = until.min(release);
        }
        let looked_at_again = self.set.model == DispatchModel::Urgency
            && self.ready.len() > 1
            && self.task(job).dispatching == Dispatching::Laxity;
        if looked_at_again {
            until = until.min(self.now + self.step);
        }
        if until > self.now {
            self.note(Slice {
                job,
                from: self.now,
                to: until,
            });
        }
        self.left[job] -= until - self.now;
        self.now = until;
        if self.left[job] == 0 {
            self.jobs[job].done = Some(until);
            self.ready.retain(|&ready| ready != job);
            self.running = None;
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

    fn spans(set: &TaskSet, frame: Nanos, options: &Options) -> Vec<(usize, Nanos, Nanos)> {
        let timeline = run(set, &releases(set, frame).unwrap(), options);
        let spans = timeline.slices.iter();
        spans
            .map(|slice| (timeline.jobs[slice.job].task, slice.from, slice.to))
            .collect()
    }

    #[test]
    fn the_three_models_differ_in_who_interrupts() {
        let tasks = || {
            [
                Task::periodic("a", 1, 4),
                Task::periodic("b", 2, 12),
                Task::periodic("c", 6, 12),
            ]
        };
        let mut set = TaskSet::fixed_priority(tasks());
        let all = Options::default();
        let a_b_c = [
            (0, 0, 1),
            (1, 1, 3),
            (2, 3, 4),
            (0, 4, 5),
            (2, 5, 8),
            (0, 8, 9),
            (2, 9, 11),
        ];
        assert_eq!(spans(&set, 12, &all), a_b_c);
        set.model = DispatchModel::NonPreemptive;
        assert_eq!(
            spans(&set, 12, &all),
            [(0, 0, 1), (1, 1, 3), (2, 3, 9), (0, 9, 10), (0, 10, 11)]
        );
        set.model = DispatchModel::Band;
        set.tasks[2].band = 1;
        assert_eq!(spans(&set, 12, &all), a_b_c);
        // b comes while c runs: in one band it waits, though it is more urgent.
        set.tasks[1].offset = Some(5);
        assert_eq!(
            spans(&set, 12, &all),
            [
                (0, 0, 1),
                (2, 1, 4),
                (0, 4, 5),
                (2, 5, 8),
                (0, 8, 9),
                (1, 9, 11)
            ]
        );
    }

    #[test]
    fn late_jobs_are_kept_demoted_or_dropped() {
        // Both arrive at 0; long cannot be in time, which its laxity shows at once.
        let mut set = TaskSet::dynamic(
            [
                Task::periodic("long", 12, 10),
                Task::periodic("short", 3, 10),
            ],
            Dispatching::Laxity,
            DispatchModel::Band,
        );
        for task in &mut set.tasks {
            task.period = 100;
        }
        let with = |late| {
            let options = Options {
                late,
                ..Options::default()
            };
            spans(&set, 10, &options)
        };
        assert_eq!(with(Late::Keep), [(0, 0, 12), (1, 12, 15)]);
        assert_eq!(with(Late::Demote), [(1, 0, 3), (0, 3, 15)]);
        assert_eq!(with(Late::Drop), [(1, 0, 3)]);
        // By deadline it does not show in time (A12.19).
        for task in &mut set.tasks {
            task.dispatching = Dispatching::Deadline;
        }
        let options = Options {
            late: Late::Drop,
            ..Options::default()
        };
        assert_eq!(spans(&set, 10, &options), [(0, 0, 12)]);
    }

    #[test]
    fn laxity_is_looked_at_again_while_a_job_runs() {
        let set = TaskSet::dynamic(
            [Task::periodic("a", 4, 10), Task::periodic("b", 4, 11)],
            Dispatching::Laxity,
            DispatchModel::Urgency,
        );
        let options = Options {
            step: 1,
            ..Options::default()
        };
        let spans = spans(&set, 10, &options);
        // a runs until b has less laxity, and so on.
        assert!(spans.len() > 2, "{spans:?}");
        assert_eq!(spans.iter().map(|span| span.2 - span.1).sum::<u64>(), 8);
    }

    #[test]
    fn too_many_jobs_are_refused() {
        let set = TaskSet::fixed_priority([Task::periodic("a", 1, 10)]);
        let refused = releases(&set, 1 << 50).unwrap_err();
        assert!(matches!(refused, Refused::TooManyJobs { .. }));
    }
}
