//! Processor-demand test for earliest deadline first, as quick processor-demand analysis walks it (Zhang and Burns).
//!
//! Exact for fully preemptive EDF. Fully preemptive MLF meets all deadlines whenever EDF does, provided that laxity is looked
//! at continuously; where it is looked at each step, some time has to be left over: [`lost_by_steps`].

use super::fixed::task_jobs;
use super::wait::{Steps, settle};
use crate::task::{Task, overloads};
use crate::time::Nanos;

/// Result of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All deadlines are met.
    Meets,
    /// The work due by `at` after the critical instant does not fit.
    Short {
        /// Nanoseconds after the critical instant.
        at: Nanos,
        /// Demand that is too much.
        by: Nanos,
    },
    /// The tasks need more than the processor.
    Overload,
    /// The test would take too long.
    Unknown,
}

/// Deadlines that are looked at before giving up.
const MOST_STEPS: u32 = 1_000_000;

/// Tests tasks that share a processor and are dispatched by deadline with full preemption.
pub fn test(tasks: &[&Task]) -> Outcome {
    test_with(tasks, 0)
}

/// Returns the time that has to be left over before each deadline, where laxity is looked at again each `step` while a job
/// runs.
///
/// Take a deadline d that is missed, and call work urgent if it has to be done by d, so that its job is in time: all of a job
/// due by d, and of a later job what does not fit between d and its own deadline. Since the last moment without urgent work,
/// some was always waiting. The least laxity is that of a job with urgent work, as its latest moment to begin lies before d.
/// So what runs is urgent, but for the end of a step in which a job with a later deadline runs out of urgent work; it is not
/// chosen again before d. Only jobs with deadlines less than their execution time after d can do so, those of the late task
/// included where events or jitter bring them so close, and each of them takes less than a step, and less than its execution
/// time.
pub fn lost_by_steps(tasks: &[&Task], step: Nanos) -> Nanos {
    let (mut sum, mut least) = (0, u128::MAX);
    for task in tasks {
        let jobs = u128::from(task_jobs(task, task.wcet));
        let one = u128::from(task.wcet.min(step.saturating_sub(1)));
        sum += jobs * one;
        // The job that is late loses nothing to itself.
        least = least.min(one);
    }
    u64::try_from(sum - least.min(sum)).unwrap_or(Nanos::MAX)
}

/// [`test`] with so much time left over before each deadline.
pub(super) fn test_with(tasks: &[&Task], left_over: Nanos) -> Outcome {
    if overloads(tasks.to_vec()) {
        return Outcome::Overload;
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
        return Outcome::Unknown;
    };
    // Deadlines that lie before their release, by jitter, are due at once.
    let shortest = tasks.iter().map(|task| due(task)).min().unwrap_or(0);
    let Some(mut time) = last_deadline_before(tasks, busy.saturating_add(1)) else {
        return Outcome::Meets;
    };
    for _ in 0..MOST_STEPS {
        let needed = demand(tasks, time);
        if needed > u128::from(time) {
            return Outcome::Short {
                at: time,
                by: u64::try_from(needed - u128::from(time)).unwrap_or(Nanos::MAX),
            };
        }
        let needed = needed as Nanos;
        if needed <= shortest {
            // Only the first deadline is left.
            return match demand(tasks, shortest) {
                left if left > u128::from(shortest) => {
                    Outcome::Short { at: shortest, by: (left - u128::from(shortest)) as Nanos }
                }
                _ => Outcome::Meets,
            };
        }
        time = match needed < time {
            true => needed,
            false => match last_deadline_before(tasks, time) {
                Some(earlier) => earlier,
                None => return Outcome::Meets,
            },
        };
    }
    Outcome::Unknown
}

/// Returns when the first job is due after the critical instant, at which it is released as late as
/// it may.
fn due(task: &Task) -> Nanos {
    task.deadline.saturating_sub(task.jitter)
}

/// Work that is released from the critical instant on and due by `time`, with what may block it.
fn demand(tasks: &[&Task], time: Nanos) -> u128 {
    let mut blocking = 0;
    let mut sum = 0u128;
    for task in tasks {
        // Several jobs may be due at once where jitter exceeds the deadline.
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
        // No event comes before the critical instant, however many wait for it.
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
        assert_eq!(test(&[&a, &b]), Outcome::Meets);
        let c = Task::periodic("c", 1, 100);
        assert_eq!(test(&[&a, &b, &c]), Outcome::Overload);
    }

    #[test]
    fn short_deadlines_are_found_short() {
        let (a, b) = (with_deadline(2, 2, 8), with_deadline(2, 3, 8));
        assert_eq!(test(&[&a, &b]), Outcome::Short { at: 3, by: 1 });
        let c = with_deadline(1, 4, 8);
        assert_eq!(test(&[&a, &c]), Outcome::Meets);
    }

    #[test]
    fn blocking_counts_for_what_is_blocked() {
        let a = Task { blocking: 2, ..with_deadline(2, 4, 10) };
        let b = with_deadline(1, 5, 10);
        assert_eq!(test(&[&a, &b]), Outcome::Meets);
        let longer = Task { blocking: 3, ..a };
        assert_eq!(test(&[&longer, &b]), Outcome::Short { at: 5, by: 1 });
    }
}
