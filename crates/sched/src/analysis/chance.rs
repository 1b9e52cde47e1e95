//! Probability that a deadline is missed, for tasks with typical execution times.
//!
//! [`miss`] returns an upper bound on the probability that one job is late, for jobs whose
//! execution times are independent of each other and no longer, in distribution, than declared.
//! Rounding is safe: times are rounded up, windows down, probabilities up.
//!
//! A job is late only if, at each moment t between its release and its deadline, the pending work
//! exceeds t. The number of jobs that may be pending at t is known: for a task with deadline D and
//! period T, those released from D before the job's release until t, as none is pending beyond its
//! deadline. So the probability that their times add up to more than t bounds that of a miss, for
//! any t; the least bound over several t is used. Jobs already pending at the release must be
//! counted: without them, with all tasks released together, the bound would not be safe (Chen,
//! Günzel, Bozhko, von der Brüggen and Chen, "Critical Instant for Probabilistic Timing Guarantees:
//! Refuted and Revisited", RTSS 2022).
//!
//! Jobs are never pending beyond their deadlines if each interfering job is proved to be in time or
//! is dropped when late.

use std::fmt;

use super::fixed::goes_first;
use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet};
use crate::time::{Nanos, Show};

/// Number of points of the distribution of a sum.
const RESOLUTION: u64 = 1_000;

/// Maximum number of moments tried for one task.
const MOST_MOMENTS: usize = 8;

/// Maximum number of jobs added up for one moment.
const MOST_JOBS: u64 = 20_000;

/// Generous bound on the relative error of a probability by floating-point rounding.
const ROUNDING: f64 = 1e-12;

/// Execution times with their probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionTimeDistribution {
    /// Times and probabilities, shortest first; the probabilities add up to 1.
    points: Vec<(Nanos, f64)>,
}

/// Error for times and probabilities that form no distribution.
#[derive(Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct NoDistribution(String);

impl fmt::Debug for NoDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ExecutionTimeDistribution {
    /// Maximum number of points.
    pub const MOST_POINTS: usize = 1_000;

    /// Returns a distribution with these times and probabilities, in any order.
    ///
    /// # Errors
    /// The probabilities do not add up to 1, or are not probabilities; there are no points, or too many.
    pub fn of(points: &[(Nanos, f64)]) -> Result<ExecutionTimeDistribution, NoDistribution> {
        let wrong = |why: String| Err(NoDistribution(why));
        if points.is_empty() || points.len() > ExecutionTimeDistribution::MOST_POINTS {
            return wrong(format!(
                "a distribution must have 1 to {} points",
                ExecutionTimeDistribution::MOST_POINTS
            ));
        }
        if let Some((time, chance)) =
            points.iter().find(|(_, chance)| !(0.0..=1.0).contains(chance))
        {
            return wrong(format!("{chance}, for {}, is not a probability", Show(*time)));
        }
        let sum: f64 = points.iter().map(|(_, chance)| chance).sum();
        if (sum - 1.0).abs() > 1e-9 {
            return wrong(format!("the probabilities add up to {sum}, not to 1"));
        }
        let mut points = points.to_vec();
        points.sort_by_key(|(time, _)| *time);
        Ok(ExecutionTimeDistribution { points })
    }

    /// Returns the longest distribution in which a share of executions takes at most `typical`, and
    /// all others at most `worst`.
    ///
    /// # Errors
    /// The share is not a probability.
    pub fn typical(
        typical: Nanos,
        share: f64,
        worst: Nanos,
    ) -> Result<ExecutionTimeDistribution, NoDistribution> {
        if !(0.0..=1.0).contains(&share) {
            return Err(NoDistribution(format!(
                "{share} is not a share; expected a number from 0 to 1"
            )));
        }
        ExecutionTimeDistribution::of(&[(typical.min(worst), share), (worst, 1.0 - share)])
    }

    /// Returns the distribution of a constant time.
    pub fn always(time: Nanos) -> ExecutionTimeDistribution {
        ExecutionTimeDistribution { points: vec![(time, 1.0)] }
    }

