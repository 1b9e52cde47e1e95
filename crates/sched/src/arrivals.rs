//! Arrivals of jobs: at most one in a period, or bursts of several.

use crate::task::Task;
use crate::time::Nanos;

impl Task {
    /// Returns the maximum number of releases in a period.
    pub fn per_period(&self) -> u64 {
        self.burst.map_or(1, |burst| u64::from(burst.most.max(1)))
    }

    /// Returns the maximum number of releases in a half-open window of this length, including
    /// jitter and delay.
    pub fn released_within(&self, window: Nanos) -> u64 {
        let window = window.saturating_add(self.late());
        let Some(burst) = self.burst else {
            return window.div_ceil(self.period);
        };
        let most = self.per_period();
        let (whole, rest) = (window / self.period, window % self.period);
        let some = match (rest, burst.distance) {
            (0, _) => 0,
            (_, 0) => most,
            (rest, distance) => rest.div_ceil(distance).min(most),
        };
        whole.saturating_mul(most).saturating_add(some)
    }

    /// Returns the maximum number of releases in a closed window of this length, including jitter
    /// and delay.
    pub fn released_by(&self, window: Nanos) -> u64 {
        let window = window.saturating_add(self.late());
        let Some(burst) = self.burst else {
            return window / self.period + 1;
        };
        let most = self.per_period();
        let (whole, rest) = (window / self.period, window % self.period);
        let some = match rest.checked_div(burst.distance) {
            None => most,
            Some(more) => (more + 1).min(most),
        };
        whole.saturating_mul(most).saturating_add(some)
    }

    /// Returns the shortest time between the nominal releases of a job and the `job`-th job after
    /// it.
    pub(crate) fn earliest(&self, job: u64) -> u128 {
        let most = self.per_period();
        let (whole, rest) = (job / most, job % most);
        let distance = self.burst.map_or(0, |burst| burst.distance);
        u128::from(whole) * u128::from(self.period) + u128::from(rest) * u128::from(distance)
    }

    /// Returns one periodic stream for each job of the burst. Together the streams cover all
    /// releases of this task, but they ignore the distance between the jobs of a burst.
    pub(crate) fn streams(&self) -> impl Iterator<Item = Task> {
        let one = Task { burst: None, ..self.clone() };
        std::iter::repeat_n(one, usize::try_from(self.per_period()).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::Burst;

    /// Returns the earliest releases that both rules of a burst allow, as a reference.
    fn densest(most: u64, distance: u64, period: u64, jobs: usize) -> Vec<u64> {
        let mut at: Vec<u64> = Vec::new();
        for job in 0..jobs {
            let after = at.last().map_or(0, |last| last + distance);
            let window = match job.checked_sub(most as usize) {
                Some(first) => at[first] + period,
                None => 0,
            };
            at.push(after.max(window));
        }
        at
    }

    #[test]
    fn curves_count_the_densest_sequence() {
        for most in 1..5u32 {
            for distance in 0..6 {
                for period in [20, 23] {
                    let task = Task {
                        burst: Some(Burst { most, distance }),
                        ..Task::periodic("t", 1, period)
                    };
                    let at = densest(most.into(), distance, period, 40);
                    for window in 0..150 {
                        let within = at.iter().filter(|&&at| at < window).count() as u64;
                        let by = at.iter().filter(|&&at| at <= window).count() as u64;
                        assert_eq!(
                            task.released_within(window),
                            within,
                            "{most} {distance} {window}"
                        );
                        assert_eq!(task.released_by(window), by, "{most} {distance} {window}");
                    }
                    for (job, at) in at.iter().enumerate() {
                        assert_eq!(task.earliest(job as u64), u128::from(*at));
                    }
                }
            }
        }
    }

    #[test]
    fn bursts_that_fit_nowhere_are_refused() {
        let burst = |most, distance| Burst { most, distance };
        assert_eq!(burst(3, 10).problem(30), None);
        assert!(burst(3, 11).problem(30).unwrap().contains("do not fit"));
        assert!(burst(0, 1).problem(30).unwrap().contains("at least 1 request"));
    }
}
