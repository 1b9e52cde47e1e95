//! Rate groups: a lane for each rate of a periodic system.

use std::time::Duration;

use oxorb_rt::Priority;

use super::threadpool::{Threadpool, ThreadpoolLane, ThreadpoolLanes};

/// Threads for the requests of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateGroup {
    /// Time from one request to the next.
    pub period: Duration,
    /// Number of threads, all of which exist from the start; at least 1.
    pub threads: usize,
    /// Processor of the threads; `None` for any.
    pub cpu: Option<usize>,
}

impl RateGroup {
    /// Returns a group for requests that arrive once in each `period`.
    pub fn every(period: Duration, threads: usize) -> RateGroup {
        RateGroup { period, threads, cpu: None }
    }

    /// Returns a group for requests that arrive `rate` times a second; a rate of 0 is refused when
    /// the pool is created.
    pub fn hz(rate: u32, threads: usize) -> RateGroup {
        let period = Duration::from_secs(1).checked_div(rate);
        RateGroup::every(period.unwrap_or_default(), threads)
    }

    /// Binds the threads to a processor.
    pub fn cpu(mut self, cpu: usize) -> RateGroup {
        self.cpu = Some(cpu);
        self
    }
}

impl Threadpool {
    /// Returns a threadpool with a lane for each rate, in the order given. The shorter the period, the higher the
    /// priority (rate monotonic), which meets all deadlines that fixed priorities can meet. The priorities are spaced
    /// evenly between the lowest and the highest; [`ThreadpoolLanes::priority_of`] returns them. Each lane has a port
    /// of its own, as [lanes](Threadpool::with_lanes) have.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use oxorb_core::{Options, Orb, RateGroup, Threadpool};
    ///
    /// let mut options = Options::default();
    /// options.listen_on("iiop://127.0.0.1:0")?;
    /// let orb = Orb::new(options);
    /// let rates = [RateGroup::hz(20, 2), RateGroup::hz(1, 1)];
    /// let pool = orb.create_threadpool(Threadpool::rate_groups(rates))?;
    /// let lanes = orb.threadpool(pool).expect("created just now");
    /// let fast = lanes.priority_of(Duration::from_millis(50)).expect("20 Hz");
    /// let slow = lanes.priority_of(Duration::from_secs(1)).expect("1 Hz");
    /// assert!(fast > slow);
    /// # orb.shutdown(true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rate_groups(groups: impl IntoIterator<Item = RateGroup>) -> Threadpool {
        let groups: Vec<RateGroup> = groups.into_iter().collect();
        let steps = groups.len() as i32 + 1;
        let lane = |group: &RateGroup| {
            let slower = groups.iter().filter(|other| other.period > group.period);
            let rank = slower.count() as i32 + 1;
            let priority = i32::from(Priority::MAX.get()) * rank / steps;
            let priority = Priority::new(priority as i16).unwrap_or(Priority::MAX);
            ThreadpoolLane { cpu: group.cpu, ..ThreadpoolLane::new(priority, group.threads) }
        };
        let lanes: Vec<_> = groups.iter().map(lane).collect();
        let periods = groups.iter().map(|group| group.period).collect();
        Threadpool::with_lanes(lanes).with_periods(periods)
    }
}

impl ThreadpoolLanes {
    /// Returns the priority of a period, if the lanes are [rate groups](Threadpool::rate_groups).
    pub fn priority_of(&self, period: Duration) -> Option<Priority> {
        let at = self.periods.iter().position(|known| *known == period)?;
        self.priorities.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_the_period_the_higher_the_priority() {
        let rates = [5, 20, 1, 10].map(|rate| RateGroup::hz(rate, 1));
        let pool = Threadpool::rate_groups(rates);
        let priorities: Vec<_> = pool.lanes().iter().map(|lane| lane.priority.get()).collect();
        assert_eq!(priorities, [13106, 26213, 6553, 19660]);
    }
}
