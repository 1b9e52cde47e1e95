//! Statistics that paper 3 reports of each operation: latency, laxity, and the fraction of
//! deadlines missed.

use super::Timeline;
use crate::task::TaskSet;
use crate::time::Nanos;

/// Statistics of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TaskStatistics {
    /// Jobs that were released.
    pub jobs: u64,
    /// Number of these that were done too late or never.
    pub missed: u64,
    /// Number of these that were begun when they could not be in time any more.
    pub missed_at_dispatch: u64,
    /// Dropped before they began.
    pub dropped: u64,
    /// Mean latency of those that were done.
    pub mean_latency: f64,
    /// Largest latency.
    pub worst_latency: Nanos,
    /// Mean laxity at completion.
    pub mean_laxity: f64,
    /// Smallest laxity at completion.
    pub worst_laxity: i64,
}

impl TaskStatistics {
    /// Missed ones among all.
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

/// Statistics of all tasks together. "The overall percentage of missed deadlines" of paper 3 (4.3)
/// can mean two things.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overall {
    /// Jobs that were released.
    pub jobs: u64,
    /// Jobs that missed.
    pub missed: u64,
    /// Jobs of critical tasks that missed.
    pub critical_missed: u64,
    /// The mean of each task's fraction.
    pub mean_fraction: f64,
    /// Slices beyond one for each job: how often a job was interrupted.
    pub interruptions: u64,
}

/// Sums up; `critical` says which tasks the application cannot do without, whatever the strategy thinks.
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
        // Not `sum`, which is -0 for none.
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
