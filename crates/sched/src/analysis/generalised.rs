//! Generalised feasibility test of paper 3 (B.3), the same for all strategies.
//!
//! The time from the arrival of an operation to its deadline must suffice for all deadlines of its
//! own priority, for all arrivals of higher priority, and for the longest operation of its own
//! priority that may have begun just before. The test charges a whole period of interference, so it
//! refuses some sets that meet their deadlines. It counts only one operation with a later deadline,
//! so it accepts some sets that miss theirs if a queue is ordered by laxity or statically.
//! [`analyse`](super::analyse) has neither defect.

use crate::strategy::DispatchModel;
use crate::task::{Task, TaskSet};
use crate::time::Nanos;

/// Returns the number of arrivals of an operation of higher priority within a period of the current
/// one (Figure 28).
///
/// ```
/// use oxorb_sched::analysis::generalised::{arrivals, deadlines};
///
/// // Figure 28: the current operation has a period of 9; 2 and 15 are of higher priority.
/// assert_eq!([arrivals(9, 2), arrivals(9, 15)], [5, 1]);
/// assert_eq!([deadlines(9, 7), deadlines(9, 9), deadlines(9, 10)], [1, 1, 0]);
/// ```
pub fn arrivals(current: Nanos, higher: Nanos) -> u64 {
    current.div_ceil(higher)
}

/// Returns the number of deadlines of an operation of the same priority within a period of the
/// current one (Figure 28).
pub fn deadlines(current: Nanos, same: Nanos) -> u64 {
    current / same
}

/// Returns the time that an operation of higher priority takes within `window`: each execution
/// whose period ends in the window, and the part of the last execution that fits.
///
/// Paper 3 gives this with ceilings first, which makes the last part negative, and with floors in
/// its invariant, which is correct.
pub fn higher_demand(window: Nanos, period: Nanos, wcet: Nanos) -> u128 {
    let whole = window / period;
    let rest = window - whole * period;
    u128::from(whole) * u128::from(wcet) + u128::from(rest.min(wcet))
}

/// Result of the test for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Time that must run before its deadline, in ns.
    pub needed: u128,
    /// Time available, in ns.
    pub window: Nanos,
    /// Worst-case preemption delay: the longest task of the same priority with a later deadline.
    pub delay: Nanos,
}

impl Demand {
    /// Reports whether the demand is at most the available time.
    pub fn fits(&self) -> bool {
        self.needed <= u128::from(self.window)
    }
}

/// Tests one task of a set.
pub fn demand(set: &TaskSet, current: usize) -> Demand {
    let task = &set.tasks[current];
    let window = task.deadline;
    // All jobs of a burst may arrive at once.
    let work = |task: &Task| task.wcet.saturating_mul(task.per_period());
    let mut demand =
        Demand { needed: u128::from(work(task)) + u128::from(task.blocking), window, delay: 0 };
    for (place, other) in set.tasks.iter().enumerate() {
        if place == current {
            // Count further deadlines of the task itself within its window. There are none unless
            // the window is at least two periods.
            let further = (window / task.period).saturating_sub(1);
            demand.needed += u128::from(further) * u128::from(work(task));
        } else if rank(set, other) < rank(set, task) {
            let window = window.saturating_add(other.jitter);
            demand.needed += higher_demand(window, other.period, work(other));
        } else if rank(set, other) == rank(set, task) {
            let window = window.saturating_add(other.jitter);
            let many = match window.checked_sub(other.deadline) {
                Some(after) => after / other.period + 1,
                None => 0,
            };
            demand.needed += u128::from(many) * u128::from(work(other));
            if many == 0 && set.model != DispatchModel::Urgency {
                demand.delay = demand.delay.max(other.wcet);
            }
        }
    }
    demand.needed += u128::from(demand.delay);
    demand
}

/// Returns the priority that the test uses: the dispatching priority, or the static one in the
/// urgency model.
fn rank(set: &TaskSet, task: &Task) -> u32 {
    match set.model {
        DispatchModel::Urgency => task.level,
        _ => task.band,
    }
}

/// Returns the minimum guaranteed priority (paper 3, B.2): the least urgent dispatching priority
/// that passes the test together with all more urgent ones.
pub fn guaranteed(set: &TaskSet) -> Option<u32> {
    let mut bands: Vec<u32> = set.tasks.iter().map(|task| task.band).collect();
    bands.sort_unstable();
    bands.dedup();
    let passes = |band: &u32| {
        let mut places = (0..set.tasks.len()).filter(|&place| set.tasks[place].band == *band);
        places.all(|place| demand(set, place).fits())
    };
    bands.into_iter().take_while(passes).last()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::Dispatching;

    /// Figure 28: operations 1 and 2 of higher priority, 3 to 5 of the same.
    fn figure_28() -> TaskSet {
        let tasks = [2, 15, 7, 9, 10].map(|period| Task::periodic(format!("T{period}"), 1, period));
        let mut set = TaskSet::dynamic(tasks, Dispatching::Laxity, DispatchModel::Band);
        for task in &mut set.tasks[2..] {
            (task.level, task.band) = (1, 1);
        }
        set
    }

    #[test]
    fn figure_28_counts_as_the_paper_does() {
        let set = figure_28();
        let current = set.tasks[3].period;
        let counts = set.tasks.iter().map(|task| match task.band {
            0 => arrivals(current, task.period),
            _ => deadlines(current, task.period),
        });
        assert_eq!(counts.collect::<Vec<_>>(), [5, 1, 1, 1, 0]);
        // The demand is 5 + 1 of higher priority, 1 + 1 of equal priority, and 1 for the operation
        // with period 10, which may have begun already.
        let demand = demand(&set, 3);
        assert_eq!((demand.needed, demand.delay, demand.window), (9, 1, 9));
        assert!(demand.fits());
    }

    #[test]
    fn floors_and_not_ceilings() {
        // In 9 units, an operation of period 2 and time 1 takes 4 whole executions and one more.
        assert_eq!(higher_demand(9, 2, 1), 5);
        // Only the part of the last execution that fits is counted: 9 = 1 * 7 + 2.
        assert_eq!(higher_demand(9, 7, 4), 6);
        assert_eq!(higher_demand(9, 15, 3), 3);
    }

    #[test]
    fn the_guaranteed_priority_is_the_last_that_passes() {
        let mut set = figure_28();
        assert_eq!(guaranteed(&set), Some(1));
        set.tasks[3].wcet = 2;
        assert_eq!(guaranteed(&set), Some(0));
        set.tasks[0].wcet = 3;
        assert_eq!(guaranteed(&set), None);
    }
}
