//! Utilisation bounds: quick sufficient tests, and the capacity lost by static priorities.

use crate::task::{Task, Utilization, WHOLE};

/// Returns Liu and Layland's bound for rate-monotonic priorities: n(2^(1/n) - 1), as a fraction.
/// `n` counts distinct periods that are not harmonic (paper 3, 2.2); 1 for n = 0.
///
/// ```
/// use oxorb_sched::analysis::bounds::liu_layland;
///
/// assert_eq!(liu_layland(1), 1.0);
/// assert!((liu_layland(2) - 0.828).abs() < 0.001);
/// assert!((liu_layland(1_000_000) - 0.693).abs() < 0.001);
/// ```
pub fn liu_layland(n: usize) -> f64 {
    match n {
        0 => 1.0,
        n => n as f64 * (2f64.powf(1.0 / n as f64) - 1.0),
    }
}

/// Returns the product of (U + 1) over all tasks: rate-monotonic priorities meet all deadlines if
/// it is at most 2 (hyperbolic bound, less pessimistic than Liu and Layland's).
pub fn hyperbolic(tasks: &[Task]) -> f64 {
    let factors = tasks.iter().map(|task| Utilization::of_one(task).fraction() + 1.0);
    factors.product()
}

/// Returns the number of periods for [`liu_layland`]: distinct periods that divide one another form
/// a chain and count once. Tasks with a single chain can use the whole processor.
pub fn distinct_chains(tasks: &[Task]) -> usize {
    let mut periods: Vec<u64> = tasks.iter().map(|task| task.period).collect();
    periods.sort_unstable();
    periods.dedup();
    // Cover all periods with chains greedily, the shortest period first. The result is never less
    // than the minimum number of chains, so the bound is safe.
    let mut ends: Vec<u64> = Vec::new();
    for period in periods {
        match ends.iter_mut().find(|end| period % **end == 0) {
            Some(end) => *end = period,
            None => ends.push(period),
        }
    }
    ends.len()
}

/// Bounds of a set by its utilisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Utilisation of all tasks.
    pub utilization: Utilization,
    /// Liu and Layland's bound as a fraction.
    pub liu_layland: f64,
    /// Number of chains of harmonic periods.
    pub chains: usize,
    /// Share of the processor lost to non-harmonic periods: 1 minus the bound (paper 3, 2.2).
    pub phasing_penalty: f64,
    /// Product of the hyperbolic bound; at most 2 is sufficient.
    pub hyperbolic: f64,
    /// Whether the bounds apply: every deadline is at least the period, without jitter, blocking
    /// and bursts.
    pub apply: bool,
}

impl Bounds {
    /// Returns the bounds of a set, for rate-monotonic priorities.
    pub fn of(tasks: &[Task]) -> Bounds {
        let chains = distinct_chains(tasks);
        let bound = liu_layland(chains);
        Bounds {
            utilization: Utilization::of(tasks),
            liu_layland: bound,
            chains,
            phasing_penalty: 1.0 - bound,
            hyperbolic: hyperbolic(tasks),
            apply: tasks.iter().all(|task| {
                task.deadline >= task.period
                    && task.jitter == 0
                    && task.blocking == 0
                    && task.per_period() == 1
            }),
        }
    }

    /// Reports whether a bound alone proves that rate-monotonic, fully preemptive priorities meet
    /// all deadlines.
    pub fn suffice(&self) -> bool {
        let used = self.utilization.fraction();
        self.apply
            && self.utilization <= WHOLE
            && (used <= self.liu_layland || self.hyperbolic <= 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn periods(periods: &[u64]) -> Vec<Task> {
        let tasks = periods.iter().map(|&period| Task::periodic("", 1, period));
        tasks.collect()
    }

    #[test]
    fn harmonic_periods_form_one_chain() {
        assert_eq!(distinct_chains(&periods(&[50, 100, 200, 1000, 50])), 1);
        assert_eq!(distinct_chains(&periods(&[4, 6])), 2);
        assert_eq!(distinct_chains(&periods(&[2, 15, 7, 9, 10])), 4);
    }

    #[test]
    fn the_hyperbolic_bound_accepts_more() {
        // The utilisation of 0.6 + 0.24 exceeds 2(sqrt 2 - 1) = 0.828, but 1.6 * 1.24 < 2.
        let tasks = [Task::periodic("a", 6, 10), Task::periodic("b", 6, 25)];
        let bounds = Bounds::of(&tasks);
        assert!(bounds.utilization.fraction() > bounds.liu_layland);
        assert!(bounds.suffice());
        assert!(bounds.phasing_penalty > 0.17);
    }
}
