//! Costs of dispatching, which the analysis and the simulation count in the same way.

use std::borrow::Cow;

use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet};
use crate::time::{LONGEST, MICROSECOND, Nanos, Show};

/// Costs of dispatching on one processor.
///
/// ```
/// use oxorb_sched::analysis::analyse;
/// use oxorb_sched::{Overheads, Task, TaskSet};
///
/// let mut set = TaskSet::fixed_priority([Task::periodic("a", 4, 10), Task::periodic("b", 2, 20)]);
/// assert_eq!(analyse(&set).verdicts[1].response, Some(6));
/// set.overheads = Overheads { dispatch: 1, switch: 1, ..Overheads::default() };
/// // Each job takes one more to be dispatched and two for switching; b waits for a twice.
/// assert_eq!(analyse(&set).verdicts[1].response, Some(19));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overheads {
    /// Longest time for which a job runs before laxity is evaluated again, under
    /// [`DispatchModel::Urgency`], in ns. More than 0, and more than `switch`.
    pub step: Nanos,
    /// Time to dequeue one request, in ns.
    pub dispatch: Nanos,
    /// Time of a context switch, whenever a job gets the processor, in ns.
    pub switch: Nanos,
}

impl Default for Overheads {
    /// Returns a step of 100 us and no other cost.
    fn default() -> Self {
        Overheads { step: 100 * MICROSECOND, dispatch: 0, switch: 0 }
    }
}

/// Error for overheads under which no job would ever end.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a step of {} is not longer than a context switch of {}, so nothing else would run",
    Show(*.step),
    Show(*.switch)
)]
pub struct NoProgress {
    step: Nanos,
    switch: Nanos,
}

impl std::fmt::Debug for NoProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Overheads {
    /// Checks that the jobs of a set make progress.
    ///
    /// # Errors
    /// [`NoProgress`] if jobs preempt each other by laxity and the step is no longer than a context
    /// switch.
    pub fn check(&self, set: &TaskSet) -> Result<(), NoProgress> {
        let Overheads { step, switch, .. } = *self;
        match step > switch || !set.takes_turns() {
            true => Ok(()),
            false => Err(NoProgress { step, switch }),
        }
    }

    /// Returns the set with these costs added to the execution times of its tasks, and with no
    /// costs left to charge.
    ///
    /// A job is charged for its dispatch and for two context switches: to the job, and back to the
    /// interrupted one. By laxity with full preemption jobs preempt each other repeatedly; such a
    /// job is charged for a switch after each step, and for one after each release of another task
    /// before its deadline.
    pub(crate) fn charge<'s>(&self, set: &'s TaskSet) -> Cow<'s, TaskSet> {
        if self.dispatch == 0 && self.switch == 0 {
            return Cow::Borrowed(set);
        }
        let mut charged = set.clone();
        for (task, said) in charged.tasks.iter_mut().zip(&set.tasks) {
            if said.wcet > 0 {
                task.wcet = self.charged(set, said);
                // A job that overruns is charged the same costs as one that does not.
                let more = task.wcet - said.wcet;
                task.overrun =
                    said.overrun.map(|overrun| overrun.saturating_add(more).min(LONGEST));
            }
        }
        charged.overheads = Overheads { dispatch: 0, switch: 0, ..*self };
        Cow::Owned(charged)
    }

    fn charged(&self, set: &TaskSet, task: &Task) -> Nanos {
        let once = u128::from(self.dispatch) + 2 * u128::from(self.switch);
        let least = u128::from(task.wcet) + u128::from(task.parts) * once;
        let turns = set.model == DispatchModel::Urgency && task.dispatching == Dispatching::Laxity;
        let all = match turns {
            false => least,
            true => {
                let releases =
                    set.tasks.iter().map(|other| u128::from(other.released_within(task.deadline)));
                let least = least + u128::from(self.switch) * releases.sum::<u128>();
                // The job is charged for a switch after each step of its execution, including the
                // charged time itself: E = least + switch * (E / step). Solve this for E.
                let useful = u128::from(self.step.saturating_sub(self.switch)).max(1);
                (least * u128::from(self.step)).div_ceil(useful)
            }
        };
        u64::try_from(all).unwrap_or(LONGEST).min(LONGEST)
    }
}