    /// Returns the longest time of the distribution.
    pub fn longest(&self) -> Nanos {
        self.points.last().map_or(0, |(time, _)| *time)
    }

    /// Returns a distribution with all times increased by `more`.
    pub fn longer_by(&self, more: Nanos) -> ExecutionTimeDistribution {
        let longer = |&(time, chance): &(Nanos, f64)| (time.saturating_add(more), chance);
        ExecutionTimeDistribution { points: self.points.iter().map(longer).collect() }
    }

    fn mean(&self) -> f64 {
        self.points.iter().map(|(time, chance)| *time as f64 * chance).sum()
    }
}

/// Returns an upper bound on the probability, from 0 to 1, that a job of the task at index `at` is
/// late.
///
/// `times` has the distribution of one request of each task, including the costs of dispatching;
/// overheads of the set are not added. Returns `None` if no bound is known: queues by laxity, or
/// too many jobs.
///
/// ```
/// use oxorb_sched::analysis::chance::{ExecutionTimeDistribution, miss};
/// use oxorb_sched::{Task, TaskSet};
///
/// let set = TaskSet::fixed_priority([Task::periodic("a", 4, 10), Task::periodic("b", 5, 10)]);
/// let times = [ExecutionTimeDistribution::typical(1, 0.99, 4)?, ExecutionTimeDistribution::always(5)];
/// // At most two jobs of a come between release and deadline of b, one of them from before; at 4 each b is late.
/// let chance = miss(&set, 1, &times).unwrap();
/// assert!((chance - 0.0001).abs() < 1e-9, "{chance}");
/// # Ok::<(), oxorb_sched::analysis::chance::NoDistribution>(())
/// ```
pub fn miss(set: &TaskSet, at: usize, times: &[ExecutionTimeDistribution]) -> Option<f64> {
    let own = &set.tasks[at];
    if own.dispatching == Dispatching::Laxity {
        return None;
    }
    let limit = own.deadline.saturating_sub(own.jitter);
    let rivals = rivals(set, at);
    let blocking = own.blocking.saturating_add(in_progress(set, at));
    let mut least: f64 = 1.0;
    for moment in moments(set, own, &rivals, limit, times) {
        let Some(room) = moment.checked_sub(blocking) else {
            continue;
        };
        let unit = room.div_ceil(RESOLUTION).max(1);
        let mut sum = Sum::new(room / unit);
        let mut jobs = 0u64;
        for rival in &rivals {
            let task = &set.tasks[rival.task];
            let many = rival.jobs(task, own, moment).saturating_mul(task.parts.max(1));
            jobs = jobs.saturating_add(many);
            if jobs > MOST_JOBS {
                return None;
            }
            for _ in 0..many {
                sum.add(&times[rival.task], unit);
            }
        }
        least = least.min(sum.beyond());
    }
    Some((least + ROUNDING).min(1.0))
}

/// Task whose jobs may precede a job.
#[derive(Clone, Copy)]
struct Rival {
    task: usize,
    /// Whether only jobs with no later deadline precede it.
    by_deadline: bool,
}

impl Rival {
    /// Returns the maximum number of pending jobs from the release of a job to `moment` after it.
    fn jobs(&self, task: &Task, own: &Task, moment: Nanos) -> u64 {
        // Deadlines count from nominal releases, so the time to the deadline already includes the jitter.
        let nominal = Task { jitter: 0, ..task.clone() };
        let pending = nominal.released_within(moment.saturating_add(task.deadline));
        match self.by_deadline {
            true => pending.min(nominal.released_within(own.deadline)),
            false => pending,
        }
    }
}

fn rivals(set: &TaskSet, at: usize) -> Vec<Rival> {
    let own = &set.tasks[at];
    let tasks = set.tasks.iter().enumerate();
    let rival = |(place, task): (usize, &Task)| {
        let same = own.dispatching != Dispatching::Static && task.level == own.level;
        let by_deadline = place == at || same;
        let counts = by_deadline
            || task.level < own.level
            || own.dispatching == Dispatching::Static && goes_first(task, own);
        counts.then_some(Rival { task: place, by_deadline })
    };
    tasks.filter_map(rival).collect()
}

