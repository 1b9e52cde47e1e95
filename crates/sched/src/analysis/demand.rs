//! Processor-demand test for earliest deadline first: quick processor-demand analysis (Zhang and
//! Burns).
//!
//! Exact for fully preemptive EDF. Fully preemptive MLF meets all deadlines whenever EDF does,
//! provided that laxity is evaluated continuously; if it is evaluated once a step, each deadline
//! needs some spare time ([`lost_by_steps`]).

use super::fixed::task_jobs;
use super::wait::{Steps, settle};
use crate::task::{Task, overloads};
use crate::time::Nanos;

/// Result of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemandOutcome {
    /// All deadlines are met.
    Meets,
    /// The work due by `at` after the critical instant exceeds that time.
    Short {
        /// Time after the critical instant, in ns.
        at: Nanos,
        /// Excess demand, in ns.
        by: Nanos,
    },
    /// The tasks need more than the processor.
    Overload,
    /// The test would take too long.
    Unknown,
}

/// Limit on the number of deadlines tested.
const MOST_STEPS: u32 = 1_000_000;

/// Tests tasks that share a processor under fully preemptive EDF.
pub fn test(tasks: &[&Task]) -> DemandOutcome {
    test_with(tasks, 0)
}

/// Returns the spare time needed before each deadline if laxity is evaluated once every `step`
/// while a job runs.
///
/// Let d be a missed deadline, and call work urgent if it must be done by d for its job to be in
/// time: all of a job due by d, and of a later job the part that does not fit between d and its own
/// deadline. Since the last moment without urgent work, some was always waiting. The least laxity
/// is that of a job with urgent work, as its latest start lies before d. So urgent work runs at all
/// times, except at the end of a step in which a job with a later deadline runs out of urgent work;
/// that job is not chosen again before d. Only jobs with deadlines less than their execution time
/// after d can do so, including those of the late task where events or jitter bring them that
/// close, and each of them uses less than a step, and less than its execution time.
pub fn lost_by_steps(tasks: &[&Task], step: Nanos) -> Nanos {
    let (mut sum, mut least) = (0, u128::MAX);
    for task in tasks {
        let jobs = u128::from(task_jobs(task, task.wcet));
        let one = u128::from(task.wcet.min(step.saturating_sub(1)));
        sum += jobs * one;
        // A late job takes no time from itself, so one job is not counted. Leave out the smallest
        // share, which is safe whichever job is late.
        least = least.min(one);
    }
    u64::try_from(sum - least.min(sum)).unwrap_or(Nanos::MAX)
}

/// Runs [`test`] with `left_over` as spare time before each deadline.
pub(super) fn test_with(tasks: &[&Task], left_over: Nanos) -> DemandOutcome {
    if overloads(tasks.to_vec()) {
        return DemandOutcome::Overload;
    }
    let blocked = tasks.iter().map(|task| task.blocking).max().unwrap_or(0);
    let blocked = blocked.saturating_add(left_over);
    let demand = |tasks: &[&Task], time| match demand(tasks, time) {
        0 => 0,
        needed => needed + u128::from(left_over),
    };
    let first = tasks.iter().fold(blocked, |sum, task| sum.saturating_add(task.wcet));
    let busy = settle(&Steps::of(tasks.len()), first, |time| {
        let jobs =
            tasks.iter().map(|task| u128::from(task_jobs(task, time)) * u128::from(task.wcet));
        u128::from(blocked) + jobs.sum::<u128>()
    });
    let Some(busy) = busy else {
        return DemandOutcome::Unknown;
    };
    // If jitter exceeds the deadline, a job may be due as soon as it is released.
    let shortest = tasks.iter().map(|task| due(task)).min().unwrap_or(0);
    let Some(mut time) = last_deadline_before(tasks, busy.saturating_add(1)) else {
        return DemandOutcome::Meets;
    };
    for _ in 0..MOST_STEPS {
        let needed = demand(tasks, time);
        if needed > u128::from(time) {
            return DemandOutcome::Short {
                at: time,
                by: u64::try_from(needed - u128::from(time)).unwrap_or(Nanos::MAX),
            };
        }
        let needed = needed as Nanos;
        if needed <= shortest {
            // The demand up to every later deadline fits, so only the earliest deadline is left to
            // be tested.
            return match demand(tasks, shortest) {
                left if left > u128::from(shortest) => DemandOutcome::Short {
                    at: shortest,
                    by: (left - u128::from(shortest)) as Nanos,
                },
                _ => DemandOutcome::Meets,
            };
        }
        time = match needed < time {
            true => needed,
            false => match last_deadline_before(tasks, time) {
                Some(earlier) => earlier,
                None => return DemandOutcome::Meets,
            },
        };
    }
    DemandOutcome::Unknown
}

/// Returns the time when the first job is due after the critical instant, where it is released with
/// its full jitter.
fn due(task: &Task) -> Nanos {
    task.deadline.saturating_sub(task.jitter)
}

/// Returns the work released from the critical instant on and due by `time`, plus blocking.
fn demand(tasks: &[&Task], time: Nanos) -> u128 {
    let mut blocking = 0;
    let mut sum = 0u128;
    for task in tasks {
        // If jitter exceeds the deadline, several jobs may be due at the same time.
        if time >= due(task) {
            let after = time.saturating_add(task.late()).saturating_sub(task.deadline);
            sum += u128::from(after / task.period + 1) * u128::from(task.wcet);
            blocking = blocking.max(task.blocking);
        }
    }
    sum + u128::from(blocking)
}

fn last_deadline_before(tasks: &[&Task], time: Nanos) -> Option<Nanos> {
    let last = |task: &&Task| {
        let before = Some(time - 1).filter(|&before| before >= due(task))?;
        let after = before.saturating_add(task.late()).saturating_sub(task.deadline);
        let last = (after / task.period * task.period).saturating_add(task.deadline);
        // The deadline of a job that events release counts from its arrival, so it is never before
        // that of the first job.
        Some(last.saturating_sub(task.late()).max(due(task)))
    };
    match time {
        0 => None,
        _ => tasks.iter().filter_map(last).max(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_deadline(wcet: Nanos, deadline: Nanos, period: Nanos) -> Task {
        Task { deadline, ..Task::periodic("", wcet, period) }
    }

    #[test]
    fn a_whole_processor_is_enough_and_more_is_not() {
        let (a, b) = (Task::periodic("a", 2, 4), Task::periodic("b", 3, 6));
        assert_eq!(test(&[&a, &b]), DemandOutcome::Meets);
        let c = Task::periodic("c", 1, 100);
        assert_eq!(test(&[&a, &b, &c]), DemandOutcome::Overload);
    }

    #[test]
    fn short_deadlines_are_found_short() {
        let (a, b) = (with_deadline(2, 2, 8), with_deadline(2, 3, 8));
        assert_eq!(test(&[&a, &b]), DemandOutcome::Short { at: 3, by: 1 });
        let c = with_deadline(1, 4, 8);
        assert_eq!(test(&[&a, &c]), DemandOutcome::Meets);
    }

    #[test]
    fn blocking_counts_for_what_is_blocked() {
        let a = Task { blocking: 2, ..with_deadline(2, 4, 10) };
        let b = with_deadline(1, 5, 10);
        assert_eq!(test(&[&a, &b]), DemandOutcome::Meets);
        let longer = Task { blocking: 3, ..a };
        assert_eq!(test(&[&longer, &b]), DemandOutcome::Short { at: 5, by: 1 });
    }
}
