//! Bursts in queues ordered by deadline or laxity: each burst is split into streams of one job per
//! period.
//!
//! The k-th job of a burst of n comes at least a period after the k-th job of the previous burst,
//! as no window of a period has more than n jobs. So n periodic streams cover all releases of the
//! burst; in the worst case all of them release at one moment. The split loses the distance between
//! the jobs of a burst; static priorities, which are analysed without it, keep that distance.

use super::verdict::Verdict;
use super::verdicts;
use crate::strategy::Dispatching;
use crate::task::TaskSet;

/// Maximum number of streams of a set; if there are more, no deadline is proved.
const MOST_STREAMS: u64 = 20_000;

/// Set of tasks whose bursts are split into streams.
pub(super) struct Streams<'s> {
    whole: &'s TaskSet,
    set: TaskSet,
    /// Task of each stream.
    of: Vec<usize>,
}

impl<'s> Streams<'s> {
    /// Splits bursts into streams. Returns `None` if there are no bursts or all priorities are
    /// static.
    pub(super) fn of(set: &'s TaskSet) -> Option<Streams<'s>> {
        let bursts = set.tasks.iter().any(|task| task.burst.is_some());
        let dynamic = |task: &crate::task::Task| task.dispatching != Dispatching::Static;
        if !bursts || !set.tasks.iter().any(dynamic) {
            return None;
        }
        let many = set.tasks.iter().map(|task| task.per_period());
        let mut streams = Streams {
            whole: set,
            set: TaskSet { tasks: Vec::new(), ..set.clone() },
            of: Vec::new(),
        };
        if many.fold(0, u64::saturating_add) > MOST_STREAMS {
            return Some(streams);
        }
        for (place, task) in set.tasks.iter().enumerate() {
            for stream in task.streams() {
                streams.set.tasks.push(stream);
                streams.of.push(place);
            }
        }
        Some(streams)
    }

    /// Returns a verdict for each task of the whole set. Tasks with static priority are analysed
    /// with the bursts themselves.
    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        let load: Vec<_> = self.whole.tasks.iter().map(crate::Utilization::of_one).collect();
        let (apart, _) = verdicts(&self.set);
        let tasks = self.whole.tasks.iter().enumerate();
        tasks
            .map(|(place, task)| {
                if task.dispatching == Dispatching::Static {
                    return super::judge(self.whole, place, &load, &mut super::Levels::new());
                }
                // All streams of a task are identical, so the verdict on the first one applies to
                // the task.
                let mut verdict = match self.of.iter().position(|&of| of == place) {
                    Some(stream) => apart[stream].clone(),
                    None => Verdict::without(
                        place,
                        super::DeadlineOutcome::Unproven,
                        super::Method::BusyPeriod,
                    ),
                };
                verdict.task = place;
                verdict.blocker = verdict.blocker.map(|stream| self.of[stream]);
                let waits = std::mem::take(&mut verdict.waits);
                for mut wait in waits {
                    wait.task = self.of[wait.task];
                    match verdict.waits.iter_mut().find(|one| one.task == wait.task) {
                        Some(one) => {
                            one.jobs += wait.jobs;
                            one.time = one.time.saturating_add(wait.time);
                        }
                        None => verdict.waits.push(wait),
                    }
                }
                // The analysis ignores the distance between the jobs of a burst, so a miss is
                // possible but not proved.
                if verdict.outcome == super::DeadlineOutcome::Misses
                    && self.whole.tasks.iter().any(|task| task.per_period() > 1)
                    && verdict.response.is_some()
                {
                    verdict.outcome = super::DeadlineOutcome::Unproven;
                }
                verdict
            })
            .collect()
    }
}