/// Returns the longest request of a less urgent task that cannot be interrupted by the task at `at`.
fn in_progress(set: &TaskSet, at: usize) -> Nanos {
    let own = &set.tasks[at];
    if set.model == DispatchModel::Urgency {
        return 0;
    }
    let others = set.tasks.iter().enumerate().filter(|&(place, other)| {
        let first = other.level < own.level
            || own.dispatching == Dispatching::Static && goes_first(other, own);
        place != at && !first && !set.interrupts(own, other)
    });
    others.map(|(_, other)| other.part()).max().unwrap_or(0)
}

/// Returns the moments tried for the bound: the deadline, and those just before the arrival of one
/// more job.
fn moments(
    set: &TaskSet,
    own: &Task,
    rivals: &[Rival],
    limit: Nanos,
    times: &[ExecutionTimeDistribution],
) -> Vec<Nanos> {
    let mut found = vec![limit];
    for rival in rivals {
        let task = &set.tasks[rival.task];
        let first = task.deadline.div_ceil(task.period);
        for job in (first..).take(RESOLUTION as usize) {
            match job.saturating_mul(task.period).saturating_sub(task.deadline) {
                0 => {}
                moment if moment < limit => found.push(moment),
                _ => break,
            }
        }
    }
    let left = |moment: Nanos| {
        let work = rivals.iter().map(|rival| {
            let task = &set.tasks[rival.task];
            let many = rival.jobs(task, own, moment).saturating_mul(task.parts.max(1));
            many as f64 * times[rival.task].mean()
        });
        moment as f64 - work.sum::<f64>()
    };
    found.sort_unstable();
    found.dedup();
    let mut found: Vec<(f64, Nanos)> =
        found.into_iter().map(|moment| (left(moment), moment)).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    found.into_iter().map(|(_, moment)| moment).take(MOST_MOMENTS).collect()
}

/// Distribution of a sum of times, in units, up to the capacity of `chances`.
struct Sum {
    chances: Vec<f64>,
    beyond: f64,
    /// Units beyond which all chances are 0.
    filled: usize,
}

impl Sum {
    fn new(room: u64) -> Sum {
        let mut chances = vec![0.0; usize::try_from(room).unwrap_or(usize::MAX - 1) + 1];
        chances[0] = 1.0;
        Sum { chances, beyond: 0.0, filled: 0 }
    }

    fn add(&mut self, times: &ExecutionTimeDistribution, unit: Nanos) {
        let mut next = vec![0.0; self.chances.len()];
        let mut filled = 0;
        for &(time, chance) in times.points.iter().filter(|(_, chance)| *chance > 0.0) {
            let later = usize::try_from(time.div_ceil(unit)).unwrap_or(usize::MAX);
            for (at, had) in self.chances[..=self.filled].iter().enumerate() {
                match at.checked_add(later).filter(|&at| at < next.len()) {
                    Some(at) => {
                        next[at] += had * chance;
                        filled = filled.max(at);
                    }
                    None => self.beyond += had * chance,
                }
            }
        }
        (self.chances, self.filled) = (next, filled);
    }

    fn beyond(&self) -> f64 {
        self.beyond.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_distribution_is_refused() {
        let told = |points: &[(Nanos, f64)]| {
            ExecutionTimeDistribution::of(points).unwrap_err().to_string()
        };
        assert!(told(&[]).contains("1 to 1000 points"));
        assert!(told(&[(1, 0.5), (2, 0.4)]).contains("add up to 0.9"));
        assert!(told(&[(1, f64::NAN)]).contains("not a probability"));
        assert!(told(&[(1, -0.5), (2, 1.5)]).contains("not a probability"));
    }

    #[test]
    fn times_that_never_vary_are_late_always_or_never() {
        let set = TaskSet::fixed_priority([Task::periodic("a", 4, 10), Task::periodic("b", 5, 40)]);
        let times =
            |b| [ExecutionTimeDistribution::always(4), ExecutionTimeDistribution::always(b)];
        assert!(miss(&set, 1, &times(16)).unwrap() < 1e-9);
        assert_eq!(miss(&set, 1, &times(41)), Some(1.0));
    }
}
