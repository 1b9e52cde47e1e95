//! Statistics of operations as in paper 3: latency, laxity, and the fraction of missed deadlines.

use super::Timeline;
use crate::task::TaskSet;
use crate::time::Nanos;

/// Statistics of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TaskStatistics {
    /// Number of released jobs.
    pub jobs: u64,
    /// Number of jobs that ended late or never.
    pub missed: u64,
    /// Number of jobs that could not be in time any more when they began.
    pub missed_at_dispatch: u64,
    /// Number of jobs dropped before they began.
    pub dropped: u64,
    /// Mean latency of the completed jobs, in ns.
    pub mean_latency: f64,
    /// Largest latency, in ns.
    pub worst_latency: Nanos,
    /// Mean laxity at completion, in ns.
    pub mean_laxity: f64,
    /// Smallest laxity at completion, in ns.
    pub worst_laxity: i64,
}

impl TaskStatistics {
    /// Returns the fraction of missed jobs.
    pub fn fraction_missed(&self) -> f64 {
        match self.jobs {
            0 => 0.0,
            jobs => self.missed as f64 / jobs as f64,
        }
    }
}

/// Returns the statistics of each task, in the order of the set.
pub fn statistics(set: &TaskSet, timeline: &Timeline) -> Vec<TaskStatistics> {
    let none = TaskStatistics {
        jobs: 0,
        missed: 0,
        missed_at_dispatch: 0,
        dropped: 0,
        mean_latency: 0.0,
        worst_latency: 0,
        mean_laxity: 0.0,
        worst_laxity: i64::MAX,
    };
    let mut found = vec![none; set.tasks.len()];
    for job in &timeline.jobs {
        let one = &mut found[job.task];
        one.jobs += 1;
        one.missed += u64::from(job.missed());
        one.missed_at_dispatch += u64::from(job.missed_at_dispatch(set.tasks[job.task].wcet));
        let (Some(latency), Some(laxity)) = (job.latency(), job.laxity()) else {
            one.dropped += 1;
            continue;
        };
        one.mean_latency += latency as f64;
        one.mean_laxity += laxity as f64;
        one.worst_latency = one.worst_latency.max(latency);
        one.worst_laxity = one.worst_laxity.min(laxity);
    }
    for one in &mut found {
        match one.jobs - one.dropped {
            0 => one.worst_laxity = 0,
            done => {
                one.mean_latency /= done as f64;
                one.mean_laxity /= done as f64;
            }
        }
    }
    found
}

/// Statistics of all tasks together, with both interpretations of "the overall percentage of missed
/// deadlines" of paper 3 (4.3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overall {
    /// Number of released jobs.
    pub jobs: u64,
    /// Number of missed jobs.
    pub missed: u64,
    /// Number of missed jobs of critical tasks.
    pub critical_missed: u64,
    /// Mean of the missed fractions of all tasks.
    pub mean_fraction: f64,
    /// Number of interruptions: slices beyond the first of each job.
    pub interruptions: u64,
}

/// Returns the statistics of all tasks together; `critical` reports whether a task is critical to
/// the application, regardless of the strategy.
pub fn overall(
    timeline: &Timeline,
    statistics: &[TaskStatistics],
    critical: impl Fn(usize) -> bool,
) -> Overall {
    let sum = |of: fn(&TaskStatistics) -> u64| statistics.iter().map(of).sum();
    let fractions = statistics.iter().map(TaskStatistics::fraction_missed);
    let begun = timeline.jobs.iter().filter(|job| job.latency().is_some_and(|latency| latency > 0));
    Overall {
        jobs: sum(|one| one.jobs),
        missed: sum(|one| one.missed),
        critical_missed: statistics
            .iter()
            .enumerate()
            .filter(|(task, _)| critical(*task))
            .map(|(_, one)| one.missed)
            .sum(),
        // Use `fold`, because `sum` returns -0.0 if there are no items.
        mean_fraction: fractions.fold(0.0, |sum, one| sum + one) / statistics.len().max(1) as f64,
        interruptions: (timeline.slices.len() as u64).saturating_sub(begun.count() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_misses_nothing_and_not_less() {
        let all = overall(&Timeline::default(), &[], |_| true);
        assert_eq!(format!("{:.3}", all.mean_fraction), "0.000");
    }
}
